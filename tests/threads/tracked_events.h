// Events that can be told apart, and a state that is the list of them and knows its own end. So a test sees where
// each event ended up: exactly one state that is no copy has it, and that ends once.
//
// What is known of a key is written by functions that run under the lock of the key's partition, and by nothing
// else. It has no lock of its own, so that ThreadSanitizer sees whatever runs outside of that one.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include <pleat/untyped/any_folder.h>

namespace pleat::inline v0_1 {

class Tracks;

struct TrackedEvent {
  enum Mark : uint8_t { kStarts = 1, kEnds = 2, kShort = 4 };

  Tracks* tracks;
  uint32_t key;
  uint32_t number;  // of this event alone
  char id;
  uint8_t marks;
};

// One event in a state.
struct TrackedFold {
  uint32_t number;
  uint64_t order;  // among those folded into its key
};

class TrackedEvents {
 public:
  // While there is one, what this thread copies is for looking at only.
  class Viewing {
   public:
    Viewing() noexcept { viewing_ = true; }
    ~Viewing() { viewing_ = false; }
    Viewing(const Viewing&) = delete;
    Viewing& operator=(const Viewing&) = delete;
  };

  TrackedEvents() = default;
  TrackedEvents(TrackedEvents&& other) noexcept
      : kind_(other.kind_),
        lent_(other.lent_),
        generation_(other.generation_),
        key_(other.key_),
        tracks_(std::exchange(other.tracks_, nullptr)),
        all_(std::move(other.all_)) {}
  TrackedEvents(const TrackedEvents& other)
      : kind_(viewing_ ? Kind::kView : Kind::kCut),
        key_(other.key_),
        tracks_(other.tracks_),
        all_(other.all_) {}
  TrackedEvents& operator=(const TrackedEvents&) = delete;
  ~TrackedEvents();

  void Fold(const TrackedEvent& event) noexcept;
  size_t HeapBytes() const noexcept { return all_.capacity() * sizeof(TrackedFold); }

  const std::vector<TrackedFold>& all() const noexcept { return all_; }

 private:
  friend class Tracks;
  enum class Kind : uint8_t { kOriginal, kCut, kView };

  static inline thread_local bool viewing_ = false;

  Kind kind_ = Kind::kOriginal;
  bool lent_ = false;
  uint64_t generation_ = 0;  // if it was lent
  uint32_t key_ = 0;
  Tracks* tracks_ = nullptr;  // null: it was moved from, or nothing was folded in
  std::vector<TrackedFold> all_;
};

// All that is known of the events of one engine.
class Tracks {
 public:
  struct Rules {
    bool keys_in_order = true;  // whether the groups of a key come out in the order of their events
    uint32_t max_deliveries = 1;
    bool tries_on = false;  // also after so many
  };

  Tracks(size_t keys, size_t events, const Rules& rules)
      : rules_(rules), keys_(keys), ends_(events) {}

  // Whether the events that it gave out are where they have to be: those taken in exactly one place.
  void Expect(uint32_t number, bool taken) {
    if (ends_[number].load() != (taken ? 1 : 0)) {
      Fail(taken ? "a taken event was lost, or is in two places"
                 : "an event not taken is in a group");
    }
  }

  // For the functions that get what is lent or given away, under the partition's lock.
  void Lent(const ClosedGroup& group, const Delivery& delivery);
  TrackedEvents Popped(const ClosedGroup& group);

  void Fail(const char* what) noexcept {
    const char* none = nullptr;
    failure_.compare_exchange_strong(none, what);
  }
  // Null: nothing is wrong so far.
  const char* failure() const noexcept { return failure_.load(); }

  // States that the engine has destroyed: they were acked, cancelled, dropped, or closed silently.
  uint64_t destroyed() const noexcept { return destroyed_.load(); }

 private:
  friend class TrackedEvents;

  struct Key {
    uint64_t folds = 0;
    uint64_t next_order = 0;       // what comes out for the first time has no event before this one
    uint64_t next_generation = 0;  // or emission
    bool in_flight = false;        // by the emission `lent`
    uint64_t lent = 0;             // the generation of the emission that was lent last
    bool lent_may_be_dead = false;
  };

  void CheckHandout(const ClosedGroup& group, const TrackedEvents& state);

  const Rules rules_;
  std::vector<Key> keys_;
  std::vector<std::atomic<uint8_t>> ends_;
  std::atomic<uint64_t> destroyed_ = 0;
  std::atomic<const char*> failure_ = nullptr;
};

}  // namespace pleat::inline v0_1
