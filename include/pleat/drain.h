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
// A drain starts no thread and reads no clock: its time is an argument, the LeaseTime of lease.h.
// async_drain() in asio_drain.h waits for one. Threads and coroutines that take emissions, and
// whoever moves the engine's time, go on until the drain is over.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include <pleat/any_collection.h>
#include <pleat/engine.h>
#include <pleat/export.h>
#include <pleat/stats.h>
#include <pleat/time.h>

namespace pleat::inline v0_1 {

// What becomes of the groups of folders and the windows of rollup counters that are open.
enum class DrainOpen : uint8_t {
  kClose,  // by CloseAll(): they become emissions, which the consumers get
  kKeep,   // they stay open, because a snapshot will have them, or another process goes on
};

struct DrainOptions {
  DrainOpen open = DrainOpen::kClose;

  // How long to wait for emissions to be popped and acked. Range: any; zero or less: not at all.
  Duration timeout = kForever;
};

enum class DrainState : uint8_t {
  kWaiting,   // call Look() again: when a listener was told, time has passed, or now and then
  kDrained,   // each collection, when looked at, had no emission to be popped or acked
  kTimedOut,  // the time is over, and some emission was still to be popped or acked
  kClosed,    // a collection was closed, or the engine is gone, before it was drained
};

// Counts of a collection, and its name.
struct LeftInCollection {
  std::string collection;
  Sizes sizes;
};

// What is left. `sizes` of a rollup counter count its windows; rollup.h has sizes of its own.
struct Drained {
  DrainState state = DrainState::kWaiting;

  // In all collections that are drained, and in each one that has anything but bytes left: open
  // groups, emissions that were not popped or acked, dead letters (ScanDeadLetters() shows those).
  Sizes left;
  std::vector<LeftInCollection> collections;
};

// Thread safety: one call at a time; the collections are used as ever meanwhile.
// Ownership: may outlive the engine. Destroying a drain takes nothing back.
class PLEAT_EXPORT Drain {
 public:
  // Begins: engine.Stop(), then with kClose CloseAll() on each collection, in the order of their
  // names. Collections that are opened later are left alone.
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

}  // namespace pleat::inline v0_1
