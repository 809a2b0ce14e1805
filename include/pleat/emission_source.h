// EmissionSource: the emissions of a collection, such as a Folder, and how to take them.
//
// Pop() takes emissions for good: a consumer that fails afterwards loses them. Lease() lends them
// until they are acked, and lends them again if they are not; emission.h has the rules.
//
//   for (auto& emission : folder.Pop(100)) Publish(emission.key, emission.state);
//
//   for (auto& lease : folder.Lease(100, 30s, driver.lease_now())) {
//     if (Publish(lease.key, lease.state)) lease.Ack();
//   }
//
// Both may be used on one collection: Pop() passes over emissions that are lent, or that wait for
// their key or behind a dead letter of it.
//
// Buffers save the call of malloc for each emission: an EmissionBuffer for those that are popped, a
// LeaseBuffer for those that are lent.
//
//   pleat::EmissionBuffer<Edits> popped;  // kept for as long as the loop runs
//   for (auto& e : folder.Pop(256, popped)) Publish(e.key, e.state);
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
#include <new>
#include <span>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include <pleat/batch.h>
#include <pleat/detail/export.h>
#include <pleat/detail/view_buffer.h>
#include <pleat/emission.h>
#include <pleat/time.h>
#include <pleat/untyped/any_collection.h>

namespace pleat::inline v0_1 {

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

template <class State>
class EmissionSource;
template <class State>
class LeaseSource;

// A buffer has one block for the emissions and some for the bytes of their keys, and keeps both for
// the next call, which overwrites them. So its memory is that of the largest call so far: for each
// emission some 110 bytes, the state and the key, and 72 bytes more for a lease.
//
// Thread safety: one thread at a time.
// Ownership: the buffer owns the states; move out those that are to stay, and copy keys that are.
// The views that Pop() and Lease() return are good until the buffer is used again, cleared or
// destroyed; also when it was moved. Clearing the buffer ends no lease.
template <class State>
class EmissionBuffer : public ViewBuffer<EmissionView<State>> {
 public:
  // The emissions of the latest Pop().
  std::span<EmissionView<State>> emissions() noexcept { return this->views(); }

 private:
  friend class EmissionSource<State>;

  // Moves the states out of `groups` and destroys what is left there.
  void Add(std::span<const ClosedGroup> groups) {
    EmissionView<State>* view = this->Room(groups.size());
    for (const ClosedGroup& group : groups) {
      State& state = *static_cast<State*>(group.state);
      ::new (view++) EmissionView<State>{group, this->Keep(group.key), std::move(state)};
      state.~State();
    }
    this->Made(groups.size());
  }
};

// As EmissionBuffer, for leases. Pass their tokens to Ack() and its siblings.
template <class State>
class LeaseBuffer : public ViewBuffer<LeasedView<State>> {
 public:
  // The leases of the latest Lease().
  std::span<LeasedView<State>> leases() noexcept { return this->views(); }

 private:
  friend class LeaseSource<State>;

  // Copies the state of `group`.
  void Add(const ClosedGroup& group, const Delivery& delivery) {
    const State& state = *static_cast<const State*>(group.state);
    ::new (this->Room(1)) LeasedView<State>{{group, this->Keep(group.key), state}, delivery};
    this->Made(1);
  }
};

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
  // is lent and letters that were retried earlier, before emissions that never went out. If those
  // wait behind it (LeaseOptions::wait_behind_dead), nothing is lent before it. O(1).
  LeaseOutcome RetryDeadLetter(const LeaseToken& token) noexcept {
    return any_.RetryDeadLetter(token);
  }

  // Drops the letter. What waited behind it goes on. O(1).
  LeaseOutcome DropDeadLetter(const LeaseToken& token) noexcept {
    return any_.DropDeadLetter(token);
  }

  // How many emissions have become dead letters so far, counted from those that a snapshot had. One
  // that is retried and dies again counts again; once the collection is closed, none does. A caller
  // that finds another count than before has letters to look at, whoever told it to look.
  // O(partitions).
  uint64_t deaths() const noexcept { return any_.deaths(); }

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

// Thread safety: any thread may call any method at any time, also on one object.
// Ownership: a handle; copies mean the same collection. When that is closed, or its engine is gone,
// the calls hand out nothing, and answer kClosed.
template <class State>
class EmissionSource : public LeaseSource<State> {
  using Leases = LeaseSource<State>;

 public:
  // Takes up to `max` emissions for good, in closing order over the partitions of `from`: by the
  // instant at which they became final, groups that time closed before those that an event closed,
  // then by input order. Each emission goes to one caller. The partitions are locked meanwhile, and
  // folds that wait for them have their turn before the next such call; so `max` bounds how long a
  // fold waits. A range of one partition is several times cheaper. Nothing due, and nothing waits:
  // no lock at all.
  [[nodiscard]] std::vector<Emission<State>> Pop(size_t max, PartitionRange from = {}) noexcept {
    std::vector<Emission<State>> out;
    any_.Pop(max, from, [&out, max](std::span<const ClosedGroup> groups) {
      // Room for a few hundred at once: moving states on, time and again, costs more.
      if (out.empty()) out.reserve(std::min<size_t>(max, 256));
      for (const ClosedGroup& group : groups) {
        State& state = *static_cast<State*>(group.state);
        out.push_back(Leases::EmissionOf(group, std::move(state)));
        state.~State();
      }
    });
    return out;
  }

  // The same into a vector that the caller keeps, in place of the emissions that it has: no malloc
  // for a key that is not longer than the one whose place it takes. Returns how many there were.
  size_t Pop(size_t max, std::vector<Emission<State>>& out, PartitionRange from = {}) noexcept
    requires std::is_move_assignable_v<State>
  {
    size_t popped = 0;
    any_.Pop(max, from, [&](std::span<const ClosedGroup> groups) {
      for (const ClosedGroup& group : groups) {
        State& state = *static_cast<State*>(group.state);
        if (popped == out.size()) {
          out.push_back(Leases::EmissionOf(group, std::move(state)));
        } else {
          Emission<State>& emission = out[popped];
          static_cast<EmissionInfo&>(emission) = group;
          emission.key.assign(group.key);
          emission.state = std::move(state);
        }
        state.~State();
        ++popped;
      }
    });
    out.erase(out.begin() + static_cast<std::ptrdiff_t>(popped), out.end());
    return popped;
  }

  // The same into a buffer, whose emissions of before go: takes fewer instructions, and over up to
  // 16 partitions allocates nothing once that has grown. Views: good until its next use.
  std::span<EmissionView<State>> Pop(size_t max, EmissionBuffer<State>& buffer,
                                     PartitionRange from = {}) noexcept {
    buffer.Clear();
    any_.Pop(max, from, [&buffer](std::span<const ClosedGroup> groups) { buffer.Add(groups); });
    return buffer.emissions();
  }

  // Pops up to `max` emissions and calls `consume(Emission<State>&&)` with each; no lock is held,
  // so `consume` may call anything. Returns how many there were. If `consume` throws, the emissions
  // after it are lost.
  template <class Consume>
  size_t PopEach(size_t max, Consume&& consume) {
    std::vector<Emission<State>> taken = Pop(max);
    for (Emission<State>& emission : taken) consume(std::move(emission));
    return taken.size();
  }

  // Advance(now), then Pop(max): all that a polling loop does.
  [[nodiscard]] std::vector<Emission<State>> PopExpired(EngineTime now, size_t max) noexcept {
    any_.Advance(now);
    return Pop(max);
  }

 protected:
  explicit EmissionSource(AnyCollection any) noexcept : Leases(std::move(any)) {}

  using Leases::any_;
};

}  // namespace pleat::inline v0_1
