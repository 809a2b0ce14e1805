// The input of the folding benchmarks as a service would hold it, and what has to come out of it.
//
// A Stream is an array of KeyedEvent in input order, with the texts of their keys behind each other in
// the same order: whoever folds it reads its input front to back, and pays at random only for its own
// memory. Every contestant gets the same array. Making it is never timed.
//
// A run may go over the array several times; each pass is stamped anew, a microsecond an event, since
// a stamp that goes back is another case.
//
// Model is the plain answer, an array by key number, that each contestant is held against.
#pragma once

#include <chrono>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <pleat/time.h>
#include <pleat/untyped/any_folder.h>

namespace pleat::bench {

inline constexpr EngineTime kStart = FromUnix(std::chrono::seconds(1'700'000'000));
inline constexpr Duration kDay = std::chrono::hours(24);

// One change of one of 64 fields.
struct Touch {
  uint64_t field;
};

// The state of `fold/*`: how many events, and which fields they changed.
struct Fields {
  uint64_t count = 0;
  uint64_t mask = 0;

  void Fold(const Touch& touch) noexcept {
    ++count;
    mask |= uint64_t{1} << (touch.field % 64);
  }
  friend bool operator==(const Fields&, const Fields&) = default;
};

using Event = KeyedEvent<Touch>;

// A bijection that scatters: numbers that follow each other become unlike. (SplitMix64's.)
constexpr uint64_t Scatter(uint64_t x) noexcept {
  x += 0x9e3779b97f4a7c15;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9;
  x = (x ^ (x >> 27)) * 0x94d049bb133111eb;
  return x ^ (x >> 31);
}

// Keys of one length, behind each other; no two are the same.
class Keys {
 public:
  // `count` keys of `bytes` >= 8 bytes: the same letters, then eight bytes that differ.
  static Keys Make(size_t count, size_t bytes);
  static Keys Copy(std::span<const std::string> keys);

  std::string_view operator[](size_t i) const { return {text_.data() + i * bytes_, bytes_}; }
  size_t size() const { return text_.size() / bytes_; }
  size_t bytes_each() const { return bytes_; }

 private:
  size_t bytes_ = 1;
  std::string text_;
};

class Stream {
 public:
  // The event i is of the key order[i].
  Stream(Keys keys, std::vector<uint32_t> order);

  const Keys& keys() const { return keys_; }
  const std::vector<uint32_t>& order() const { return order_; }
  std::span<const Event> events() const { return events_; }
  size_t size() const { return events_.size(); }

  // The events [begin, end), the first of them stamped `from`.
  std::span<const Event> Stamped(size_t begin, size_t end, EngineTime from);

 private:
  Keys keys_;
  std::vector<uint32_t> order_;
  std::string text_;
  std::vector<Event> events_;
};

// A 64th of `n` when only the results matter (--tiny).
size_t Shrunk(size_t n);

// The workloads of the same names; with --quick a quarter of their events, with --tiny few of their keys
// as well. Made once.
Stream& UniformStream();
Stream& ZipfStream();

// `events` events over `keys` keys of `key_bytes` bytes, hit uniformly.
Stream MakeUniformStream(size_t keys, size_t key_bytes, size_t events);

// What the groups must hold after one opening event each, of field 0, and all events given to Fold().
class Model {
 public:
  explicit Model(size_t groups) : groups_(groups, {1, 1}) {}

  // The first `n` events of the stream, round after round.
  void Fold(const Stream& stream, size_t n);

  const std::vector<Fields>& groups() const { return groups_; }

  // Whether `contestant` has these groups with these contents: all, or every 16th if only a glance is
  // wanted.
  template <class Contestant>
  bool Agrees(const Keys& keys, const Contestant& contestant) const {
    if (contestant.size() != groups_.size()) return false;
    for (size_t i = 0; i < groups_.size(); i += Stride()) {
      const Fields found = contestant.Find(keys[i]);
      if (found.count != groups_[i].count) return false;
      if (Contestant::kHasMasks && found.mask != groups_[i].mask) return false;
    }
    return true;
  }

 private:
  static size_t Stride();

  std::vector<Fields> groups_;
};

}  // namespace pleat::bench
