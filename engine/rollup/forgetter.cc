#include "engine/rollup/forgetter.h"

#include <vector>

#include "engine/base/check.h"

namespace pleat::inline v0_1 {
namespace {

// How many held counters one visit looks at.
constexpr size_t kReleasedAtOnce = 64;

}  // namespace

bool Forgetter::IsOver(uint32_t number) const {
  const CounterTable::Counter& counter = counters_.at(number);
  return counter.start == CounterTable::kNoStart ||
         clock_.IsOver(WindowLists::kLast, windows_.LastOf(counter).end);
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
  std::vector<uint32_t> some;
  for (auto at = released_.lower_bound(released_next_);
       at != released_.end() && some.size() < kReleasedAtOnce; ++at) {
    some.push_back(*at);
  }
  released_next_ = some.size() < kReleasedAtOnce ? 0 : some.back() + 1;
  for (const uint32_t number : some) {
    counters_.Change(number);
    if (!IsOver(number)) {
      released_.erase(number);  // a later window will release the counter again
    } else if (!IsHeld(number)) {
      Forget(number);
    }
  }
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
