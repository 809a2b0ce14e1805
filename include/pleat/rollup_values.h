// What goes into a rollup counter (rollup.h) and what comes out: a Delta is a number to add, an
// Amount a sum of deltas. A CheckpointStore keeps the amounts of the final windows, so that another
// instance can continue from them.
//
//   pleat::RollupOptions options{.windows = {1min}, .allowed_lateness = 10s,
//                                .store = std::make_shared<pleat::MemoryCheckpointStore>()};
//   pleat::RollupCounter bytes(*engine, "bytes", options);
//   bytes.Add("page 1", 2'048, at);
//   const pleat::Amount amount = bytes.Accurate("page 1").amount;   // {.count = 1, .sum = 2'048}
//
// Integers are summed exactly in 64 bits, other numbers as doubles with Neumaier's compensation, in
// the order in which they come, as the reducer `sum` of `pleat fold` does. A part that would leave
// its type stays at the end of the type for good, and the amount is `saturated`.
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include <absl/functional/function_ref.h>
#include <absl/status/status.h>
#include <absl/status/statusor.h>
#include <pleat/detail/export.h>
#include <pleat/rollup_options.h>
#include <pleat/time.h>
#include <pleat/untyped/storage.h>

namespace pleat::inline v0_1 {

class Delta {
 public:
  enum class Kind : uint8_t { kInteger, kReal, kAbove, kBelow, kNone };

  constexpr Delta() noexcept = default;  // 1
  template <std::integral Integer>
  constexpr Delta(Integer number) noexcept  // NOLINT(*-explicit-constructor)
      : whole_(static_cast<int64_t>(number)) {
    if constexpr (std::unsigned_integral<Integer> && sizeof(Integer) == sizeof(int64_t)) {
      if (whole_ < 0) *this = Above();
    }
  }
  // An infinite number saturates the sum; NaN counts as zero.
  constexpr Delta(double number) noexcept  // NOLINT(*-explicit-constructor)
      : real_(number), kind_(Kind::kReal) {}

  // An integer above or below the range of 64 bits, which saturates the sum.
  static constexpr Delta Above() noexcept { return Delta(Kind::kAbove); }
  static constexpr Delta Below() noexcept { return Delta(Kind::kBelow); }
  // No number: the event counts, and adds nothing to the sum.
  static constexpr Delta None() noexcept { return Delta(Kind::kNone); }

  constexpr Kind kind() const noexcept { return kind_; }
  // REQUIRES: kind() is kInteger for whole(), and kReal for real().
  constexpr int64_t whole() const noexcept { return whole_; }
  constexpr double real() const noexcept { return real_; }

 private:
  explicit constexpr Delta(Kind kind) noexcept : whole_(0), kind_(kind) {}

  union {
    int64_t whole_ = 1;
    double real_;
  };
  Kind kind_ = Kind::kInteger;
};

// A sum of deltas, and how many there were.
struct Amount {
  // How many events were added.
  uint64_t count = 0;

  // Their sum: exact if `integer`; else the nearest integer within 64 bits.
  int64_t sum = 0;

  // Their sum as a double, always set.
  double real = 0;

  // Whether only integers were added.
  bool integer = true;

  // Whether the sum would have left 64 bits, or the range of doubles; the sum is then the end of
  // that range.
  bool saturated = false;

  // Whether there were events, and none of them had a number; the sum is then 0.
  bool none = false;

  friend bool operator==(const Amount&, const Amount&) = default;
};

// An event of a counter.
// Ownership: borrows the bytes of `id` until the call returns.
struct CounterEvent {
  Delta delta = 1;

  // Names the event among those of its key, any bytes up to 64 KiB; empty: the event has no id, and
  // a retry counts again.
  std::string_view id = {};
};

// A window of one key, as it was handed out or kept.
struct CountedWindow {
  EngineTime start;
  EngineTime end;
  Amount amount;

  friend bool operator==(const CountedWindow&, const CountedWindow&) = default;
};

// The sum of all counted events with stamps before `as_of`.
struct EventualCount {
  Amount amount;
  EngineTime as_of = kBeginningOfTime;  // an end of a window
  Duration lag{0};                      // from as_of to the engine's time
};

// The sum of all events counted so far.
struct AccurateCount {
  Amount amount;

  // The amount includes the final windows, which end at or before this instant. If there is no such
  // counter, the beginning of time.
  EngineTime checkpoint = kBeginningOfTime;
  // Whether the store's checkpoint is included; always true without a store. If false, call
  // Publish() first.
  bool loaded = true;
};

struct AddedCount {
  AddOutcome outcome = AddOutcome::kStopped;
  AccurateCount value;  // right after this event, whatever the outcome
};

// One counter in the answer of Top().
struct TopCount {
  std::string key;
  Amount amount;
};

// The result of one Publish().
struct Publication {
  size_t published = 0;  // checkpoints that the store kept
  size_t failed = 0;     // counters that stayed as they were; ledger() says why
  bool more = false;     // counters are left to load or publish; failed ones count
};

// The sum of the events of a counter with stamps before `until`, after its newest clear. A window
// of `windows[0]` ends at `until`.
struct Checkpoint {
  EngineTime until = kBeginningOfTime;  // kBeginningOfTime: there is none yet
  Amount amount;

  friend bool operator==(const Checkpoint&, const Checkpoint&) = default;
};

// Derive from it to keep checkpoints in a database. Several engines, also in several processes, may
// share one store: docs/counters.md has the conditions for that.
//
// Thread safety: engines call from any thread, several at a time. No lock of an engine is held
// meanwhile, so a store may block, and may call engines.
// REQUIRES: no function throws.
class PLEAT_EXPORT CheckpointStore {
 public:
  virtual ~CheckpointStore() = default;

  // The checkpoint of `key`; a default one if there is none.
  // Errors: any. The counter stays as it is, and the next Publish() asks again.
  virtual absl::StatusOr<Checkpoint> Load(std::string_view key) = 0;

  // Keeps `checkpoint` if its `until` is later than that of the kept one, in one atomic step.
  // Returns the checkpoint that the store keeps then.
  // Errors: as Load(). After an error the checkpoint may be kept or not.
  virtual absl::StatusOr<Checkpoint> Publish(std::string_view key,
                                             const Checkpoint& checkpoint) = 0;

  // The same for several keys, none of which comes twice: offers[i] for keys[i]. kept[i] becomes
  // the answer. A counter calls it with up to some 4,096 keys; a store to which one step for many
  // is cheaper than many steps overrides it. By default it calls Publish() for each.
  virtual void PublishBatch(std::span<const std::string_view> keys,
                            std::span<const Checkpoint> offers,
                            std::span<absl::StatusOr<Checkpoint>> kept);

  // Lists the keys that have a checkpoint, in any order and a part at a time: calls `see(key,
  // checkpoint)` for up to `max` keys, and moves `cursor` behind them. The cursor is empty at the
  // beginning, is the store's own text between two parts, and is empty again when no key is left.
  // A key that is there from the first part to the last is seen, and one that comes meanwhile may
  // be. `see` calls no store and no engine. For RollupCounter::LoadCheckpoints().
  // Errors: kUnimplemented by default: the store cannot list. Else any; `cursor` is as it was then.
  using SeeCheckpoint = absl::FunctionRef<void(std::string_view key, const Checkpoint& checkpoint)>;
  virtual absl::Status List(std::string& cursor, size_t max, SeeCheckpoint see);

  // Called when a counter opens that uses the store, with its RollupOptions::calendar_name, empty
  // without a calendar. A store that keeps the first name and refuses others finds out that two
  // instances have different windows before one of them publishes. By default any is right.
  // Errors: any, which Open() answers.
  virtual absl::Status CheckCalendar(std::string_view calendar_name);
};

// Keeps checkpoints in memory, as long as it lives: for tests, and for instances of one process.
class PLEAT_EXPORT MemoryCheckpointStore final : public CheckpointStore {
 public:
  MemoryCheckpointStore();
  ~MemoryCheckpointStore() override;

  absl::StatusOr<Checkpoint> Load(std::string_view key) override;
  absl::StatusOr<Checkpoint> Publish(std::string_view key, const Checkpoint& checkpoint) override;
  // In the order of keys. O(log keys + max).
  absl::Status List(std::string& cursor, size_t max, SeeCheckpoint see) override;
  // Errors: kFailedPrecondition if a counter with another calendar has used the store.
  absl::Status CheckCalendar(std::string_view calendar_name) override;

  // How many keys have a checkpoint.
  size_t size() const;

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

// Opens a store that keeps checkpoints in a directory, for the engines of one process. Makes the
// directory if it is missing.
//
//   auto store = *pleat::OpenCheckpointDirectory("/var/lib/plays");
//   pleat::RollupCounter plays(
//       *engine, "plays", {.windows = {1min}, .allowed_lateness = 10s, .store = store});
//
// A checkpoint that Publish(), PublishBatch() or Load() has answered is on the disk, and stays when
// the machine loses its power. Each step writes one file, which takes the place of smaller ones if
// that is cheap: over time O(n log keys) bytes for n checkpoints, in log2(keys) + 1 files with at
// most 2 * keys checkpoints. A step waits for the disk twice, so many keys in one are cheaper than
// as many steps. Files are for the owner alone (mode 0600); docs/formats.md has their layout.
//
// All checkpoints are in memory, too: some 200 bytes and the key for each, up to `max_bytes`; once
// that is reached, a new key is answered kResourceExhausted, and those that are there go on.
// Range: 1 or more.
//
// Thread safety: any thread, several calls at a time; a call waits for another one that writes.
// Ownership: `storage` outlives the store. The directory is locked until the store is destroyed.
// Errors of the store: those of storage.h, such as kResourceExhausted for a full disk. What was
// kept before stays, and the same call may be made again. CheckCalendar() answers as that of
// MemoryCheckpointStore does, also after a restart once something was published.
// Errors of this call, each with the path. Nothing was changed then.
// - kUnavailable: another process or store has the directory; the message has its number.
// - kFailedPrecondition: the directory has other files: name another directory.
// - kDataLoss: a file is damaged, missing, or of another directory; the message names it. Put the
//   directory back from a backup, or begin a new one and count the events again.
// - kResourceExhausted: the checkpoints take more than `max_bytes`.
// - kUnimplemented: written by a newer version. kInvalidArgument: `max_bytes` is zero.
// - Those of storage.h. O(bytes).
PLEAT_EXPORT absl::StatusOr<std::shared_ptr<CheckpointStore>> OpenCheckpointDirectory(
    std::string_view directory, size_t max_bytes = size_t{4} << 30,
    Storage& storage = PosixStorage());

}  // namespace pleat::inline v0_1
