#include "engine/rollup/window_closer.h"

#include <algorithm>
#include <utility>

#include "engine/base/check.h"

namespace pleat::inline v0_1 {
namespace {

constexpr uint32_t kLookAhead = 8;
constexpr uint64_t kPositionMask = (uint64_t{1} << 60) - 1;

}  // namespace

WindowCloser::WindowCloser(const RollupOptions& options, const Parts& parts)
    : has_store_(options.store != nullptr),
      corrects_(options.on_late == OnLateAdd::kCorrect),
      clock_(parts.clock),
      windows_(parts.windows),
      counters_(parts.windows.counters()),
      lists_(parts.windows.lists()),
      ids_(parts.ids),
      shared_(parts.shared),
      values_(parts.values),
      forgetter_(parts.forgetter),
      emitter_(parts.emitter),
      ledger_(parts.ledger) {}

// --- Visits

EngineTime WindowCloser::NextDue() const noexcept {
  EngineTime next = kNever;
  for (const auto stage : {WindowLists::kOpen, WindowLists::kKept, WindowLists::kLast}) {
    next = std::min(next, clock_.OverAt(stage, lists_.FirstEnd(stage)));
  }
  if (ids_.get() != nullptr) next = std::min(next, ids_.get()->forgets_all_at());
  // A read without a lock sees that another window is over only after a visit, and what was released is
  // forgotten in one.
  if (!shared_.empty() || forgetter_.has_released()) {
    const Windowing& windowing = clock_.windowing();
    const EngineTime start = windowing.StartOf(clock_.final_up_to());
    next = std::min(next, windowing.ReachedAt(windowing.EndOf(start)));
  }
  return next;
}

bool WindowCloser::Visit(const Instant& at, Budget& budget) {
  const auto finalize = [&](const WindowLists::Name& name, const WindowLists::Entry& entry) {
    Finalize(name, entry, at);
  };
  if (!TakeDue(WindowLists::kOpen, budget, finalize)) return false;
  clock_.NoteFinal();
  shared_.Reach(clock_.final_up_to());
  const auto drop = [&](const WindowLists::Name& name, const WindowLists::Entry& entry) {
    DropFinal(name, entry.counter);
  };
  if (!TakeDue(WindowLists::kKept, budget, drop)) return false;
  const auto forget = [&](const WindowLists::Name& name, const WindowLists::Entry& entry) {
    if (windows_.LastOf(counters_.at(entry.counter)) == name) {
      forgetter_.ForgetUnlessHeld(entry.counter);
    }
  };
  if (!TakeDue(WindowLists::kLast, budget, forget)) return false;
  forgetter_.ForgetReleased();
  shared_.ForgetUnheld();
  if (values_.AllPublished()) clock_.ForgetWindows();  // or else windows are kept that are over
  return ids_.get() == nullptr || ids_.get()->Forget(clock_.now(), budget);
}

bool WindowCloser::TakeDue(WindowLists::Stage stage, Budget& budget, TakeEntry take) {
  const WindowLists::Stage after = clock_.StageAfter(stage);
  const bool frees = after == WindowLists::kStages;
  const bool saving = counters_.saving();
  while (WindowLists::Lists::value_type* const due = lists_.First(stage)) {
    auto& [name, list] = *due;
    if (!clock_.IsOver(stage, name.end)) return true;
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

// --- A window is final

void WindowCloser::Finalize(const WindowLists::Name& name, const WindowLists::Entry& entry,
                            const Instant& at) {
  Counter& counter = counters_.ChangeKept(entry.counter);
  const EngineTime start = windows_.StartOf(name);
  const bool inside = name.resolution == 0 && CounterTable::IsInside(counter, start);
  const uint32_t number = inside ? windows_.TakeOut(entry.counter, name.end)
                                 : counters_.FindWindow(counter, name.resolution, start);
  PLEAT_CHECK(number != kNone);
  Window& window = counters_.ChangeKeptWindow(number);
  window.total.arrival = entry.arrival & kPositionMask;
  if (!window.closed) {
    if (name.resolution == 0) windows_.AddToCoarse(window);
    ++ledger_.made_final;
    emitter_.HandOut(number, Reason::kFinal, clock_.OverAt(WindowLists::kOpen, name.end),
                     WindowEmitter::OrderOf(name, entry.arrival), /*by_event=*/false, at);
  }
  window.is_final = 1;
  windows_.DropEvents(number);
  const bool last = clock_.forgets_at_once() && windows_.LastOf(counter) == name;
  // With a store, the counter is forgotten only after its value was published.
  const bool forget = last && !has_store_ && !forgetter_.IsHeld(entry.counter);
  const bool unpublished = name.resolution == 0 && values_.IsUnpublished(entry.counter, start);
  if (name.resolution == 0) {
    ledger_.NoteFinal(window.total);
    if (!forget) values_.AddFinal(counter, number);
  }
  if (!forget && (clock_.retains() || unpublished)) {
    windows_.Keep(number);
  } else {
    windows_.Release(number);
    counters_.TrimAccount(counter);
  }
  if (last) forgetter_.ForgetUnlessHeld(entry.counter);
}

void WindowCloser::DropFinal(const WindowLists::Name& name, uint32_t counter) {
  const EngineTime start = windows_.StartOf(name);
  const uint32_t number = counters_.FindWindow(counters_.at(counter), name.resolution, start);
  if (has_store_ && name.resolution == 0) {
    // A window that the store lacks is kept until the store has it, and dropped then: this one may
    // be gone.
    if (number == kNone || values_.IsUnpublished(counter, start)) return;
  }
  PLEAT_CHECK(number != kNone && counters_.window(number).is_final);
  windows_.ReleaseKept(number);
  counters_.TrimAccount(counters_.ChangeKept(counter));
}

// --- A window ends before it is final

void WindowCloser::BeginClosing(EngineTime floor, const Instant& at) {
  const uint64_t order = clock_.NextPosition(at.position);
  VisitAll(at);
  clock_.EndBefore(floor);
  closing_ = std::make_unique<Closing>(Closing{order, lists_.open().begin(), {}});
}

bool WindowCloser::EndSome(Budget& budget, const Instant& at) {
  auto& [order, list, rest] = *closing_;
  for (; list != lists_.open().end(); ++list) {
    const WindowLists::Name name = list->first;
    PLEAT_CHECK(clock_.IsEnded(name.end));
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

void WindowCloser::End(const WindowLists::Name& name, const WindowLists::Entry& entry,
                       const Instant& at) {
  counters_.Change(entry.counter);
  const EngineTime start = windows_.StartOf(name);
  const bool inside =
      name.resolution == 0 && CounterTable::IsInside(counters_.at(entry.counter), start);
  const uint32_t number =
      inside ? CopyOfInside(entry.counter)
             : counters_.FindWindow(counters_.at(entry.counter), name.resolution, start);
  PLEAT_CHECK(number != kNone);
  Window& window = counters_.ChangeKeptWindow(number);
  window.total.arrival = entry.arrival & kPositionMask;
  if (name.resolution == 0) windows_.AddToCoarse(window);
  ++ledger_.ended;
  emitter_.HandOut(number, Reason::kEnd, clock_.now(), closing_->order, /*by_event=*/true, at);
}

// For the emission of the window inside, which stays where it is until it is final: so what has
// ended takes no more memory than before. A correction names the emission of its window, and finds
// it by the window outside.
uint32_t WindowCloser::CopyOfInside(uint32_t counter) {
  if (corrects_) {
    const uint32_t moved = windows_.MoveOut(counter);
    counters_.ChangeKeptWindow(moved).closed = 0;  // not yet
    return moved;
  }
  const Counter& of = counters_.at(counter);
  const Total total = CounterTable::TotalInside(of);
  const uint32_t copy = counters_.NewWindow(counter, 0, of.start);
  Window& window = counters_.ChangeKeptWindow(copy);
  window.total = total;
  window.is_final = 1;  // it is no window of the counter's
  return copy;
}

}  // namespace pleat::inline v0_1
