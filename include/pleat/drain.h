// A Drain is the orderly end of an engine, or of one of its collections: no more events, what is
// open is closed or kept, and then a wait until all emissions are popped or acked, or until a time
// is over. No event that was folded is lost unheard: the drain says what is left.
//
//   pleat::Drain drain(*engine, pleat::LeaseTime(now), {.timeout = 30s});
//   while (drain.Look(pleat::LeaseTime(now)) == pleat::DrainState::kWaiting) {
//     // the consumers go on; time does, too
//   }
//   for (const auto& left : drain.left().collections) Warn(left.collection, left.sizes);
//
// A drain starts no thread and reads no clock: its time is an argument, a LeaseTime (emission.h).
// async_drain() in asio.h waits for one. Threads and coroutines that take emissions, and whoever
// moves the engine's time, go on until the drain is over.
//
// CloseAndPop() is the end of the input of a collection whose caller takes all emissions itself.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include <pleat/detail/export.h>
#include <pleat/engine.h>
#include <pleat/stats.h>
#include <pleat/time.h>
#include <pleat/untyped/any_collection.h>

namespace pleat::inline v0_1 {

struct DrainOptions {
  // Whether the open groups of folders and windows of rollup counters stay open, because a snapshot
  // will have them, or another process goes on. Default: CloseAll() makes emissions of them, which
  // the consumers get.
  bool keep_open = false;

  // How long to wait for emissions to be popped and acked. Range: any; zero or less: not at all.
  Duration timeout = kForever;
};

enum class DrainState : uint8_t {
  kWaiting,   // call Look() again: when a listener was told, time has passed, or now and then
  kDrained,   // each collection, when looked at, had no emission to be popped or acked, but for
              // those that wait behind a dead letter
  kTimedOut,  // the time is over, and some emission was still to be popped or acked
  kClosed,    // a collection was closed, or the engine is gone, before it was drained
};

// What is left. `sizes` of a rollup counter count its windows; rollup.h has sizes of its own.
struct Drained {
  struct InCollection {
    std::string collection;
    Sizes sizes;
  };

  DrainState state = DrainState::kWaiting;

  // In all collections that are drained, and in each one that has anything but bytes left: open
  // groups, emissions that were not popped or acked, dead letters (ScanDeadLetters() shows those)
  // and what waits behind them.
  Sizes left;
  std::vector<InCollection> collections;
};

// Thread safety: one call at a time; the collections are used as ever meanwhile.
// Ownership: may outlive the engine. Destroying a drain takes nothing back.
class PLEAT_EXPORT Drain {
 public:
  // Begins: engine.Stop(), then CloseAll() on each collection, in the order of their names, unless
  // keep_open. Collections that are opened later are left alone.
  // A call from inside a fold function begins nothing, and the state is kClosed.
  Drain(Engine& engine, LeaseTime now, const DrainOptions& options = {}) noexcept;

  // The same for one collection, such as folder.any(). It does not stop the engine, so the program
  // sees to it that nobody feeds the collection. For services in which the emissions of one folder
  // are the events of the next: drain them one by one, and the last one with the engine.
  Drain(const AnyCollection& collection, LeaseTime now, const DrainOptions& options = {}) noexcept;

  // Moves LeaseTime to `now`, takes back the leases that ran out by then, and says how far the
  // drain is. The answer stays once it is not kWaiting. From inside a fold function does nothing.
  // Complexity: O(partitions) for each collection that is not drained.
  DrainState Look(LeaseTime now) noexcept;

  // The counts of now. Locks each partition, one after the other.
  Drained left() const;

  // When the time is over; the end of time without a timeout.
  LeaseTime deadline() const noexcept { return deadline_; }

  // As AnyCollection::AddListener(), for each of the collections: MayBeDrained() says when to look.
  void AddListener(EmissionListener& listener) noexcept;
  void RemoveListener(EmissionListener& listener) noexcept;

 private:
  void Begin(const DrainOptions& options);

  std::shared_ptr<EngineCore> engine_;
  std::vector<AnyCollection> collections_;
  std::vector<bool> drained_;  // by collection: at the latest look
  LeaseTime deadline_;
  DrainState state_ = DrainState::kWaiting;
};

// The end of the input of a large collection: all that is open closes, and goes out as it closes.
//
//   pleat::CloseAndPop(folder.any(), [](std::span<const pleat::ClosedGroup> groups) { ... });
//
// does what CloseAll() does, and Pop() until nothing is left: the same emissions in the same order,
// where the backlog has room for all of them. Those that wait between the two take memory, and at
// limits.max_backlog CloseAll() drops the oldest (OnBacklog::kDropOldest), and cuts no partials.
// Here only a few wait at a time, and have a taker: nothing is dropped, and no partial is left out
// for the backlog. Closing takes no memory beside that of what is open, and gives that back as it
// goes. While a snapshot is being taken, what it still needs of a group is kept when the group
// goes.
//
// One operation: it holds the locks of all partitions until all is done, and `take`, which is as
// that of AnyCollection::Pop(), runs under them. Returns how many emissions there were.
PLEAT_EXPORT size_t CloseAndPop(const AnyCollection& collection, AnyCollection::Take take) noexcept;

}  // namespace pleat::inline v0_1
