// The reference model of rollup counters: what a RollupCounter in an Engine promises, written from
// docs/semantics-rollups.md so that one can see that it is right. Where engine and model differ, one
// of the two is wrong, and the document decides which.
//
// A counter is the list of its events that count, in the order in which they came; each value and
// each amount of a window is added up from that list whenever somebody asks. There are no threads,
// hashes, wheels or partitions: the point of all those is that they do not show, but in ids of
// emissions.
//
//   time       moves only forward; everything due by it happens the moment it moves, so no open
//              window is ever due by the model's time
//   frontier   time less allowed lateness less margin: windows that end by it are final
//   position   the number of an event among all; a window has that of its first event
//   emissions  come in the order of all output; delivery_model.h has what becomes of them
//
// It models one partition with its limits, but for max_bytes; and several, as long as no limit is
// reached. It has no store of checkpoints.
#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <pleat/batch.h>
#include <pleat/emission.h>
#include <pleat/engine.h>
#include <pleat/outcome.h>
#include <pleat/rollup.h>
#include <pleat/rollup_options.h>
#include <pleat/rollup_values.h>
#include <pleat/time.h>

#include "tests/model/delivery_model.h"
#include "tests/model/model_clock.h"
#include "tests/model/plain_sum.h"

namespace pleat::inline v0_1 {

class RollupModel {
 public:
  // `home_of`: the partition of a key, of so many; the one thing that is the engine's own.
  RollupModel(const EngineOptions& engine, const RollupOptions& options,
              int (*home_of)(std::string_view, int) = &PartitionOf);

  void Advance(EngineTime now) { MoveTime(now); }
  void AdvanceLeases(LeaseTime now) { delivery_.MoveTime(now); }
  void Stop() { stopped_ = true; }
  // REQUIRES: limits and leases are the same.
  void SetOptions(const RollupOptions& options);

  AddOutcome Add(std::string_view key, Delta delta, EngineTime at, std::string_view id = {});
  AddedCount AddAndGet(std::string_view key, Delta delta, EngineTime at, std::string_view id = {});
  AddOutcome Clear(std::string_view key, EngineTime at, std::string_view id = {});
  // An event of a batch that is elsewhere.
  AddOutcome PassBy(std::string_view key, EngineTime at, std::string_view id);
  void CloseAll();

  std::optional<EventualCount> Eventual(std::string_view key) const;
  AccurateCount Accurate(std::string_view key) const;
  std::vector<CountedWindow> History(std::string_view key, EngineTime from, EngineTime to,
                                     Duration window = {}) const;
  std::vector<TopCount> Top(size_t n, EngineTime at, Duration window = {}) const;

  // References are held one at a time for each key. Whether there is one now.
  bool Ref(std::string_view key);
  void DropRef(std::string_view key);

  // Emissions; their states are StateOf() their ids.
  std::vector<ModelGroup> Pop(size_t max, PartitionRange from = {}) {
    return delivery_.Pop(max, from);
  }
  std::vector<ModelLease> Lease(size_t max, Duration ttl, LeaseTime now, PartitionRange from = {}) {
    delivery_.MoveTime(now);
    return delivery_.Lease(max, ttl, from);
  }
  std::optional<ModelGroup> LentBy(uint64_t delivery) { return delivery_.LentBy(delivery); }
  LeaseOutcome Ack(uint64_t delivery) { return delivery_.Ack(delivery); }
  LeaseOutcome Nack(uint64_t delivery) { return delivery_.Nack(delivery, Duration{0}); }
  std::vector<ModelLetter> DeadLetters() const { return delivery_.DeadLetters(); }
  CountedWindow StateOf(EmissionId id) const { return states_.at({id.partition, id.generation}); }

  RollupLedger ledger() const;
  RollupSizes sizes() const;  // but for bytes
  EngineTime now() const { return clock_.now(); }
  std::optional<EngineTime> FirstDue() const;

 private:
  struct Entry {  // an event that counts
    EngineTime at;
    Delta delta;
    bool is_clear = false;
    uint64_t position = 0;
  };

  enum class Stage { kOpen, kFinal, kEnded };
  struct Window {
    uint64_t opened = 0;  // the position of its first event
    Stage stage = Stage::kOpen;
    EmissionId id = {};
  };
  // The finest resolution is number 0.
  struct WindowName {
    size_t resolution = 0;
    EngineTime start;
    auto operator<=>(const WindowName&) const = default;
  };
  struct Counter {
    std::vector<Entry> entries;
    std::map<WindowName, Window> windows;
  };
  using Counters = std::map<std::string, Counter, std::less<>>;

  struct Offer {
    std::string key;
    std::string id;
    Entry entry;
  };
  struct Remembered {
    EngineTime stamp;
    Entry entry;
  };

  // An open window among all, in the order in which they close.
  struct Closing {
    EngineTime end;
    size_t resolution;
    uint64_t opened;
    std::string key;
    WindowName name;
    auto operator<=>(const Closing&) const = default;
  };

  // Instants.
  EngineTime Frontier() const;
  EngineTime RipeOf(EngineTime end) const;
  EngineTime EarliestAccepted() const;
  EngineTime Horizon() const { return SaturatingSub(now(), horizon_); }
  EngineTime AsOf() const;
  WindowName NameOf(size_t resolution, EngineTime at) const;
  EngineTime EndOf(const WindowName& name) const;
  bool IsPassed(const WindowName& name) const { return EndOf(name) <= Frontier(); }
  bool IsKept(const WindowName& name) const;  // REQUIRES: passed
  bool IsToBeForgotten(const std::string& key, const Counter& counter) const;

  void MoveTime(EngineTime to);
  void Forget();
  std::vector<Closing> OpenWindows() const;

  AddOutcome Answer(Offer offer);
  AddOutcome Judge(Offer& offer);
  AddOutcome Count(const Offer& offer, bool backlog_was_full, AddOutcome outcome);
  AddOutcome Correct(const Offer& offer);
  void Remember(const Offer& offer);

  // Sums.
  PlainSum SumOf(const Counter& counter, const WindowName& name) const;
  Amount ValueOf(const Counter& counter, EngineTime before) const;
  CountedWindow Shown(const Counter& counter, const WindowName& name) const;
  std::optional<size_t> ResolutionOf(Duration window) const;

  int HomeOf(std::string_view key) const;
  EmissionId HandOut(const std::string& key, const CountedWindow& state, Reason reason,
                     EngineTime closed, std::optional<EmissionId> corrects = {});

  ModelClock clock_;
  const EngineOptions engine_;
  int (*const home_of_)(std::string_view, int);
  RollupOptions options_;
  const Duration horizon_;  // for which ids are remembered
  Duration retention_;      // for which final windows are kept
  Duration forget_after_;
  // By the options of before: windows that end by then are not kept any more.
  EngineTime gone_up_to_ = kBeginningOfTime;
  bool stopped_ = false;
  uint64_t positions_ = 0;
  Counters counters_;
  std::map<std::string, bool, std::less<>> held_;  // keys that somebody has a reference to
  EngineTime floor_ = kBeginningOfTime;            // no earlier stamp is accepted since CloseAll()
  std::map<std::pair<std::string, std::string>, Remembered> ids_;
  std::map<int, uint64_t> generations_;  // per partition, of its next emission
  std::map<std::pair<uint32_t, uint64_t>, CountedWindow> states_;
  RollupLedger ledger_;  // without what counts the present
  DeliveryModel delivery_;
};

}  // namespace pleat::inline v0_1
