// Emissions: the groups that a collection hands out, whole or so far, and the leases by which it
// lends them. emission_source.h has the calls.
//
//   for (const pleat::Emission<Edits>& e : folder.Pop(100)) Publish(e.key, e.state, e.count);
//
//   for (auto& lease : folder.Lease(100, 30s, driver.lease_now())) {
//     if (Publish(lease.key, lease.state)) lease.Ack();    // delivered: the emission is gone
//     else lease.Nack(10s, driver.lease_now());            // to be lent again in ten seconds
//   }                                                      // neither: lent again after 30 seconds
//
// Pop() gives an emission away: a consumer that fails afterwards loses it. Lease() lends an
// emission for a time, and again if no Ack() comes, so that every emission is delivered at least
// once. Leases and the emissions behind them end with the engine, unless a snapshot has them
// (docs/durability.md): an engine that is restored from it goes on with them, and tokens of before
// are good.
//
// - Only Ack(), Nack() and time end a lease. Destroying the Leased object does not: if Publish()
//   throws, the emission is lent again after 30 seconds. Catch and Nack() to have it sooner.
// - Nack() without a delay lends the emission again at once. A loop that fails at once has then
//   used up all deliveries in an instant, so pass a delay.
// - An emission keeps its EmissionId in all its deliveries: pass the id on, and the receiver can
//   drop second deliveries.
// - While an emission of a key is lent, or waits to be lent again, later emissions of that key
//   wait. Other keys go on.
// - After LeaseOptions::max_deliveries deliveries without an Ack(), 5 by default, the emission
//   becomes a dead letter. Find the letters by ScanDeadLetters(), and call RetryDeadLetter() or
//   DropDeadLetter() on each. A program is told of letters that come: by async_dead_letters()
//   (asio.h), by WaitSince() (wait_pop.h), or as an EmissionListener; deaths() counts them.
// - Later emissions of a dead letter's key go on, and a letter that is retried comes behind those
//   that went out meanwhile: compare EmissionIds where the order counts. With
//   LeaseOptions::wait_behind_dead they wait instead, and neither Lease() nor Pop() gives them out,
//   until the letter is retried and acked, or dropped.
// - Leases run on a clock of their own: LeaseTime moves only when AdvanceLeases(), Lease(), Nack()
//   or Extend() says what time it is; Advance() and the stamps of events never move it.
//
// A visibility timeout longer than LeaseOptions::max_age, one hour by default, is cut to that;
// Delivery::until says when the lease ends. A delay longer than max_nack_delay, also one hour by
// default, is cut too.
// Any clock will do that all consumers share. A Driver moves LeaseTime by itself; its lease_now()
// reads that clock.
//
// Ownership: plain data, owned by the caller that took it. No call changes an emission afterwards.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include <pleat/outcome.h>
#include <pleat/time.h>

namespace pleat::inline v0_1 {

// Names an emission. No two emissions of one collection in one Engine object have the same id, also
// when a key comes back. In a process that restores a snapshot they go on, further ahead; else in
// the next process, and in a collection that is opened again under the same name, they begin at 0.
struct EmissionId {
  uint32_t partition = 0;

  // Counts the emissions of the partition, from 0.
  uint64_t generation = 0;

  friend bool operator==(const EmissionId&, const EmissionId&) = default;
};

// The counts and times of a group.
struct GroupInfo {
  // How many events were folded, at least 1: the opening one is included.
  uint64_t count = 0;

  // The smallest and the largest stamp.
  EngineTime first;
  EngineTime last;
};

// What an emission says beside its key and its state. The groups of a rollup counter are windows;
// rollup.h has the meaning of the members there.
struct EmissionInfo : GroupInfo {
  // When the group closed: the deadline itself if time did, however late anybody looked; the
  // engine's time if an event or a call did. Of a partial: the instant at which the partial was
  // due.
  EngineTime closed;

  // Why there is an emission; and its name, which repeats with each delivery and with no other
  // emission of the collection.
  Reason reason = Reason::kQuiet;

  // Whether the group went on: reason kLeading or kPartial.
  bool partial = false;

  // Counts the emissions of one group, from 1. Above 1 only with edges or partials.
  uint32_t revision = 1;
  EmissionId id;

  // Of a correction: the key's last emission before it, if that is still known.
  std::optional<EmissionId> corrects = std::nullopt;
};

// The answer of Ack(), Nack(), Extend() and the calls on dead letters.
enum class LeaseOutcome : uint8_t {
  // Done. A repeated Ack() is answered so again.
  kDone = 0,
  // Done, with a shorter time than asked for: the limits are leases.max_age and max_nack_delay.
  kClamped = 1,
  // The token names no live lease; in a call on dead letters: no dead letter. Nothing has changed.
  // - The lease ran out: another caller may have the emission, or will. Undo the work if you can.
  // - An Ack() or Nack() by this token has ended the lease before: nothing is left to do.
  // - The letter was retried or dropped before: nothing is left to do.
  // - The token is of another collection or engine: a mistake in the program.
  kStale = 2,
  // The collection was closed, or its engine is gone.
  kClosed = 9,
  // Called from inside a fold function. Nothing has changed: call again after the fold.
  kWouldDeadlock = 10,
};

// The answer of Extend().
struct Extension {
  LeaseOutcome outcome = LeaseOutcome::kStale;

  // With kDone and kClamped: when the lease ends now.
  LeaseTime until{};

  friend bool operator==(const Extension&, const Extension&) = default;
};

// The name of one delivery of one emission: plain numbers, which may travel to another process and
// back. Programs pass a token on as a whole. The engine checks each token, so that a forged one is
// stale at worst.
struct LeaseToken {
  // Of the engine, and of no other Engine object, unless EngineInternals says so.
  uint64_t epoch = 0;

  // Counts the deliveries of the partition, from 1.
  uint64_t lease = 0;

  // Of the emission; see EmissionId.
  uint64_t generation = 0;

  // Of the collection, and of no other one that the engine has ever had.
  uint32_t collection = 0;

  // Where the engine finds the emission.
  uint32_t partition = 0;
  uint32_t place = 0;

  friend bool operator==(const LeaseToken&, const LeaseToken&) = default;
};

// One delivery of an emission.
struct Delivery {
  LeaseToken token;

  // The lease ends when LeaseTime gets here.
  LeaseTime until{};

  // How often the emission was delivered, this delivery included.
  uint32_t deliveries = 0;
};

// Why an emission is a dead letter.
enum class DeadReason : uint8_t {
  kNacked,  // its last delivery was given back
  kRanOut,  // its last delivery was neither acked nor given back in time
};

// How an emission became a dead letter.
struct Death {
  // Of its last delivery. Names the letter.
  LeaseToken token;

  uint32_t deliveries = 0;
  LeaseTime first_leased{};
  LeaseTime died{};
  DeadReason why = DeadReason::kRanOut;
};

// An emission on its way out. The views are valid during the call that hands it over.
struct ClosedGroup : EmissionInfo {
  std::string_view key;

  // On its way out for good: move or destroy it, nobody else will. Lent or only shown: leave it.
  void* state = nullptr;
};

// Where a scan stands. A new one stands at the beginning, and so does one before partition 0.
struct ScanCursor {
  int partition = 0;
  uint32_t place = 0;
};

template <class State, class Key = std::string>
struct Emission : EmissionInfo {
  Key key;
  State state;
};

// An emission in an EmissionBuffer, which has the bytes of the key.
template <class State>
using EmissionView = Emission<State, std::string_view>;

// A lease in a LeaseBuffer, which has the bytes of the key. Pass the token to EmissionSource::Ack()
// and its siblings.
template <class State>
struct LeasedView : EmissionView<State> {
  Delivery delivery;
};

// A lease as LeaseEach() shows it. Key and state are the collection's own: good during the call.
template <class State>
using LeasedRef = LeasedView<const State&>;

// The answer of AckAndTake().
template <class State>
struct Acked {
  LeaseOutcome outcome = LeaseOutcome::kStale;

  // If this call has ended the lease. So with kDone only, and not if the token was acked before:
  // that call had the emission, or dropped it.
  std::optional<Emission<State>> emission;
};

// An emission that was delivered max_deliveries times and never acked; see LeaseOptions.
template <class State>
struct DeadLetter : Emission<State> {
  Death death;
};

// A copy of an open group, as Peek() or Scan() found the group.
template <class State>
struct OpenGroup : GroupInfo {
  std::string key;
  State state;
};

}  // namespace pleat::inline v0_1
