// EmissionSource: the emissions of a collection, such as a Folder, and how to take them.
//
// Pop() takes emissions for good: a consumer that fails afterwards loses them. Lease() lends them
// until they are acked, and lends them again if they are not; lease_source.h has the calls, and
// lease.h the rules.
//
//   for (auto& emission : folder.Pop(100)) Publish(emission.key, emission.state);
//
//   for (auto& lease : folder.Lease(100, 30s, driver.lease_now())) {
//     if (Publish(lease.key, lease.state)) lease.Ack();
//   }
//
// Both may be used on one collection: Pop() passes over emissions that are lent, or that wait for
// their key.
#pragma once

#include <algorithm>
#include <cstddef>
#include <span>
#include <type_traits>
#include <utility>
#include <vector>

#include <pleat/any_collection.h>
#include <pleat/emission.h>
#include <pleat/emission_buffer.h>
#include <pleat/export.h>
#include <pleat/lease_source.h>
#include <pleat/partition.h>
#include <pleat/time.h>

namespace pleat::inline v0_1 {

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
