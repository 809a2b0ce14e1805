// Emissions: the groups that a collection hands out, whole or so far.
//
//   for (const pleat::Emission<Edits>& e : folder.Pop(100)) Publish(e.key, e.state, e.count);
//
// The groups of a rollup counter are windows; rollup.h has the meaning of the members.
// Ownership: plain data, owned by the caller that took it. No call changes an emission afterwards.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include <pleat/any_collection.h>
#include <pleat/lease.h>
#include <pleat/outcome.h>
#include <pleat/time.h>

namespace pleat::inline v0_1 {

template <class State>
struct Emission {
  std::string key;
  State state;

  // How many events were folded, at least 1; and their smallest and largest stamp.
  uint64_t count;
  EngineTime first;
  EngineTime last;

  // When the group closed: the deadline itself if time did, however late anybody looked; the
  // engine's time if an event or a call did. Of a partial: the instant at which the partial was
  // due.
  EngineTime closed;

  // Why there is an emission; and its name, which repeats with each delivery and with no other
  // emission of the collection.
  Reason reason;
  EmissionId id;

  // Counts the emissions of one group, from 1. Above 1 only with edges or partials.
  uint32_t revision;

  // Whether the group went on: reason kLeading or kPartial.
  bool partial;

  // Of a correction: the key's last emission before it, if that is still known.
  std::optional<EmissionId> corrects;
};

// An emission that is lent. The copy is the caller's, to keep and to change. Destroying it does not
// end the lease: Ack(), Nack() and time do. The methods are EmissionSource's, for this lease.
// Thread safety: any thread may call the methods, one at a time.
template <class State>
struct Leased : Emission<State> {
  Delivery delivery;
  AnyCollection collection;

  LeaseOutcome Ack() noexcept { return collection.Ack(delivery.token); }
  LeaseOutcome Nack() noexcept { return collection.Nack(delivery.token); }
  LeaseOutcome Nack(Duration delay, LeaseTime now) noexcept {
    return collection.Nack(delivery.token, delay, now);
  }
  Extension Extend(Duration ttl, LeaseTime now) noexcept {
    return collection.Extend(delivery.token, ttl, now);
  }
};

// An emission that was delivered max_deliveries times and never acked; see LeaseOptions.
template <class State>
struct DeadLetter : Emission<State> {
  Death death;
};

// A copy of an open group, as Peek() or Scan() found the group.
template <class State>
struct OpenGroup {
  std::string key;
  State state;

  // How many events were folded so far, and their smallest and largest stamp.
  uint64_t count;
  EngineTime first;
  EngineTime last;
};

}  // namespace pleat::inline v0_1
