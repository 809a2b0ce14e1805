// Windows of a rollup counter by time: frozen, kept for a while, and forgotten.
#include <algorithm>
#include <utility>

#include "engine/base/check.h"
#include "engine/rollup/rollup_book.h"

namespace pleat::inline v0_1 {
namespace {

constexpr uint32_t kLookAhead = 8;
constexpr uint64_t kPositionMask = (uint64_t{1} << 60) - 1;

// How many held counters one visit looks at.
constexpr size_t kReleasedAtOnce = 64;

}  // namespace

// --- Visits

bool RollupBook::CloseDue(const Instant& at, Budget& budget) {
  latest_.Reach(at.now);
  return Visit(at, budget);
}

bool RollupBook::EmitDue(const Instant& at, size_t most) {
  Budget budget(most);  // each look is at a window of its own
  return CloseDue(at, budget) && (closing_ == nullptr || EndNext(budget, at));
}

void RollupBook::VisitAll(const Instant& at) {
  Budget budget;
  Visit(at, budget);
}

EngineTime RollupBook::NextDue() const noexcept {
  EngineTime next =
      std::min({windowing_.ReachedAt(lists_.FirstEnd(WindowLists::kOpen)),
                windowing_.ReachedAt(lists_.FirstEnd(WindowLists::kKept), retention_),
                windowing_.ReachedAt(lists_.FirstEnd(WindowLists::kLast), forget_after_)});
  if (ids_ != nullptr) next = std::min(next, ids_->forgets_all_at());
  // A read without a lock sees that another window is over only after a visit.
  if (!shared_.empty()) {
    next = std::min(next, windowing_.ReachedAt(windowing_.EndOf(windowing_.StartOf(as_of_))));
  }
  return next;
}

// Handles all that is due by the book's time. The frontier has moved with that time already.
bool RollupBook::Visit(const Instant& at, Budget& budget) {
  const bool frozen = TakeDue(WindowLists::kOpen, Duration{0}, budget,
                              [&](const WindowLists::Name& name, const WindowLists::Entry& entry) {
                                Freeze(name, entry, at);
                              });
  if (!frozen) return false;
  as_of_ = AsOf();
  frozen_time_->time.store(as_of_, std::memory_order_release);
  const auto drop = [&](const WindowLists::Name& name, const WindowLists::Entry& entry) {
    DropFrozen(name, entry.counter);
  };
  if (!TakeDue(WindowLists::kKept, retention_, budget, drop)) return false;
  const auto forget = [&](const WindowLists::Name& name, const WindowLists::Entry& entry) {
    if (LastOf(counters_.at(entry.counter)) == name) ForgetUnlessHeld(entry.counter);
  };
  if (!TakeDue(WindowLists::kLast, forget_after_, budget, forget)) return false;
  ForgetReleased();
  ForgetShared();
  return ids_ == nullptr || ids_->Forget(latest_.now(), budget);
}

// The stage after this one, without the stages in which nothing would happen.
WindowLists::Stage RollupBook::StageAfter(WindowLists::Stage stage) const noexcept {
  if (stage == WindowLists::kOpen && retention_ > Duration{0}) return WindowLists::kKept;
  const bool last = forgets() && forget_after_ > Duration{0};
  return stage != WindowLists::kLast && last ? WindowLists::kLast : WindowLists::kStages;
}

bool RollupBook::TakeDue(WindowLists::Stage stage, Duration behind, Budget& budget,
                         TakeEntry take) {
  const WindowLists::Stage after = StageAfter(stage);
  const bool frees = after == WindowLists::kStages;
  const bool saving = counters_.saving();
  while (WindowLists::Lists::value_type* const due = lists_.First(stage)) {
    auto& [name, list] = *due;
    if (latest_.now() < windowing_.ReachedAt(name.end, behind)) return true;
    for (WindowLists::Entry entry; lists_.Next(list, entry);) {
      if (budget.spent()) return false;
      budget.Take();
      if (uint32_t ahead; lists_.Ahead(list, kLookAhead, ahead)) counters_.Prefetch(ahead);
      if (saving) [[unlikely]]
        counters_.Change(entry.counter);
      take(name, entry);
      lists_.Pass(list, frees);
    }
    frees ? lists_.DropFirst(stage) : lists_.MoveFirst(stage, after);
  }
  return true;
}

// --- A window is frozen

void RollupBook::Freeze(const WindowLists::Name& name, const WindowLists::Entry& entry,
                        const Instant& at) {
  Counter& counter = counters_.ChangeKept(entry.counter);
  const EngineTime start = StartOf(name);
  uint32_t number;
  if (name.resolution == 0 && CounterTable::IsInside(counter, start)) {
    number = counters_.NewWindow(entry.counter, 0, start);
    Window& moved = counters_.ChangeKeptWindow(number);
    moved.total = CounterTable::TotalInside(counter);
    if (IsEnded(name.end)) [[unlikely]]
      moved.closed = 1;
    counter.count = 0;
    --inside_;
  } else {
    number = counters_.FindWindow(counter, name.resolution, start);
    PLEAT_CHECK(number != kNone);
  }
  Window& window = counters_.ChangeKeptWindow(number);
  window.total.arrival = entry.arrival & kPositionMask;
  if (!window.closed) {
    if (name.resolution == 0) AddToCoarse(window);
    ++ledger_.frozen;
    HandOut(number, Reason::kFrozen, windowing_.ReachedAt(name.end), OrderOf(name, entry.arrival),
            /*by_event=*/false, at);
  }
  window.frozen = 1;
  DropEvents(number);
  const bool last = forgets() && forget_after_ == Duration{0} && LastOf(counter) == name;
  // With a store, the counter is forgotten only after its value was published.
  const bool forget = last && store_ == nullptr && !IsHeld(entry.counter);
  const bool unpublished =
      store_ != nullptr && name.resolution == 0 && start >= CoveredUpTo(entry.counter);
  if (name.resolution == 0) {
    NoteFrozen(window);
    if (!forget) AddToValue(counter, number);
  }
  if (!forget && (retention_ > Duration{0} || unpublished)) {
    ++kept_;
    if (!window.chained) counters_.Chain(number);
  } else {
    ReleaseWindow(number);
    counters_.TrimAccount(counter);
  }
  if (last) ForgetUnlessHeld(entry.counter);
}

void RollupBook::NoteFrozen(const Window& window) noexcept {
  const auto delta = static_cast<uint64_t>(window.total.whole);
  ledger_.checkpointed += window.total.count;
  ledger_.pending -= window.total.count;
  ledger_.delta_checkpointed += delta;
  ledger_.delta_pending -= delta;
}

// Adds a window to the sum of the frozen windows, unless a checkpoint of the store includes it.
void RollupBook::AddToValue(Counter& counter, uint32_t number) {
  const Window& window = counters_.window(number);
  if (window.chained) {
    Account& account = counters_.AccountOf(counter);
    account.open_count -= window.total.count;
    account.open_sum = static_cast<int64_t>(static_cast<uint64_t>(account.open_sum) -
                                            static_cast<uint64_t>(window.total.whole));
    // Without open windows in the chain, nothing is irregular any more.
    if (account.open_count == 0) {
      account.open_sum = 0;
      account.irregular = false;
    }
  }
  if (window.start < CoveredUpTo(window.counter)) return;
  Total frozen = counters_.FrozenOf(counter);
  AddToSum(window.total, DetailOf(number), frozen);
  counters_.SetFrozen(counter, frozen);
  if (store_ != nullptr) {
    store_->Update(window.counter, [](Publications::State& state) { state.changed = true; });
  }
  WriteShared(window.counter, EndOf(window));
}

// A window of a further resolution is the sum of windows of the first one, which close before it.
void RollupBook::AddToCoarse(const Window& window) {
  const Counter& counter = counters_.at(window.counter);
  for (size_t i = 1; i < windowing_.resolutions(); ++i) {
    const auto resolution = static_cast<uint8_t>(i);
    const uint32_t coarse =
        counters_.FindWindow(counter, resolution, windowing_.StartOf(window.start, resolution));
    PLEAT_CHECK(coarse != kNone && !counters_.window(coarse).closed);
    counters_.ChangeKeptWindow(coarse).total.Merge(window.total);
  }
}

// Removes a window that is not looked up any more; its emission may still wait.
void RollupBook::ReleaseWindow(uint32_t number) {
  if (counters_.window(number).chained) counters_.Unchain(number);
  DropEvents(number);
  details_.erase(number);
  if (!counters_.window(number).ready) counters_.FreeWindow(number);
}

// No event comes any more between those of the window: its total and its clear say all.
void RollupBook::DropEvents(uint32_t window) {
  const auto detail = details_.find(window);
  if (detail == details_.end()) return;
  counters_.ChangeKept(counters_.window(window).counter);
  detail_bytes_ -= detail->second.events.size() * kStampedBytes;
  detail->second.events = {};
}

// --- A window ends before it is frozen

EngineTime RollupBook::LastOpenEnd(const Instant& at) {
  latest_.Reach(at.now);
  VisitAll(at);
  return lists_.open().empty() ? kBeginningOfTime : lists_.open().rbegin()->first.end;
}

void RollupBook::BeginClosing(EngineTime floor, const Instant& at) {
  latest_.Reach(at.now);
  const uint64_t order = latest_.NextPosition(at.position);
  VisitAll(at);
  floor_ = std::max(floor_, floor);
  closing_ = std::make_unique<Closing>(Closing{order, lists_.open().begin(), {}});
}

// Ends the next windows. Returns whether those were all.
bool RollupBook::EndNext(Budget& budget, const Instant& at) {
  auto& [order, list, rest] = *closing_;
  for (; list != lists_.open().end(); ++list) {
    const WindowLists::Name name = list->first;
    PLEAT_CHECK(IsEnded(name.end));
    if (!std::exchange(list->second.ended, true)) {
      rest = WindowLists::RestOf(WindowLists::kOpen, *list, /*frees=*/true);
    }
    for (; rest.left > 0; budget.Take()) {
      if (budget.spent()) return false;
      lists_.Take(rest, 1, [&](const WindowLists::Entry& entry) { End(name, entry, at); });
    }
  }
  return true;
}

void RollupBook::FinishClosing(const Instant& at) {
  Budget budget;
  if (closing_ != nullptr) EndNext(budget, at);
  closing_ = nullptr;
}

void RollupBook::End(const WindowLists::Name& name, const WindowLists::Entry& entry,
                     const Instant& at) {
  counters_.Change(entry.counter);
  const EngineTime start = StartOf(name);
  const bool inside =
      name.resolution == 0 && CounterTable::IsInside(counters_.at(entry.counter), start);
  const uint32_t number =
      inside ? CopyOfInside(entry.counter)
             : counters_.FindWindow(counters_.at(entry.counter), name.resolution, start);
  PLEAT_CHECK(number != kNone);
  Window& window = counters_.ChangeKeptWindow(number);
  window.total.arrival = entry.arrival & kPositionMask;
  if (name.resolution == 0) AddToCoarse(window);
  ++ledger_.ended;
  HandOut(number, Reason::kEnd, latest_.now(), closing_->order, /*by_event=*/true, at);
}

// For the emission of the window inside, which stays where it is until it is frozen: so what has
// ended takes no more memory than before. A correction names the emission of its window, and finds
// it by the window outside.
uint32_t RollupBook::CopyOfInside(uint32_t counter) {
  if (on_late_ == OnLateAdd::kCorrect) {
    MoveOut(counter);
    const uint32_t moved = counters_.ChainOf(counters_.at(counter), 0);
    counters_.ChangeKeptWindow(moved).closed = 0;  // not yet
    return moved;
  }
  const Counter& of = counters_.at(counter);
  const Total total = CounterTable::TotalInside(of);
  const uint32_t copy = counters_.NewWindow(counter, 0, of.start);
  Window& window = counters_.ChangeKeptWindow(copy);
  window.total = total;
  window.frozen = 1;  // it is no window of the counter's
  return copy;
}

// --- Into the outbox

void RollupBook::HandOut(uint32_t number, Reason reason, EngineTime ripe, uint64_t order,
                         bool by_event, const Instant& at) {
  Window& window = counters_.ChangeKeptWindow(number);
  PLEAT_CHECK(!window.closed && ripe <= latest_.now());
  ++emissions_[IndexOf(reason)];
  if (!window.correction) {
    --ledger_.open;
    windows_closed_ += window.resolution == 0;
  }
  window.closed = 1;
  window.ready = 1;
  window.generation = outbox_.next_generation() & ((uint64_t{1} << 56) - 1);
  outbox_.Push({.ripe = ripe,
                .order = order,
                .generation = 0,
                .entry = number,
                .by_event = by_event,
                .tag = static_cast<uint8_t>(reason)},
               at);
}

OutboxEntries::HashedKey RollupBook::KeyOf(uint32_t entry) const noexcept {
  const Counter& counter = counters_.at(counters_.window(entry).counter);
  return {counter.key, counter.hash};
}

OutboxEntries::Rank RollupBook::RankOf(uint32_t entry) const noexcept {
  const Window& window = counters_.window(entry);
  const WindowLists::Name name{EndOf(window), static_cast<uint8_t>(window.resolution)};
  return {name.end, OrderOf(name, window.total.arrival)};
}

ClosedGroup RollupBook::Show(const Ready& ready) const noexcept {
  const Window& window = counters_.window(ready.entry);
  CountedWindow& state = shown_[next_shown_++ % kGivenMax];
  state = {.start = window.start, .end = EndOf(window), .amount = window.total.amount()};
  ClosedGroup shown;
  shown.count = window.total.count;
  shown.first = state.start;
  shown.last = state.end;
  shown.key = counters_.at(window.counter).key.view();
  shown.state = &state;
  shown.closed = ready.ripe;
  shown.reason = static_cast<Reason>(ready.tag);
  shown.id = {.partition = partition_, .generation = ready.generation};
  if (!window.correction) return shown;
  if (const auto found = corrects_.find(ready.entry); found != corrects_.end()) {
    shown.corrects = EmissionId{partition_, found->second};
  }
  return shown;
}

void RollupBook::Free(uint32_t entry) noexcept {
  Window& window = counters_.ChangeWindow(entry);
  window.ready = 0;
  if (window.correction) corrects_.erase(entry);
  if (!window.chained) counters_.FreeWindow(entry);
}

// --- Windows and counters that are over

void RollupBook::DropFrozen(const WindowLists::Name& name, uint32_t counter) {
  const EngineTime start = StartOf(name);
  const uint32_t number = counters_.FindWindow(counters_.at(counter), name.resolution, start);
  if (store_ != nullptr && name.resolution == 0) {
    // A window that the store lacks is kept until the store has it, and dropped then: this one may
    // be gone.
    if (number == kNone || start >= CoveredUpTo(counter)) return;
  }
  PLEAT_CHECK(number != kNone && counters_.window(number).frozen);
  --kept_;
  ReleaseWindow(number);
  counters_.TrimAccount(counters_.ChangeKept(counter));
}

// The list of the counter's last window to end.
WindowLists::Name RollupBook::LastOf(const Counter& counter) const noexcept {
  WindowLists::Name last{windowing_.EndOf(counter.start), 0};
  for (size_t i = 1; i < windowing_.resolutions(); ++i) {
    const auto resolution = static_cast<uint8_t>(i);
    const EngineTime start = windowing_.StartOf(counter.start, resolution);
    last = std::max(last, WindowLists::Name{windowing_.EndOf(start, resolution), resolution});
  }
  return last;
}

// Whether the counter is due to be forgotten, unless it is held. REQUIRES: forgets().
bool RollupBook::IsOver(uint32_t number) const {
  const Counter& counter = counters_.at(number);
  if (counter.start == CounterTable::kNoStart) return true;
  return latest_.now() >= windowing_.ReachedAt(LastOf(counter).end, forget_after_);
}

bool RollupBook::IsHeld(uint32_t number) const {
  if (store_ != nullptr && !store_->At(number).idle()) return true;
  const auto shared = shared_.find(number);
  return shared != shared_.end() && shared->second.use_count() > 1;
}

void RollupBook::ForgetUnlessHeld(uint32_t number) {
  counters_.Change(number);
  if (IsHeld(number)) {
    released_.insert(number);
  } else {
    Forget(number);
  }
}

// Forgets some of the counters that were held when they were due.
void RollupBook::ForgetReleased() {
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

// Drops the counts without a CounterRef. Looks at all of them once in as many visits as there are
// counts.
void RollupBook::ForgetShared() {
  if (++visits_ <= shared_.size()) return;
  visits_ = 0;
  std::erase_if(shared_, [](const auto& each) { return each.second.use_count() == 1; });
}

void RollupBook::Forget(uint32_t number) {
  const Counter& counter = counters_.ChangeKept(number);
  PLEAT_DCHECK(counter.count == 0);
  for (const uint8_t chain : {uint8_t{0}, uint8_t{1}}) {
    for (uint32_t at = counters_.ChainOf(counter, chain); at != kNone;) {
      const uint32_t next = counters_.window(at).next;
      PLEAT_CHECK(counters_.window(at).frozen);
      --kept_;
      ReleaseWindow(at);
      at = next;
    }
  }
  ++ledger_.forgotten;
  released_.erase(number);
  shared_.erase(number);
  if (store_ != nullptr) store_->Forget(number);
  counters_.Remove(number);
}

}  // namespace pleat::inline v0_1
