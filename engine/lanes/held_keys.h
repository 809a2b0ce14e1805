// HeldKeys has the keys of a lane whose first record could not be handled in its turn. The records
// of such a key wait in their order, and other keys go on.
//
// So a lane is a function of its records and of decisions: a record that is named here was not handled
// in its turn, but later, at the place that its decision has, or dropped, or it waits still. The
// decisions since the snapshot that a commit names are its *book*: bytes that are kept before the
// commit. A book has no record: records before the snapshot that wait there are in its note, and those
// behind come again from the log.
//
// To close all that is open is a decision as well, of no record.
//
// A next owner reads the book, and what the note has. While it replays, what is named is held without
// asking the handler, and decisions are repeated at their places; all else is handed over. Then the keys
// have to wait that the book says.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <absl/container/btree_set.h>
#include <pleat/processor.h>
#include <pleat/time.h>
#include <pleat/untyped/partitioned_log.h>

namespace pleat::inline v0_1 {

struct HeldRecord {
  uint64_t offset = 0;
  EngineTime logged{};
  EngineTime stamp{};
  std::string key;
  std::string id;
  std::string payload;

  LogRecord At(EngineTime now) const { return {offset, now, stamp, key, id, payload}; }
  template <class F>
  void Stored(F& f) {
    f(offset, logged, stamp, key, id, payload);
  }
};

// Where a lane stood: before the record at `next`, and behind the tick that has moved time since the
// record before, if there was one.
struct LanePosition {
  uint64_t next = 0;
  std::optional<EngineTime> tick;
};

// The first record of a held key was handled, or dropped, there; or all that was open was closed.
struct HeldDecision {
  static constexpr uint64_t kNoRecord = UINT64_MAX;

  LanePosition at;
  uint64_t record = 0;  // its offset, or kNoRecord
  bool is_dropped = false;

  bool closes_all() const { return record == kNoRecord; }
};

class HeldKeys {
 public:
  // At so many decisions a lane reads no more; a snapshot that counts makes room.
  static constexpr size_t kDecisionsMax = 10'000;
  static constexpr size_t kReasonBytesMax = 1'024;

  explicit HeldKeys(const ProcessorOptions& options) : options_(options) {}

  // --- Keys

  size_t keys() const { return lines_.size(); }
  size_t records() const { return records_.size(); }
  bool Has(std::string_view key) const { return lines_.contains(key); }
  // No record waits, and while replaying none is to be held or handled later.
  bool is_unused() const { return lines_.empty() && replay_.named.empty(); }
  // Why the lane reads no more; empty: it does.
  std::string_view WhyFull() const;

  // The record waits from now on, behind those of its key.
  void Hold(const LogRecord& record);
  // The handler's answer to the first record of the key. REQUIRES: Has(key); the answer is not done.
  void Refuse(std::string_view key, const Handled& answer, EngineTime clock);
  // The keys whose time has come.
  std::vector<std::string> Due(EngineTime clock);
  // REQUIRES: Has(key).
  const HeldRecord& First(std::string_view key) const;
  void Decide(std::string_view key, LanePosition at, bool is_dropped);
  void DecideToCloseAll(LanePosition at);
  // The key's time comes now. REQUIRES: Has(key).
  void RetryNow(std::string_view key);

  void AddTo(int partition, std::vector<HeldKey>& out) const;

  // --- Snapshots: `kept` is the newest one

  // All that wait, in their order.
  std::vector<HeldRecord> Records() const;
  bool has_decided_since_kept() const { return kept_ < decided(); }
  bool IsSnapshotDue() const { return decided() - tried_ >= kDecisionsMax / 10; }
  void TrySnapshot() { tried_ = decided(); }
  void SetKept() { kept_ = decided(); }
  // The next commit names the newest one.
  void ForgetKept();
  // Whether a replay behind the snapshot hands held records over.
  bool has_handled() const;

  // --- The book

  bool has_book() const { return !lines_.empty() || !decisions_.empty(); }
  std::string Book(uint64_t life) const;
  // Whether it differs from the one that was kept last, whose number follows.
  bool is_changed() const { return is_changed_; }
  std::optional<uint64_t> number() const { return number_; }
  void SetNumber(std::optional<uint64_t> number);

  // Before anything else. False: the bytes are not a book of that life.
  bool ReadBook(std::string_view bytes, uint64_t life, uint64_t number);
  // In place of a replay, for whoever looks at the book or changes it: the keys wait, by records of
  // which only key and offset are known.
  void HoldNamed();
  // Whether the record is to be held while replaying.
  bool IsNamed(uint64_t offset) const { return replay_.named.contains(offset); }
  // The next decision to be repeated, if its place is not behind `next`.
  const HeldDecision* NextToRepeat(uint64_t next) const;
  // Its record. Null: the record is not the first of a key here.
  const HeldRecord* RecordOf(const HeldDecision& decision) const;
  void Repeat();
  // False: other records wait than the book says.
  bool EndReplay();

 private:
  struct Line {
    absl::btree_set<uint64_t> offsets;
    bool is_parked = false;
    std::string reason;
    uint64_t attempts = 0;
    Duration wait{};
    EngineTime due = kBeginningOfTime;  // if it is not parked
  };
  // What the book says of a key.
  struct Named {
    bool is_parked = false;
    std::string reason;
    uint64_t attempts = 0;
    absl::btree_set<uint64_t> offsets;
  };
  struct Replay {
    std::set<uint64_t> named;
    std::map<std::string, Named> keys;
    size_t repeated = 0;  // decisions
  };

  uint64_t decided() const { return forgotten_ + decisions_.size(); }
  static uint64_t BytesIn(const HeldRecord& record);
  Line& line(std::string_view key);
  void SetDue(const std::string& key, Line& line, EngineTime due);
  void RemoveFirst(std::string_view key);

  const ProcessorOptions& options_;
  std::map<std::string, Line, std::less<>> lines_;
  std::map<uint64_t, HeldRecord> records_;
  std::set<std::pair<EngineTime, std::string>> due_;  // keys that are not parked
  EngineTime clock_ = kBeginningOfTime;
  uint64_t bytes_ = 0;
  uint64_t full_lines_ = 0;
  std::vector<HeldDecision> decisions_;  // since the snapshot that a commit names
  uint64_t forgotten_ = 0;               // decisions before these
  uint64_t kept_ = 0;                    // decisions that the newest snapshot has
  uint64_t tried_ = 0;                   // and those before the last try of one
  bool is_changed_ = false;
  std::optional<uint64_t> number_;
  Replay replay_;
};

}  // namespace pleat::inline v0_1
