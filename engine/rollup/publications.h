// Publications remember, for each counter of a book, what the store has: up to when its checkpoint
// reaches, what that comes to, and whether we have more. Counters that have to be brought into line
// with the store wait in a queue.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <unordered_map>

#include <pleat/time.h>

#include "engine/base/check.h"
#include "engine/rollup/total.h"

namespace pleat::inline v0_1 {

class Publications {
 public:
  struct State {
    EngineTime until = kBeginningOfTime;  // of the latest checkpoint that we know
    Total amount;                         // what it comes to
    bool loaded = false;                  // the store was asked at least once
    bool changed = false;                 // windows behind `until` have been frozen
    bool queued = false;
    bool busy = false;  // somebody asks the store

    bool done() const noexcept { return loaded && !changed; }
    bool idle() const noexcept { return done() && !queued && !busy; }
  };

  // A counter that the store was not asked about yet.
  void Begin(uint32_t counter) {
    states_.try_emplace(counter);
    ++undone_;
    Queue(counter);
  }
  void Forget(uint32_t counter) noexcept {
    PLEAT_CHECK(At(counter).idle());
    states_.erase(counter);
  }

  // REQUIRES: Begin() was called.
  const State& At(uint32_t counter) const { return states_.at(counter); }

  // `change(state)` changes the state of a counter, which waits afterwards if there is more to do
  // and nobody is about it.
  template <class Change>
  void Update(uint32_t counter, const Change& change) {
    State& state = states_.at(counter);
    undone_ -= state.done() ? 0 : 1;
    change(state);
    if (state.done()) return;
    ++undone_;
    if (!state.busy) Queue(counter);
  }

  // Takes the counter that has waited longest, until Finish(). Returns false if none waits.
  bool Next(uint32_t& counter) {
    if (queue_.empty()) return false;
    counter = queue_.front();
    queue_.pop_front();
    State& state = states_.at(counter);
    state.queued = false;
    state.busy = true;
    return true;
  }
  void Finish(uint32_t counter) {
    State& state = states_.at(counter);
    state.busy = false;
    if (!state.done()) Queue(counter);
  }

  // How many counters are not in line with the store, those included that somebody is about.
  size_t undone() const noexcept { return undone_; }
  size_t queued() const noexcept { return queue_.size(); }

 private:
  void Queue(uint32_t counter) {
    State& state = states_.at(counter);
    if (state.queued) return;
    state.queued = true;
    queue_.push_back(counter);
  }

  std::unordered_map<uint32_t, State> states_;
  std::deque<uint32_t> queue_;
  size_t undone_ = 0;
};

}  // namespace pleat::inline v0_1
