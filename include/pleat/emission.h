// Emissions: the groups that a collection hands out, whole or so far.
//
//   for (const pleat::Emission<Edits>& e : folder.Pop(100)) Publish(e.key, e.state, e.count);
//
// The counts, times and names are members of EmissionInfo, in any_collection.h.
// Ownership: plain data, owned by the caller that took it. No call changes an emission afterwards.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include <pleat/any_collection.h>
#include <pleat/lease.h>

namespace pleat::inline v0_1 {

template <class State, class Key = std::string>
struct Emission : EmissionInfo {
  Key key;
  State state;
};

// An emission in an EmissionBuffer, which has the bytes of the key.
template <class State>
using EmissionView = Emission<State, std::string_view>;

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
  Extension Extend(Duration visibility_timeout, LeaseTime now) noexcept {
    return collection.Extend(delivery.token, visibility_timeout, now);
  }
};

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
