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
#include <string>
#include <string_view>

#include <absl/status/statusor.h>
#include <pleat/detail/export.h>
#include <pleat/rollup_options.h>
#include <pleat/time.h>

namespace pleat::inline v0_1 {

class Delta {
 public:
  enum class Kind : uint8_t { kInteger, kReal, kAbove, kBelow };

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

  // The amount includes the final windows, which end at or before this instant.
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
};

// Keeps checkpoints in memory, as long as it lives: for tests, and for instances of one process.
class PLEAT_EXPORT MemoryCheckpointStore final : public CheckpointStore {
 public:
  MemoryCheckpointStore();
  ~MemoryCheckpointStore() override;

  absl::StatusOr<Checkpoint> Load(std::string_view key) override;
  absl::StatusOr<Checkpoint> Publish(std::string_view key, const Checkpoint& checkpoint) override;

  // How many keys have a checkpoint.
  size_t size() const;

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace pleat::inline v0_1
