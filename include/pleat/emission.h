// What a group hands out. Plain data, owned by whoever popped it; it never changes.
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
  uint64_t count;    // events folded into it, at least 1
  EngineTime first;  // smallest stamp among them
  EngineTime last;   // largest stamp among them

  // For what time closed the deadline itself, whoever looked whenever, and for a partial its instant; for
  // what an event or a call brought about the engine's time then.
  EngineTime closed;
  Reason reason;
  EmissionId id;
  uint32_t
      revision;  // counts the emissions of one group, from 1; above it only with edges or partials
  bool partial;  // the group went on: reason kLeading or kPartial
  std::optional<EmissionId> corrects;  // of a correction: the key's last emission, if still known
};

// An emission that is lent. Plain data, to be kept and changed at will; only the lease runs out. The methods are
// those of the collection, by this token; any thread may call them.
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

// An emission that was delivered max_deliveries times and never acked.
template <class State>
struct DeadLetter : Emission<State> {
  Death death;
};

// A copy of an open group, as Peek() or Scan() saw it.
template <class State>
struct OpenGroup {
  std::string key;
  State state;
  uint64_t count;
  EngineTime first;
  EngineTime last;
};

}  // namespace pleat::inline v0_1
