// Publications keep, for each counter of a book, the latest known checkpoint of the store, and
// whether windows became final after it. Counters that have to be loaded or published wait in a
// queue.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <set>
#include <unordered_map>
#include <vector>

#include <pleat/stored.h>
#include <pleat/time.h>

#include "engine/base/check.h"
#include "engine/rollup/total.h"

namespace pleat::inline v0_1 {

class Publications {
 public:
  struct State {
    EngineTime until = kBeginningOfTime;  // of the latest checkpoint that we know
    Total amount;                         // of that checkpoint
    Total offered;                        // of the checkpoint that a Publish() offers the store
    bool loaded = false;                  // the store was asked at least once
    bool changed = false;                 // windows after `until` have become final
    bool queued = false;
    bool busy = false;  // a Publish() is asking the store

    bool done() const noexcept { return loaded && !changed; }
    bool idle() const noexcept { return done() && !queued && !busy; }
  };

  // Adds a counter whose checkpoint was not loaded yet.
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

  // `change(state)` changes the state of a counter. The counter waits afterwards, unless it is done
  // or busy.
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
    Occupy(counter);
    return true;
  }
  // The same for the counter that has begun last.
  void TakeBegun(uint32_t counter) {
    PLEAT_CHECK(!queue_.empty() && queue_.back() == counter);
    queue_.pop_back();
    Occupy(counter);
  }
  void Finish(uint32_t counter) {
    State& state = states_.at(counter);
    state.busy = false;
    busy_.erase(counter);
    if (!state.done()) Queue(counter);
  }

  // Writes what is known of a counter's checkpoint. Not that a Publish() asks the store: nobody will
  // hear the answer, so the counter waits after a restart.
  void SaveState(FieldWriter& out, uint32_t counter) const {
    const State& state = At(counter);
    const bool known = state.until > kBeginningOfTime;
    out(state.loaded, known);
    if (!known) return;
    out(state.until);
    state.amount.Save(out);
  }
  // Begins a counter with it. `is_changed(until)`: whether windows after `until` have become final.
  template <class IsChanged>
  void LoadState(FieldReader& in, uint32_t counter, const IsChanged& is_changed) {
    State state;
    bool known = false;
    in(state.loaded, known);
    if (known) {
      in(state.until);
      state.amount.Load(in);
    }
    if (!in.Expect(known ? state.loaded && state.until > kBeginningOfTime : true)) return;
    state.changed = is_changed(state.until);
    undone_ += state.done() ? 0 : 1;
    states_.emplace(counter, state);
  }

  // The counters that would wait if no answer of the store came any more, in order. Those that a
  // Publish() asks about have waited longest. The answer will not come after a restart, so they are
  // the first to be asked about again.
  std::vector<uint32_t> Waiting() const {
    std::vector<uint32_t> waiting;
    for (const uint32_t counter : busy_) {
      if (!At(counter).done()) waiting.push_back(counter);
    }
    waiting.insert(waiting.end(), queue_.begin(), queue_.end());
    return waiting;
  }
  // Appends a counter. Returns false if it has nothing to wait for, or waits already.
  bool LoadQueued(uint32_t counter) {
    const State& state = At(counter);
    if (state.done() || state.queued) return false;
    Queue(counter);
    return true;
  }

  // How many counters are not done, busy ones included.
  size_t undone() const noexcept { return undone_; }
  size_t queued() const noexcept { return queue_.size(); }

 private:
  void Occupy(uint32_t counter) {
    State& state = states_.at(counter);
    state.queued = false;
    state.busy = true;
    busy_.insert(counter);
  }
  void Queue(uint32_t counter) {
    State& state = states_.at(counter);
    if (state.queued) return;
    state.queued = true;
    queue_.push_back(counter);
  }

  std::unordered_map<uint32_t, State> states_;
  std::deque<uint32_t> queue_;
  std::set<uint32_t> busy_;
  size_t undone_ = 0;
};

}  // namespace pleat::inline v0_1
