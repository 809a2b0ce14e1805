#include "engine/rollup/forgetter.h"

#include <map>

#include "engine/base/check.h"

namespace pleat::inline v0_1 {
namespace {

// How many released counters one visit looks at that are still held, or not over; and how many it
// forgets.
constexpr size_t kHeldAtOnce = 64;
constexpr size_t kForgottenAtOnce = 1024;

}  // namespace

bool Forgetter::IsOver(uint32_t number) const {
  const CounterTable::Counter& counter = counters_.at(number);
  const bool has_window = counter.start != CounterTable::kNoStart;
  if (has_window) return clock_.IsOver(WindowLists::kLast, windows_.LastOf(counter).end);
  // By the windows of the instances that the checkpoint is from.
  const EngineTime until = store_ == nullptr ? kBeginningOfTime : store_->At(number).until;
  return until == kBeginningOfTime || clock_.IsOver(WindowLists::kLast, until);
}

void Forgetter::ForgetUnlessHeld(uint32_t number) {
  counters_.Change(number);
  if (IsHeld(number)) {
    Release(number);
  } else {
    Forget(number);
  }
}

void Forgetter::ForgetReleased() {
  size_t stay = 0;
  size_t forgotten = 0;
  auto at = released_.lower_bound(released_next_);
  while (at != released_.end() && stay < kHeldAtOnce && forgotten < kForgottenAtOnce) {
    Look(*at++) ? ++forgotten : ++stay;
  }
  released_next_ = at == released_.end() ? 0 : *at;
}

void Forgetter::ForgetAllReleased() {
  for (auto at = released_.begin(); at != released_.end();) Look(*at++);
}

// Looks at a counter that was released. Returns whether it is forgotten.
bool Forgetter::Look(uint32_t number) {
  counters_.Change(number);
  const bool over = IsOver(number);
  if (over && !IsHeld(number)) {
    Forget(number);
    return true;
  }
  // A later window will release the counter again; of one without windows only a look here.
  if (!over && counters_.at(number).start != CounterTable::kNoStart) released_.erase(number);
  return false;
}

void Forgetter::WaitAnew() {
  WindowLists& lists = windows_.lists();
  if (!clock_.forgets()) {
    for (const uint32_t number : released_) counters_.Change(number);
    released_.clear();
    lists.DropAll(WindowLists::kLast);
    return;
  }
  const Windowing& windowing = clock_.windowing();
  std::map<WindowLists::Name, WindowLists::List*> added;
  counters_.ForEach([&](uint32_t number) {
    const CounterTable::Counter& counter = counters_.at(number);
    if (counter.start == CounterTable::kNoStart) {
      if (IsReleased(number)) return;
      counters_.Change(number);
      return Release(number);
    }
    // A calendar may have forgotten the last windows, whose lists come again.
    for (size_t i = windowing.resolutions(); i-- > 0;) {
      windowing.NoteOpened(counter.start, static_cast<uint8_t>(i));
    }
    const WindowLists::Name last = windows_.LastOf(counter);
    auto list = added.find(last);
    if (list == added.end()) {
      // One that is not over is in a list, but in a damaged snapshot.
      if (lists.Has(last) || !clock_.IsOver(WindowLists::kKept, last.end)) return;
      list = added.emplace(last, &lists.Add(WindowLists::kLast, last)).first;
    }
    if (IsReleased(number)) {
      counters_.Change(number);
      released_.erase(number);
    }
    lists.AppendTo(*list->second, number, list->second->size);  // as if they had come in this order
  });
}

void Forgetter::Forget(uint32_t number) {
  const CounterTable::Counter& counter = counters_.ChangeKept(number);
  PLEAT_DCHECK(counter.count == 0);
  for (const uint8_t chain : {uint8_t{0}, uint8_t{1}}) {
    for (uint32_t at = counters_.ChainOf(counter, chain); at != CounterTable::kNone;) {
      const uint32_t next = counters_.window(at).next;
      PLEAT_CHECK(counters_.window(at).is_final);
      windows_.ReleaseKept(at);
      at = next;
    }
  }
  ++ledger_.forgotten;
  released_.erase(number);
  shared_.Forget(number);
  if (store_ != nullptr) store_->Forget(number);
  counters_.Remove(number);
}

}  // namespace pleat::inline v0_1
