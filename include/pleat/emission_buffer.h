// Buffers are where emissions go without a call of malloc for each: an EmissionBuffer those that
// are popped, a LeaseBuffer those that are lent.
//
//   pleat::EmissionBuffer<Edits> popped;  // kept for as long as the loop runs
//   for (auto& e : folder.Pop(256, popped)) Publish(e.key, e.state);
//
//   pleat::LeaseBuffer<Edits> lent;
//   for (auto& lease : folder.Lease(256, 30s, driver.lease_now(), lent)) {
//     if (Publish(lease.key, lease.state)) folder.Ack(lease.delivery.token);
//   }
//
// A buffer has one block for the emissions and some for the bytes of their keys, and keeps both for
// the next call, which overwrites them. So its memory is that of the largest call so far: for each
// emission some 110 bytes, the state and the key, and 72 bytes more for a lease.
//
// Thread safety: one thread at a time.
// Ownership: the buffer owns the states; move out those that are to stay, and copy keys that are.
// The views that Pop() and Lease() return are good until the buffer is used again, cleared or
// destroyed; also when it was moved. Clearing the buffer ends no lease.
#pragma once

#include <new>
#include <span>
#include <utility>

#include <pleat/any_collection.h>
#include <pleat/detail/view_buffer.h>
#include <pleat/emission.h>

namespace pleat::inline v0_1 {

template <class State>
class EmissionSource;
template <class State>
class LeaseSource;

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

}  // namespace pleat::inline v0_1
