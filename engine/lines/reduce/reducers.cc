#include "engine/lines/reduce/reducers.h"

#include <algorithm>
#include <cstring>
#include <type_traits>

#include "engine/base/check.h"
#include "engine/lines/reduce/element_set.h"
#include "engine/lines/reduce/rounded_counts.h"
#include "engine/lines/reduce/small_text.h"
#include "engine/lines/reduce/stamped_text.h"
#include "engine/lines/reduce/sums.h"
#include "engine/lines/reduce/top_counts.h"
#include "engine/lines/reduce/wide_integer.h"
#include "engine/lines/scan/normal.h"
#include "engine/lines/scan/text.h"

namespace pleat::inline v0_1 {
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

using StampedState = StampedText;  // first, last

using PercentileState = RoundedCounts;  // p50, p90 and so on

using TopState = TopCounts;

using SetState = ElementSet;  // set, keys, distinct, array

struct DurationState {
  int64_t first;
  int64_t last;
  uint64_t any;  // 1 once an event came
};

struct ConcatState {
  ElementSet texts;  // without their quotes
  uint64_t bytes;    // of the result, unescaped
};

// A state may begin as zeros, and be moved as bytes.
template <class State>
constexpr bool kPlainData =
    std::is_trivially_copyable_v<State> && sizeof(State) % 8 == 0 && alignof(State) <= 8;
static_assert(kPlainData<CountState> && kPlainData<SumState> && kPlainData<MeanState>);
static_assert(kPlainData<ExtremeState> && kPlainData<StampedState> && kPlainData<SetState>);
static_assert(kPlainData<ConcatState> && kPlainData<DurationState>);
static_assert(kPlainData<PercentileState> && kPlainData<TopState>);

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
int Order(const EventValue& value, const ExtremeState& state) noexcept {
  if (value.number.real != state.real) return value.number.real < state.real ? -1 : 1;
  return CompareNumbers(value.text, state.text.view());
}

// `direction` is the sign of Order() for which the value is the better one.
size_t FoldExtreme(ExtremeState& state, const EventValue& value, int direction) noexcept {
  if (!state.text.empty() && Order(value, state) * direction <= 0) return 0;
  state.real = value.number.real;
  return Assign(state.text, value.text);
}

// `add` is how an element is added to the set.
template <class Elements, class Add>
size_t FoldElements(Elements& set, const EventValue& value, const LineEvent& event, Add add) {
  const size_t before = set.heap_bytes();
  if (!value.text.empty()) add(value.text);
  const std::string_view* const first = event.elements + value.first_element;
  for (uint32_t i = 0; i < value.elements; ++i) add(first[i]);
  return set.heap_bytes() - before;
}

size_t FoldSet(ElementSet& set, uint64_t bound, const EventValue& value, const LineEvent& event) {
  if (value.odd) [[unlikely]]
    return FoldElements(set, value, event, [&](std::string_view each) {
      IsNormalElement(each) ? set.Add(each, bound) : set.AddOdd(each, bound);
    });
  const bool one = value.elements == 0 && !value.text.empty();
  if (one && set.AddInPlace(value.text, bound)) return 0;
  return FoldElements(set, value, event, [&](std::string_view each) { set.Add(each, bound); });
}

size_t FoldArray(ElementSet& set, uint64_t bound, const EventValue& value, const LineEvent& event) {
  return FoldElements(set, value, event, [&](std::string_view each) { set.Push(each, bound); });
}

size_t FoldTop(TopState& state, uint64_t bound, const EventValue& value, const LineEvent& event) {
  const uint64_t kept = TopCounts::KeptFor(bound);
  return FoldElements(state, value, event,
                      [&](std::string_view each) { state.Add(each, kept, value.odd); });
}

size_t FoldConcat(ConcatState& state, const MergeRule& rule, const EventValue& value) {
  ElementSet& texts = state.texts;
  if (texts.cut()) return 0;
  const uint64_t more = value.bytes + (texts.empty() ? 0 : rule.separator_bytes);
  if (more > rule.bound - state.bytes) return texts.Cut(), 0;
  if (more == 0 && !texts.empty()) return 0;  // empty texts with nothing between them
  state.bytes += more;
  const size_t before = texts.heap_bytes();
  texts.Push(value.text);
  return texts.heap_bytes() - before;
}

void FoldDuration(DurationState& state, EngineTime at) noexcept {
  const int64_t stamp = at.time_since_epoch().count();
  state.first = state.any == 0 ? stamp : std::min(state.first, stamp);
  state.last = state.any == 0 ? stamp : std::max(state.last, stamp);
  state.any = 1;
}

void AppendTextOrNull(const SmallText& text, LineWriter& out) {
  out.Put(text.empty() ? std::string_view("null") : text.view());
}

Caveats AppendSum(const Sum& sum, LineWriter& out) {
  if (sum.empty()) return out.Put("null"), Caveats{};
  const Sum::Result total = sum.Total();
  total.integer ? AppendWide(total.whole, out) : AppendNumber(total.real, out);
  return {.saturated = total.saturated};
}

Caveats AppendMean(const MeanState& mean, LineWriter& out) {
  if (mean.count == 0) return out.Put("null"), Caveats{};
  const Sum::Result total = mean.sum.Total();
  if (total.integer) return AppendMeanOf(total.whole, mean.count, out), Caveats{};
  AppendNumber(total.real / static_cast<double>(mean.count), out);
  return {.saturated = total.saturated};
}

Caveats AppendElements(const ElementSet& set, LineWriter& out) {
  out.Put('[');
  set.AppendTo(out);
  out.Put(']');
  return {.cut = set.cut()};
}

Caveats AppendTop(const TopState& state, uint64_t bound, LineWriter& out) {
  out.Put('[');
  state.AppendTo(bound, out);
  out.Put(']');
  return {.cut = state.cut()};
}

Caveats AppendConcat(const ElementSet& texts, std::string_view separator, LineWriter& out) {
  if (texts.empty() && !texts.cut()) return out.Put("null"), Caveats{};
  out.Put('"');
  texts.AppendTo(out, separator);
  out.Put('"');
  return {.cut = texts.cut()};
}

// Conditions compare numbers and strings by what they stand for. Of other values the text counts.
bool CanBeCompared(std::string_view value) noexcept {
  if (value.starts_with('"')) {
    return value.size() >= 2 && value.ends_with('"') &&
           HasOneByteEscapes(value.substr(1, value.size() - 2));
  }
  const bool is_number = value.starts_with('-') || (value[0] >= '0' && value[0] <= '9');
  return !is_number || IsNumber(value);
}

// In seconds, with as many decimals as it takes.
void AppendDuration(const DurationState& state, LineWriter& out) {
  if (state.any == 0) return out.Put("null");
  constexpr int64_t kMicrosPerSecond = 1'000'000;
  const int64_t micros = state.last - state.first;
  AppendNumber(micros / kMicrosPerSecond, out);
  std::string decimals = std::to_string(kMicrosPerSecond + micros % kMicrosPerSecond);
  decimals.front() = '.';
  decimals.erase(decimals.find_last_not_of('0') + 1);
  if (decimals.size() > 1) out.Put(decimals);
}

// Of a percentile: how many thousandths of the numbers it is to reach. 0: of no percentile.
uint64_t ThousandthsOf(Reducer reducer) noexcept {
  switch (reducer) {
    case Reducer::kP50: return 500;
    case Reducer::kP90: return 900;
    case Reducer::kP95: return 950;
    case Reducer::kP99: return 990;
    case Reducer::kP999: return 999;
    default: return 0;
  }
}

size_t FoldRounded(PercentileState& state, const EventValue& value) {
  const size_t before = state.heap_bytes();
  state.Add(static_cast<int32_t>(value.number.whole));
  return state.heap_bytes() - before;
}

Caveats AppendPercentile(const PercentileState& state, Reducer reducer, LineWriter& out) {
  if (state.empty()) return out.Put("null"), Caveats{};
  AppendRounded(state.Percentile(ThousandthsOf(reducer)), out);
  return {.cut = state.cut()};
}

size_t LoadMean(MeanState& mean, FieldReader& in) {
  mean.sum.Load(in);
  in(mean.count);
  in.Expect((mean.count == 0) == mean.sum.empty());
  return 0;
}

size_t LoadExtreme(ExtremeState& state, FieldReader& in) {
  state.text.Load(in);
  if (!state.text.empty() && in.Expect(IsNumber(state.text.view()))) {
    state.real = ReadNumber(state.text.view()).real;
  }
  return state.text.heap_bytes();
}

size_t LoadStamped(StampedState& state, FieldReader& in) {
  state.Load(in);
  in.Expect(state.text.empty() || CanBeCompared(state.text.view()));
  return state.text.heap_bytes();
}

size_t LoadDuration(DurationState& state, FieldReader& in) {
  in(state.any);
  if (state.any != 0) in(state.first, state.last);
  const auto in_time = [](int64_t stamp) {
    return EngineTime(Duration(stamp)) == Clamp(EngineTime(Duration(stamp)));
  };
  in.Expect(state.any <= 1 && in_time(state.first) && in_time(state.last) &&
            state.first <= state.last);
  return 0;
}

size_t LoadPercentile(PercentileState& state, FieldReader& in) {
  state.Load(in);
  return state.heap_bytes();
}

size_t LoadTop(TopState& state, uint64_t bound, FieldReader& in) {
  state.Load(in, TopCounts::KeptFor(bound));
  return state.heap_bytes();
}

size_t LoadElements(ElementSet& set, FieldReader& in, bool may_be_odd) {
  set.Load(in, may_be_odd);
  return set.heap_bytes();
}

size_t LoadConcat(ConcatState& state, const MergeRule& rule, FieldReader& in) {
  state.texts.Load(in);
  in(state.bytes);
  in.Expect(state.bytes <= rule.bound && state.texts.All(HasOneByteEscapes));
  return state.texts.heap_bytes();
}

uint64_t DefaultBound(Reducer reducer) noexcept {
  switch (reducer) {
    case Reducer::kArray: return kArrayBound;
    case Reducer::kDistinct: return kDistinctBound;
    case Reducer::kConcat: return kConcatBound;
    case Reducer::kTop: return kTopBound;
    default: return UINT64_MAX;
  }
}

}  // namespace

MergeRule RuleOf(const Merge& merge) {
  std::string separator;
  AppendJsonString(merge.separator, separator);
  return {merge.reducer, merge.bound != 0 ? merge.bound : DefaultBound(merge.reducer),
          separator.substr(1, separator.size() - 2), merge.separator.size()};
}

ValueForm FormFor(const Merge& merge) noexcept {
  if (merge.path == kWholeEvent) return ValueForm::kLine;
  switch (merge.reducer) {
    case Reducer::kKeys: return ValueForm::kNames;
    case Reducer::kSet:
    case Reducer::kTop:
    case Reducer::kArray: return ValueForm::kElements;
    case Reducer::kDistinct: return ValueForm::kIdentities;
    case Reducer::kSum:
    case Reducer::kMean:
    case Reducer::kMin:
    case Reducer::kMax: return ValueForm::kNumber;
    case Reducer::kConcat: return ValueForm::kPiece;
    case Reducer::kFirst:
    case Reducer::kLast: return ValueForm::kText;
    case Reducer::kP50:
    case Reducer::kP90:
    case Reducer::kP95:
    case Reducer::kP99:
    case Reducer::kP999: return ValueForm::kRounded;
    case Reducer::kDuration:
    case Reducer::kCount: break;
  }
  return merge.path.empty() ? ValueForm::kEvent : ValueForm::kPresence;
}

bool ShareState(const Merge& a, const Merge& b) noexcept {
  return ThousandthsOf(a.reducer) != 0 && ThousandthsOf(b.reducer) != 0 && a.path == b.path;
}

uint32_t StateSize(Reducer reducer) noexcept {
  switch (reducer) {
    case Reducer::kKeys:
    case Reducer::kSet:
    case Reducer::kDistinct:
    case Reducer::kArray: return sizeof(SetState);
    case Reducer::kConcat: return sizeof(ConcatState);
    case Reducer::kSum: return sizeof(SumState);
    case Reducer::kMean: return sizeof(MeanState);
    case Reducer::kMin:
    case Reducer::kMax: return sizeof(ExtremeState);
    case Reducer::kCount: return sizeof(CountState);
    case Reducer::kFirst:
    case Reducer::kLast: return sizeof(StampedState);
    case Reducer::kDuration: return sizeof(DurationState);
    case Reducer::kTop: return sizeof(TopState);
    case Reducer::kP50:
    case Reducer::kP90:
    case Reducer::kP95:
    case Reducer::kP99:
    case Reducer::kP999: return sizeof(PercentileState);
  }
  return 0;
}

bool StateGrows(Reducer reducer) noexcept {
  switch (reducer) {
    case Reducer::kSum:
    case Reducer::kMean:
    case Reducer::kCount:
    case Reducer::kDuration: return false;
    default: return true;
  }
}

size_t FoldState(const MergeRule& rule, void* state, const EventValue& value,
                 const LineEvent& event) {
  switch (rule.reducer) {
    case Reducer::kKeys:
    case Reducer::kSet:
    case Reducer::kDistinct: return FoldSet(As<SetState>(state), rule.bound, value, event);
    case Reducer::kArray: return FoldArray(As<SetState>(state), rule.bound, value, event);
    case Reducer::kConcat: return FoldConcat(As<ConcatState>(state), rule, value);
    case Reducer::kSum: return As<SumState>(state).sum.Add(value.number, value.text), 0;
    case Reducer::kMean:
      ++As<MeanState>(state).count;
      return As<MeanState>(state).sum.Add(value.number, value.text), 0;
    case Reducer::kMin: return FoldExtreme(As<ExtremeState>(state), value, -1);
    case Reducer::kMax: return FoldExtreme(As<ExtremeState>(state), value, 1);
    case Reducer::kCount: return ++As<CountState>(state).count, 0;
    case Reducer::kFirst: return As<StampedState>(state).Fold(value.text, event.at, false);
    case Reducer::kLast: return As<StampedState>(state).Fold(value.text, event.at, true);
    case Reducer::kDuration: return FoldDuration(As<DurationState>(state), event.at), 0;
    case Reducer::kTop: return FoldTop(As<TopState>(state), rule.bound, value, event);
    case Reducer::kP50:
    case Reducer::kP90:
    case Reducer::kP95:
    case Reducer::kP99:
    case Reducer::kP999: return FoldRounded(As<PercentileState>(state), value);
  }
  return 0;
}

size_t DetachState(Reducer reducer, void* state) {
  const auto detach = [](auto& owner) {
    owner.Detach();
    return owner.heap_bytes();
  };
  switch (reducer) {
    case Reducer::kKeys:
    case Reducer::kSet:
    case Reducer::kDistinct:
    case Reducer::kArray: return detach(As<SetState>(state));
    case Reducer::kConcat: return detach(As<ConcatState>(state).texts);
    case Reducer::kMin:
    case Reducer::kMax: return detach(As<ExtremeState>(state).text);
    case Reducer::kFirst:
    case Reducer::kLast: return detach(As<StampedState>(state).text);
    case Reducer::kTop: return detach(As<TopState>(state));
    case Reducer::kP50:
    case Reducer::kP90:
    case Reducer::kP95:
    case Reducer::kP99:
    case Reducer::kP999: return detach(As<PercentileState>(state));
    case Reducer::kDuration:
    case Reducer::kSum:
    case Reducer::kMean:
    case Reducer::kCount: break;
  }
  return 0;
}

void DestroyState(Reducer reducer, void* state) noexcept {
  switch (reducer) {
    case Reducer::kKeys:
    case Reducer::kSet:
    case Reducer::kDistinct:
    case Reducer::kArray: As<SetState>(state).Clear(); break;
    case Reducer::kConcat: As<ConcatState>(state).texts.Clear(); break;
    case Reducer::kMin:
    case Reducer::kMax: As<ExtremeState>(state).text.Clear(); break;
    case Reducer::kFirst:
    case Reducer::kLast: As<StampedState>(state).text.Clear(); break;
    case Reducer::kTop: As<TopState>(state).Clear(); break;
    case Reducer::kP50:
    case Reducer::kP90:
    case Reducer::kP95:
    case Reducer::kP99:
    case Reducer::kP999: As<PercentileState>(state).Clear(); break;
    case Reducer::kDuration:
    case Reducer::kSum:
    case Reducer::kMean:
    case Reducer::kCount: break;
  }
}

void SaveState(Reducer reducer, const void* state, FieldWriter& out) {
  switch (reducer) {
    case Reducer::kKeys:
    case Reducer::kSet:
    case Reducer::kDistinct:
    case Reducer::kArray: As<SetState>(state).Save(out); break;
    case Reducer::kConcat:
      As<ConcatState>(state).texts.Save(out);
      out(As<ConcatState>(state).bytes);
      break;
    case Reducer::kSum: As<SumState>(state).sum.Save(out); break;
    case Reducer::kMean:
      As<MeanState>(state).sum.Save(out);
      out(As<MeanState>(state).count);
      break;
    case Reducer::kMin:
    case Reducer::kMax: As<ExtremeState>(state).text.Save(out); break;
    case Reducer::kCount: out(As<CountState>(state).count); break;
    case Reducer::kFirst:
    case Reducer::kLast: As<StampedState>(state).Save(out); break;
    case Reducer::kP50:
    case Reducer::kP90:
    case Reducer::kP95:
    case Reducer::kP99:
    case Reducer::kP999: As<PercentileState>(state).Save(out); break;
    case Reducer::kTop: As<TopState>(state).Save(out); break;
    case Reducer::kDuration: {
      const auto& duration = As<DurationState>(state);
      out(duration.any);
      if (duration.any != 0) out(duration.first, duration.last);
      break;
    }
  }
}

size_t LoadState(const MergeRule& rule, void* state, FieldReader& in) {
  switch (rule.reducer) {
    case Reducer::kKeys:
    case Reducer::kSet:
    case Reducer::kDistinct:
    case Reducer::kArray:
      return LoadElements(As<SetState>(state), in, rule.reducer == Reducer::kSet);
    case Reducer::kConcat: return LoadConcat(As<ConcatState>(state), rule, in);
    case Reducer::kSum: return As<SumState>(state).sum.Load(in), 0;
    case Reducer::kMean: return LoadMean(As<MeanState>(state), in);
    case Reducer::kMin:
    case Reducer::kMax: return LoadExtreme(As<ExtremeState>(state), in);
    case Reducer::kCount: return in(As<CountState>(state).count), 0;
    case Reducer::kFirst:
    case Reducer::kLast: return LoadStamped(As<StampedState>(state), in);
    case Reducer::kDuration: return LoadDuration(As<DurationState>(state), in);
    case Reducer::kTop: return LoadTop(As<TopState>(state), rule.bound, in);
    case Reducer::kP50:
    case Reducer::kP90:
    case Reducer::kP95:
    case Reducer::kP99:
    case Reducer::kP999: return LoadPercentile(As<PercentileState>(state), in);
  }
  return 0;
}

Caveats AppendState(const MergeRule& rule, const void* state, LineWriter& out) {
  switch (rule.reducer) {
    case Reducer::kKeys:
    case Reducer::kSet:
    case Reducer::kArray: return AppendElements(As<SetState>(state), out);
    case Reducer::kDistinct: {
      const auto& set = As<SetState>(state);
      AppendNumber(set.count(), out);
      return {.cut = set.cut()};
    }
    case Reducer::kConcat: return AppendConcat(As<ConcatState>(state).texts, rule.separator, out);
    case Reducer::kSum: return AppendSum(As<SumState>(state).sum, out);
    case Reducer::kMean: return AppendMean(As<MeanState>(state), out);
    case Reducer::kMin:
    case Reducer::kMax: AppendTextOrNull(As<ExtremeState>(state).text, out); break;
    case Reducer::kCount: AppendNumber(As<CountState>(state).count, out); break;
    case Reducer::kFirst:
    case Reducer::kLast: AppendTextOrNull(As<StampedState>(state).text, out); break;
    case Reducer::kDuration: AppendDuration(As<DurationState>(state), out); break;
    case Reducer::kTop: return AppendTop(As<TopState>(state), rule.bound, out);
    case Reducer::kP50:
    case Reducer::kP90:
    case Reducer::kP95:
    case Reducer::kP99:
    case Reducer::kP999: return AppendPercentile(As<PercentileState>(state), rule.reducer, out);
  }
  return {};
}

}  // namespace pleat::inline v0_1
