// A ChangeLog numbers the changes of one book and keeps the latest of them for watchers, in a ring.
// As long as nobody has asked for changes, they are numbered and not kept.
//
// A reader has a cursor, the number of its next change. A reader that falls behind by more than the
// ring holds costs nobody anything: its cursor is older than first(), and it has to start over.
//
// The changes of a series that somebody listens to are linked, so that its readers pass over the
// changes of all others without looking at them. Of a prefix with listeners the log knows the
// latest two changes, which is enough for a reader that waits for the next one.
//
// Invariants:
//   - The log keeps the changes first() to next() - 1, at most `max`.
//   - They are in the order (at, by time before by an event, position), and those of one call for many
//     series in the order of (instant, position of the member).
//   - A link leads to the nearest change of the same series, or to one that is kept no longer.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include <pleat/change.h>
#include <pleat/untyped/any_live_set.h>

#include "engine/base/check.h"

namespace pleat::inline v0_1 {

class ChangeLog {
 public:
  // The place of a change among those of all partitions.
  struct Order {
    EngineTime at;
    bool by_event;
    uint64_t position;
    // Among the changes of one call for many series: the instant that decides, and the position of
    // the member.
    EngineTime instant = kBeginningOfTime;
    uint64_t member = 0;

    friend constexpr auto operator<=>(const Order&, const Order&) noexcept = default;
  };

  // `max`: how many changes are kept, at least 1. `ops` outlives the log.
  ChangeLog(const PayloadOps& ops, uint32_t partition, size_t max)
      : ops_(ops), partition_(partition), max_(max) {}
  ~ChangeLog();
  ChangeLog(const ChangeLog&) = delete;
  ChangeLog& operator=(const ChangeLog&) = delete;

  // The most changes that are kept.
  size_t capacity() const noexcept { return max_; }
  uint64_t first() const noexcept { return first_; }
  uint64_t next() const noexcept { return next_; }

  // From now on changes are kept.
  void Keep() noexcept {
    if (keeps_) return;
    keeps_ = true;
    first_ = next_;
  }
  bool keeps() const noexcept { return keeps_; }

  // Numbers a change, and keeps a copy. REQUIRES: keeps(). The change has no number yet, and comes at
  // the time of its order.
  void Note(const AnyChange& change, const Order& order);
  // Numbers a change that nobody wants to read. REQUIRES: not keeps().
  void Skip() noexcept { first_ = ++next_; }

  // Saved is how many there were, and nothing of them: a reader who is behind starts over.
  // REQUIRES, of Load(): there was no change yet.
  void Save(FieldWriter& out) const { out.PutNumber(next_); }
  void Load(FieldReader& in) {
    const uint64_t next = in.Number();
    if (in.Expect(next <= kStoredMax)) first_ = next_ = next;
  }
  // Leaves numbers out. REQUIRES: not keeps().
  void SkipNumbers(uint64_t by) noexcept { first_ = next_ += by; }

  // REQUIRES: first() <= number < next().
  AnyChange at(uint64_t number) const noexcept;
  const Order& order(uint64_t number) const noexcept { return EntryAt(number).order; }

  // The first change of the scope from `number` on; next() if there is none. `number` is first() or
  // later.
  uint64_t NextOf(const WatchScope& scope, uint64_t number) const;

  // Whether a reader whose next change is `number` has missed none of the scope: `number` is kept,
  // or no change of a scope with listeners has gone since.
  bool HasAll(const WatchScope& scope, uint64_t number) const;

  // From now on `listener` is told of changes of the scope, until Unlisten().
  void Listen(const WatchScope& scope, ChangeListener& listener);
  void Unlisten(ChangeListener& listener);

 private:
  static constexpr size_t kBlockEntries = 256;
  static constexpr uint64_t kStoredMax = uint64_t{1} << 62;  // far from those that mean none
  static constexpr uint64_t kNone = UINT64_MAX;

  // What is not in there of a ChangeInfo is known: its number, and `at`, which is that of the order.
  struct Entry {
    Order order;
    EngineTime stamp;
    EngineTime deadline;
    size_t count = 0;
    size_t away = 0;
    uint64_t before = kNone;  // the number of the change before it of the same series
    uint64_t behind = kNone;  // and of the one behind it
    std::string text;         // the series, then the id
    uint32_t series_size = 0;
    Cause cause = Cause::kAdded;
    bool has_payload = false;
  };
  struct Block {
    std::vector<Entry> entries = std::vector<Entry>(kBlockEntries);
    std::unique_ptr<std::byte[]> payloads;
  };

  struct NameHash {
    using is_transparent = void;
    size_t operator()(std::string_view name) const noexcept {
      return std::hash<std::string_view>()(name);
    }
  };
  // A series with listeners. Its changes are linked from `since` on.
  struct Watched {
    uint64_t since;
    uint64_t last = kNone;
    std::vector<ChangeListener*> listeners = {};
  };

  // A prefix with a listener. The numbers are those of its changes from `since` on.
  struct Prefixed {
    std::string prefix;
    ChangeListener* listener;
    uint64_t since;
    uint64_t last = kNone;
    uint64_t before = kNone;  // the one before the last
    uint64_t gone = kNone;    // the latest one that is kept no longer
  };

  size_t SlotOf(uint64_t number) const noexcept { return static_cast<size_t>(number % max_); }
  const Entry& EntryAt(uint64_t number) const noexcept {
    PLEAT_DCHECK(first_ <= number && number <= next_);
    const size_t slot = SlotOf(number);
    return blocks_[slot / kBlockEntries]->entries[slot % kBlockEntries];
  }
  Entry& EntryAt(uint64_t number) noexcept {
    return const_cast<Entry&>(std::as_const(*this).EntryAt(number));
  }
  const std::byte* PayloadAt(uint64_t number) const noexcept {
    const size_t slot = SlotOf(number);
    return blocks_[slot / kBlockEntries]->payloads.get() + slot % kBlockEntries * ops_.size;
  }
  std::byte* PayloadAt(uint64_t number) noexcept {
    return const_cast<std::byte*>(std::as_const(*this).PayloadAt(number));
  }
  void Drop(uint64_t number);
  std::string_view SeriesOf(uint64_t number) const noexcept {
    const Entry& entry = EntryAt(number);
    return std::string_view(entry.text).substr(0, entry.series_size);
  }
  void LinkAndTell(std::string_view series, uint64_t number);
  uint64_t FirstLinked(const Watched& watched, uint64_t number) const;
  const Prefixed* FindPrefix(std::string_view prefix, uint64_t number) const;

  const PayloadOps& ops_;
  const uint32_t partition_;
  const size_t max_;
  bool keeps_ = false;
  uint64_t first_ = 0;
  uint64_t next_ = 0;
  std::vector<std::unique_ptr<Block>> blocks_;  // by slot; null: not used yet
  std::unordered_map<std::string, Watched, NameHash, std::equal_to<>> watched_;
  std::vector<Prefixed> prefixes_;
};

}  // namespace pleat::inline v0_1
