// A trace says what happens to the groups of a folder, step by step: from the event that opens a
// group to the ack of its emission. For logs, audits and tracing systems.
//
//   pleat::Folder<Edit, Edits> edits(*engine, "edits", {.quiet_period = 5min, .max_wait = 1h,
//                                                       .measure = {.max_trace = 100'000}});
//   pleat::TraceReader trace(edits);
//   // now and then, such as once a second:
//   trace.Read(10'000, [&](std::span<const pleat::TraceRecord> records) {
//     for (const auto& r : records) Log(trace.collection(), r.key, StepName(r.step), r.at);
//   });
//
// The folder keeps its latest max_trace records, and a reader has a place among them. So a reader
// that stalls holds up nobody; it loses the oldest records, and lost() counts them. No function of
// yours runs under a lock: Read() copies some hundred records at a time, and hands them over when
// the lock is free again.
//
// Order: records of one partition, and so of one key, come in the order in which the steps were
// taken. A group that is due closes when Advance(), a pop or a lease gets there; if its key's next
// event comes first, that opens its group before. So tell groups by `group`, not by key alone.
// A snapshot has no records: those of a restored engine begin with its own first step.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <absl/functional/function_ref.h>
#include <pleat/detail/export.h>
#include <pleat/emission.h>
#include <pleat/outcome.h>
#include <pleat/time.h>
#include <pleat/untyped/any_folder.h>

namespace pleat::inline v0_1 {

// What happened. Each step counts in the column of Ledger that has its name, but for kClosed, which
// with kSilent makes `closed`, and kLent, which makes `deliveries`. Programs may store these
// values: they never change.
enum class TraceStep : uint8_t {
  // Of a group.
  kOpened = 1,     // an event opened it
  kCancelled = 2,  // Cancel() dropped it
  kSilent = 3,     // it closed without an emission: its leading one has said all

  // Of an emission, from here on.
  kClosed = 4,     // the group closed; `reason` says why
  kPartial = 5,    // the group was handed out and goes on: reasons kLeading and kPartial
  kCorrected = 6,  // a late event became an emission by itself
  kPopped = 7,     // given away for good
  kLent = 8,
  kNacked = 9,    // given back
  kRanOut = 10,   // neither acked nor given back in time
  kAcked = 11,    // over
  kDead = 12,     // its last delivery was nacked or ran out: the record before says which
  kRetried = 13,  // the dead letter is to be lent again
  kDropped = 14,  // over: the oldest at a limit, or DropDeadLetter()
};

inline constexpr size_t kTraceSteps = 14;

// "opened", "ran_out", ...: the spelling used in output.
constexpr std::string_view StepName(TraceStep step) noexcept {
  constexpr std::string_view kNames[kTraceSteps] = {
      "opened", "cancelled", "silent",  "closed", "partial", "corrected", "popped",
      "lent",   "nacked",    "ran_out", "acked",  "dead",    "retried",   "dropped"};
  const auto index = static_cast<size_t>(step) - 1;
  return index < kTraceSteps ? kNames[index] : "unknown";
}

// One step. Count and stamps are those of the group or the emission then.
struct TraceRecord : GroupInfo {
  // Counts the records of the partition, from 0.
  uint32_t partition = 0;
  uint64_t number = 0;

  TraceStep step = TraceStep::kOpened;

  // Names the group, and with it all of its emissions, among those of the partition. Also after a
  // restart from a snapshot.
  uint64_t group = 0;

  // Which emission; none of the steps of a group.
  std::optional<EmissionId> emission = std::nullopt;

  // Of an emission, and of kSilent: see EmissionInfo.
  Reason reason = Reason::kQuiet;
  uint32_t revision = 0;

  // How often it was delivered, with this time. 0 where there is no delivery.
  uint32_t deliveries = 0;

  // When: of kOpened the stamp of the event; of kSilent, kClosed, kPartial and kCorrected as
  // EmissionInfo::closed; else the engine's time.
  EngineTime at;

  // By LeaseTime: when the lease ended, however late that was noticed; else its time then.
  LeaseTime lease_at{};

  std::string key;
};

// Reads the records of one folder, each once. Any number of readers may read one folder; each gets
// all records.
// Thread safety: one thread at a time for one reader; any thread, for several. Folds go on
// meanwhile.
// Ownership: keeps a handle of the folder. When that is closed or its engine is gone, there is
// nothing to read: read before.
class PLEAT_EXPORT TraceReader {
 public:
  using See = absl::FunctionRef<void(std::span<const TraceRecord>)>;

  // Stands at the folder's oldest record. Without measure.max_trace there are none.
  explicit TraceReader(const AnyFolder& folder);
  // Of a Folder.
  template <class Typed>
    requires requires(const Typed& folder) { AnyFolder(folder.any()); }
  explicit TraceReader(const Typed& folder) : TraceReader(AnyFolder(folder.any())) {}

  // Hands over up to `max` records, in several calls of `see`, each with records of one partition.
  // Returns how many: 0 if there are no more for now, and from inside a fold function.
  // `see` runs on this thread without any lock, and may call all engines, this folder included; the
  // records that it brings about may come in later calls of the same Read(). Throwing ends the
  // program.
  // Cost: a lock for each partition and for each 256 records.
  size_t Read(size_t max, See see) noexcept;

  // How many records were gone before they were read.
  uint64_t lost() const noexcept { return lost_; }

  // The name of the folder.
  std::string_view collection() const noexcept;

 private:
  size_t ReadPartition(int partition, size_t max, See see);

  AnyFolder folder_;
  std::vector<uint64_t> next_;  // by partition
  int turn_ = 0;                // the partition to begin with
  uint64_t lost_ = 0;
  std::vector<TraceRecord> records_;
};

}  // namespace pleat::inline v0_1
