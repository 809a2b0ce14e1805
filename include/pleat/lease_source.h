// LeaseSource: the emissions of a collection, lent until they are acked. EmissionSource is one, and
// so is a Folder. lease.h has the rules.
//
//   for (auto& lease : folder.Lease(100, 30s, driver.lease_now())) {
//     if (Publish(lease.key, lease.state)) lease.Ack();
//   }
//
// Lease() copies states. LeaseEach() leaves them where they are and shows them, so that a State may
// be large, or one that can only be moved. AckAndTake() moves it out, for those who still need it.
//
//   folder.LeaseEach(100, 30s, driver.lease_now(), [&](const pleat::LeasedRef<Edits>& lease) {
//     request.Append(lease.key, lease.state);
//     tokens.push_back(lease.delivery.token);
//   });
//   if (Send(request)) folder.Ack(tokens);
#pragma once

#include <algorithm>
#include <concepts>
#include <cstddef>
#include <iterator>
#include <span>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include <pleat/any_collection.h>
#include <pleat/emission.h>
#include <pleat/emission_buffer.h>
#include <pleat/export.h>
#include <pleat/lease.h>
#include <pleat/partition.h>
#include <pleat/time.h>

namespace pleat::inline v0_1 {

// Thread safety and ownership: see EmissionSource.
template <class State>
class LeaseSource {
 public:
  // Lends up to `max` emissions for `visibility_timeout` after `now`: first those that came back,
  // by the instant at which they did, then as Pop(). Locks as Pop(), and copies states under the
  // locks.
  //
  // `now`, here, in Nack() and in Extend(), moves LeaseTime, which never goes back. O(1).
  [[nodiscard]] std::vector<Leased<State>> Lease(size_t max, Duration visibility_timeout,
                                                 LeaseTime now, PartitionRange from = {}) noexcept {
    CheckCopies();
    std::vector<Leased<State>> out;
    any_.Lease(max, visibility_timeout, now, from,
               [&](const ClosedGroup& group, const Delivery& delivery) {
                 out.push_back(Leased<State>{CopyOf(group), delivery, any_});
               });
    return out;
  }

  // The same into a buffer, whose leases of before go: takes fewer instructions, and once it has
  // grown no lease is an allocation by itself, unless copying a State is. Views: good until its
  // next use; their leases do not end with it.
  std::span<LeasedView<State>> Lease(size_t max, Duration visibility_timeout, LeaseTime now,
                                     LeaseBuffer<State>& buffer,
                                     PartitionRange from = {}) noexcept {
    CheckCopies();
    buffer.Clear();
    any_.Lease(max, visibility_timeout, now, from,
               [&buffer](const ClosedGroup& group, const Delivery& delivery) {
                 buffer.Add(group, delivery);
               });
    return buffer.leases();
  }

  // Lends as Lease() does, and calls `look(const LeasedRef<State>&)` for each instead of copying:
  // key and state are the collection's own, and good during the call. Returns how many were lent.
  // REQUIRES: `look` runs under the partitions' locks: it is short, does not throw, and calls no
  // engine. (If it throws, the program ends; engine.h says what such a call answers.)
  template <class Look>
  size_t LeaseEach(size_t max, Duration visibility_timeout, LeaseTime now, Look&& look,
                   PartitionRange from = {}) noexcept
    requires std::invocable<Look&, const LeasedRef<State>&>
  {
    return any_.Lease(max, visibility_timeout, now, from,
                      [&](const ClosedGroup& group, const Delivery& delivery) {
                        const State& state = *static_cast<const State*>(group.state);
                        const LeasedRef<State> lease{{group, group.key, state}, delivery};
                        look(lease);
                      });
  }

  // Ends the lease: the emission was delivered. O(1). A repeated Ack() is answered kDone again,
  // until the partition has lent 65,536 others.
  LeaseOutcome Ack(const LeaseToken& token) noexcept { return any_.Ack(token); }

  // Ack() on each of many, tokens or leases, by one lock a partition for each 256. Returns how many
  // were answered kDone. `outcomes`, which is empty or as long, gets the outcome of each.
  template <class Tokens>
    requires std::is_convertible_v<const Tokens&, std::span<const LeaseToken>>
  size_t Ack(const Tokens& tokens, std::span<LeaseOutcome> outcomes = {}) noexcept {
    return any_.Ack(std::span<const LeaseToken>(tokens), outcomes);
  }
  template <class Leases>
    requires requires(const Leases& leases) { std::span(leases).front().delivery.token; }
  size_t Ack(const Leases& leases, std::span<LeaseOutcome> outcomes = {}) noexcept {
    size_t done = 0;
    LeaseToken tokens[256];
    for (std::span rest(leases); !rest.empty();) {
      const size_t n = std::min(rest.size(), std::size(tokens));
      for (size_t i = 0; i < n; ++i) tokens[i] = rest[i].delivery.token;
      done += any_.Ack(std::span(tokens, n), outcomes.first(std::min(n, outcomes.size())));
      rest = rest.subspan(n);
      outcomes = outcomes.subspan(std::min(n, outcomes.size()));
    }
    return done;
  }

  // Ack(), and hands the emission over as Pop() does, with its state moved out. Any other outcome
  // comes without the emission, and so does kDone where the token was acked before. O(1).
  [[nodiscard]] Acked<State> AckAndTake(const LeaseToken& token) noexcept {
    Acked<State> acked;
    acked.outcome = any_.AckAndTake(token, [&](std::span<const ClosedGroup> groups) {
      State& state = *static_cast<State*>(groups.front().state);
      acked.emission.emplace(EmissionOf(groups.front(), std::move(state)));
      state.~State();
    });
    return acked;
  }

  // Ends the lease: the emission is lent again, at once or `delay` after `now`. After its last
  // delivery it becomes a dead letter instead: without a delay a loop that always fails gets there
  // in an instant. O(1).
  LeaseOutcome Nack(const LeaseToken& token) noexcept { return any_.Nack(token); }
  LeaseOutcome Nack(const LeaseToken& token, Duration delay, LeaseTime now) noexcept {
    return any_.Nack(token, delay, now);
  }

  // Lets the lease end no earlier than `visibility_timeout` after `now`, at most leases.max_age
  // after its beginning. Answers when it ends. O(1).
  Extension Extend(const LeaseToken& token, Duration visibility_timeout, LeaseTime now) noexcept {
    return any_.Extend(token, visibility_timeout, now);
  }

  // Takes back all leases at once, as if they had run out: of consumers that are known to be dead,
  // such as those of the process before a restart. Returns how many. O(emissions that are lent).
  size_t EndLeases(PartitionRange of = {}) noexcept { return any_.EndLeases(of); }

  // Appends copies of up to `max` dead letters (0 counts as 1) to `out`, and moves `cursor` on.
  // Returns whether there may be more. Used as Folder::Scan(). Without copies: any() has the same.
  bool ScanDeadLetters(ScanCursor& cursor, size_t max,
                       std::vector<DeadLetter<State>>& out) const noexcept {
    static_assert(std::is_copy_constructible_v<State>,
                  "ScanDeadLetters() copies states, and these can only be moved: "
                  "any().ScanDeadLetters() shows them");
    return any_.ScanDeadLetters(cursor, max, [&](const ClosedGroup& group, const Death& death) {
      out.push_back(DeadLetter<State>{CopyOf(group), death});
    });
  }

  // Lends the letter again, with its deliveries counted from 0: behind an emission of its key that
  // is lent and letters that were retried earlier, before emissions that never went out. O(1).
  LeaseOutcome RetryDeadLetter(const LeaseToken& token) noexcept {
    return any_.RetryDeadLetter(token);
  }

  // Drops the letter. O(1).
  LeaseOutcome DropDeadLetter(const LeaseToken& token) noexcept {
    return any_.DropDeadLetter(token);
  }

  // The same collection without the types.
  AnyCollection any() const noexcept { return any_; }

 protected:
  explicit LeaseSource(AnyCollection any) noexcept : any_(std::move(any)) {}

  static consteval void CheckCopies() noexcept {
    static_assert(std::is_copy_constructible_v<State>,
                  "Lease() copies states, and these can only be moved: LeaseEach() shows them");
  }

  template <class Source>
  static Emission<State> EmissionOf(const ClosedGroup& group, Source&& state) {
    return {group, std::string(group.key), State(std::forward<Source>(state))};
  }

  static Emission<State> CopyOf(const ClosedGroup& group) {
    return EmissionOf(group, *static_cast<const State*>(group.state));
  }

  AnyCollection any_;
};

}  // namespace pleat::inline v0_1
