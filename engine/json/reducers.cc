#include "engine/json/reducers.h"

#include <charconv>
#include <cstring>
#include <type_traits>

#include "engine/base/check.h"
#include "engine/json/element_set.h"
#include "engine/json/small_text.h"
#include "engine/json/sums.h"

namespace pleat::inline v0 {
namespace {

struct CountState {
  uint64_t count;
};

struct SumState {
  Sum sum;
};

struct MeanState {
  Sum sum;
  uint64_t count;
};

struct ExtremeState {  // min, max
  SmallText text;
  double real;
};

struct StampedState {  // first, last
  SmallText text;
  int64_t at;
};

struct SetState {  // set, keys
  ElementSet set;
};

// What reducers.h says about zeros and bytes.
template <class State>
constexpr bool kPlainData =
    std::is_trivially_copyable_v<State> && sizeof(State) % 8 == 0 && alignof(State) <= 8;
static_assert(kPlainData<CountState> && kPlainData<SumState> && kPlainData<MeanState>);
static_assert(kPlainData<ExtremeState> && kPlainData<StampedState> && kPlainData<SetState>);

template <class State>
State& As(void* state) noexcept {
  return *static_cast<State*>(state);
}

template <class State>
const State& As(const void* state) noexcept {
  return *static_cast<const State*>(state);
}

size_t Assign(SmallText& text, std::string_view value) noexcept {
  const size_t before = text.heap_bytes();
  text.Assign(value);
  return text.heap_bytes() - before;
}

// The order of two numbers is mostly that of their doubles; only equal doubles need a closer look.
int Order(const Operand& operand, const ExtremeState& state) noexcept {
  if (operand.number.real != state.real) return operand.number.real < state.real ? -1 : 1;
  return CompareNumbers(operand.text, state.text.view());
}

// `direction` is the sign of Order() for which the operand is the better one.
size_t FoldExtreme(ExtremeState& state, const Operand& operand, int direction) noexcept {
  if (!state.text.empty() && Order(operand, state) * direction <= 0) return 0;
  state.real = operand.number.real;
  return Assign(state.text, operand.text);
}

size_t FoldStamped(StampedState& state, const Operand& operand, EngineTime at, bool last) noexcept {
  const int64_t stamp = at.time_since_epoch().count();
  const bool better = last ? stamp >= state.at : stamp < state.at;
  if (!state.text.empty() && !better) return 0;
  state.at = stamp;
  return Assign(state.text, operand.text);
}

size_t FoldSet(ElementSet& set, const Operand& operand, const FoldEvent& event) {
  const size_t before = set.heap_bytes();
  if (!operand.text.empty()) set.Add(operand.text);
  const std::string_view* const first = event.elements + operand.first_element;
  for (uint32_t i = 0; i < operand.elements; ++i) set.Add(first[i]);
  return set.heap_bytes() - before;
}

template <class T>
void AppendNumber(T value, LineWriter& out) {
  constexpr size_t kDigitsMax = 32;
  char* const digits = out.Reserve(kDigitsMax);
  const auto [end, error] = std::to_chars(digits, digits + kDigitsMax, value);
  PLEAT_CHECK(error == std::errc());
  out.TakeUpTo(end);
}

void AppendTextOrNull(const SmallText& text, LineWriter& out) {
  out.Put(text.empty() ? std::string_view("null") : text.view());
}

bool AppendSum(const Sum& sum, LineWriter& out) {
  if (sum.empty()) return out.Put("null"), true;
  const Sum::Result total = sum.Total();
  total.integer ? AppendNumber(total.whole, out) : AppendNumber(total.real, out);
  return !total.saturated;
}

bool AppendMean(const MeanState& mean, LineWriter& out) {
  if (mean.count == 0) return out.Put("null"), true;
  const Sum::Result total = mean.sum.Total();
  AppendNumber(total.real / static_cast<double>(mean.count), out);
  return !total.saturated;
}

}  // namespace

uint32_t StateSize(Reducer reducer) noexcept {
  switch (reducer) {
    case Reducer::kKeys:
    case Reducer::kDistinct:
    case Reducer::kArray:
    case Reducer::kConcat:
    case Reducer::kSet: return sizeof(SetState);
    case Reducer::kSum: return sizeof(SumState);
    case Reducer::kMean: return sizeof(MeanState);
    case Reducer::kMin:
    case Reducer::kMax: return sizeof(ExtremeState);
    case Reducer::kCount: return sizeof(CountState);
    case Reducer::kFirst:
    case Reducer::kLast: return sizeof(StampedState);
  }
  return 0;
}

bool StateGrows(Reducer reducer) noexcept {
  return reducer != Reducer::kSum && reducer != Reducer::kMean && reducer != Reducer::kCount;
}

size_t FoldState(Reducer reducer, void* state, const Operand& operand, const FoldEvent& event) {
  switch (reducer) {
    case Reducer::kKeys:
    case Reducer::kDistinct:
    case Reducer::kArray:
    case Reducer::kConcat:
    case Reducer::kSet: return FoldSet(As<SetState>(state).set, operand, event);
    case Reducer::kSum: return As<SumState>(state).sum.Add(operand.number), 0;
    case Reducer::kMean:
      ++As<MeanState>(state).count;
      return As<MeanState>(state).sum.Add(operand.number), 0;
    case Reducer::kMin: return FoldExtreme(As<ExtremeState>(state), operand, -1);
    case Reducer::kMax: return FoldExtreme(As<ExtremeState>(state), operand, 1);
    case Reducer::kCount: return ++As<CountState>(state).count, 0;
    case Reducer::kFirst: return FoldStamped(As<StampedState>(state), operand, event.at, false);
    case Reducer::kLast: return FoldStamped(As<StampedState>(state), operand, event.at, true);
  }
  return 0;
}

void DestroyState(Reducer reducer, void* state) noexcept {
  switch (reducer) {
    case Reducer::kKeys:
    case Reducer::kDistinct:
    case Reducer::kArray:
    case Reducer::kConcat:
    case Reducer::kSet: As<SetState>(state).set.Clear(); break;
    case Reducer::kMin:
    case Reducer::kMax: As<ExtremeState>(state).text.Clear(); break;
    case Reducer::kFirst:
    case Reducer::kLast: As<StampedState>(state).text.Clear(); break;
    case Reducer::kSum:
    case Reducer::kMean:
    case Reducer::kCount: break;
  }
}

bool AppendState(Reducer reducer, const void* state, LineWriter& out) {
  switch (reducer) {
    case Reducer::kKeys:
    case Reducer::kDistinct:
    case Reducer::kArray:
    case Reducer::kConcat:
    case Reducer::kSet:
      out.Put('[');
      As<SetState>(state).set.AppendTo(out);
      out.Put(']');
      return true;
    case Reducer::kSum: return AppendSum(As<SumState>(state).sum, out);
    case Reducer::kMean: return AppendMean(As<MeanState>(state), out);
    case Reducer::kMin:
    case Reducer::kMax: return AppendTextOrNull(As<ExtremeState>(state).text, out), true;
    case Reducer::kCount: return AppendNumber(As<CountState>(state).count, out), true;
    case Reducer::kFirst:
    case Reducer::kLast: return AppendTextOrNull(As<StampedState>(state).text, out), true;
  }
  return true;
}

}  // namespace pleat::inline v0
