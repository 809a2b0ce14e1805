#include "engine/json/event_reader.h"

#include <algorithm>

#include <pleat/partition.h>

#include "engine/json/number.h"
#include "engine/json/reasons.h"
#include "engine/json/text.h"

namespace pleat::inline v0 {
namespace {

// The unit in which `token` is a time between 1973 and 5138, more or less.
std::string_view LikelyUnit(std::string_view token) noexcept {
  int64_t value = 0;
  if (!ScaledToInteger(token, 0, value)) return "ns";
  const uint64_t size =
      value < 0 ? uint64_t{0} - static_cast<uint64_t>(value) : static_cast<uint64_t>(value);
  if (size < 100'000'000'000) return "s";
  if (size < 100'000'000'000'000) return "ms";
  return size < 100'000'000'000'000'000 ? "us" : "ns";
}

bool IsBlank(std::string_view line) noexcept {
  return std::all_of(line.begin(), line.end(), IsJsonSpace);
}

std::string_view Rewritten(std::string_view text, EventBatch& batch) {
  return batch.texts.Take(WriteCanonical(text, batch.texts.Reserve(text.size())));
}

std::string_view Canonical(const Value& value, EventBatch& batch) {
  return value.plain ? value.text : Rewritten(value.text, batch);
}

void ReadElements(std::string_view array, EventBatch& batch, Operand& operand) {
  operand.first_element = batch.elements.size();
  ForEachElement(array, [&](std::string_view element) {
    batch.elements.push_back(Rewritten(element, batch));
  });
  operand.elements = static_cast<uint32_t>(batch.elements.size() - operand.first_element);
}

void ReadMemberNames(std::string_view object, EventBatch& batch, Operand& operand) {
  operand.first_element = batch.elements.size();
  ForEachMember(object, [&](std::string_view name, std::string_view) {
    batch.elements.push_back(Rewritten(name, batch));
  });
  operand.elements = static_cast<uint32_t>(batch.elements.size() - operand.first_element);
}

// As ScaledToInteger(), for a time in microseconds.
bool ReadMicroseconds(const Value& number, int shift, int64_t& micros) noexcept {
  static constexpr int64_t kPowers[] = {1, 10, 100, 1'000, 10'000, 100'000, 1'000'000};
  constexpr int kDigitsMax = 18;
  const int digits = static_cast<int>(number.text.size()) + shift;
  const bool simple = number.short_integer && digits <= kDigitsMax;  // nearly all times are
  if (!simple) return ScaledToInteger(number.text, shift, micros);
  const int64_t value = ReadShortInteger(number.text);
  micros = shift >= 0 ? value * kPowers[shift] : value / kPowers[-shift];
  return true;
}

bool ReadNumberOf(const Value& value, Number& number) noexcept {
  if (!value.short_integer) return ReadNumber(value.text, number);
  const int64_t whole = ReadShortInteger(value.text);
  number = {.integer = true, .fits = true, .whole = whole, .real = static_cast<double>(whole)};
  return true;
}

bool ReadsNumbers(Reducer reducer) noexcept {
  return reducer == Reducer::kSum || reducer == Reducer::kMean || reducer == Reducer::kMin ||
         reducer == Reducer::kMax;
}

}  // namespace

EventReader::Verdict EventReader::Bad(std::string_view reason) noexcept {
  reason_ = reason;
  return Verdict::kBad;
}

EventReader::Verdict EventReader::Read(std::string_view line, EventBatch& batch) {
  // A line over the limit may be only the beginning of one, so that blanks at its front say nothing.
  if (line.size() <= kLineBytesMax && IsBlank(line)) return Verdict::kBlank;
  const std::string_view wrong = scanner_.Scan(line);
  return wrong.empty() ? ReadValues(line, batch) : Bad(wrong);
}

EventReader::Verdict EventReader::ReadNext(std::string_view line, EventBatch& batch) {
  std::string_view wrong;
  if (!scanner_.ScanNext(line, wrong)) return Verdict::kBlank;
  return wrong.empty() ? ReadValues(line, batch) : Bad(wrong);
}

EventReader::Verdict EventReader::ReadValues(std::string_view line, EventBatch& batch) {
  std::string_view key;
  if (!ReadKey(batch, key)) return Verdict::kBad;
  EngineTime at{};
  if (Verdict verdict = ReadTime(batch, at); verdict != Verdict::kEvent) return verdict;
  if (plan_.has_control && IsControl(batch)) {
    control_.key = key;
    control_.at = at;
    return Verdict::kControl;
  }
  EventMarks marks;
  if (plan_.has_marks && !ReadMarks(line, batch, marks)) return Verdict::kBad;
  if (plan_.has_marks) batch.marks.push_back(marks);
  uint32_t mismatched = 0;
  for (const FoldPlan::MergedValue& merge : plan_.merges) {
    mismatched += !ReadOperand(merge, batch, batch.operands.emplace_back());
  }
  const auto line_bytes = static_cast<uint32_t>(line.size());
  batch.events.push_back({key, at, {at, nullptr, nullptr, mismatched, line_bytes, nullptr}});
  return Verdict::kEvent;
}

bool EventReader::ReadKey(EventBatch& batch, std::string_view& key) {
  for (const FoldPlan::Key& field : plan_.keys) {
    const Value& value = scanner_.value(field.slot);
    if (!value.scalar()) return Bad(value.present() ? field.container : field.absent), false;
  }
  if (plan_.keys.size() == 1) {
    key = Canonical(scanner_.value(plan_.keys.front().slot), batch);
  } else {
    key = JoinKeys(batch);
  }
  return key.size() <= kKeyBytesMax || (Bad(bad_line::kKeyTooLong), false);
}

std::string_view EventReader::JoinKeys(EventBatch& batch) {
  size_t bytes = 0;
  for (const FoldPlan::Key& field : plan_.keys) bytes += scanner_.value(field.slot).text.size() + 1;
  char* to = batch.texts.Reserve(bytes);
  for (const FoldPlan::Key& field : plan_.keys) {
    if (&field != &plan_.keys.front()) *to++ = ',';
    to = WriteCanonical(scanner_.value(field.slot).text, to);
  }
  return batch.texts.Take(to);
}

EventReader::Verdict EventReader::ReadTime(EventBatch& batch, EngineTime& at) {
  if (plan_.time_slot == PathTree::kNone) return Verdict::kEvent;
  const Value& value = scanner_.value(plan_.time_slot);
  if (value.kind == Value::Kind::kNumber) return ReadTimeNumber(value, at);
  if (!value.present()) return Bad(plan_.time_absent);
  if (value.kind != Value::Kind::kString) return Bad(bad_line::kTimeType);
  const std::string_view text = Canonical(value, batch);
  const bool good = times_.Read(text.substr(1, text.size() - 2), at);
  return good ? Verdict::kEvent : Bad(bad_line::kTimeText);
}

EventReader::Verdict EventReader::ReadTimeNumber(const Value& value, EngineTime& at) {
  if (plan_.time_unit == TimeUnit::kNotStated) {
    constexpr size_t kShownBytes = 40;
    const std::string_view token = value.text;
    reason_text_ = "event time ";
    reason_text_ += token.substr(0, kShownBytes);
    reason_text_ += token.size() > kShownBytes ? "..." : "";
    reason_text_ += " is a number: state its unit with --time-unit (it looks like ";
    reason_text_ += LikelyUnit(token);
    reason_text_ += ')';
    reason_ = reason_text_;
    return Verdict::kNoUnit;
  }
  int64_t micros = 0;
  if (!ReadMicroseconds(value, plan_.time_shift, micros)) {
    return Bad(bad_line::kTimeRange);
  }
  at = FromUnix(Duration(micros));
  return at == Clamp(at) ? Verdict::kEvent : Bad(bad_line::kTimeRange);
}

bool EventReader::IsControl(EventBatch& batch) {
  control_.cancels = Holds(plan_.cancel_when, batch);
  return control_.cancels || Holds(plan_.flush_when, batch);
}

bool EventReader::Holds(const ConditionPlan& condition, EventBatch& batch) const {
  return condition.Holds([&](int slot) -> std::string_view {
    const Value& value = scanner_.value(slot);
    if (value.kind == Value::Kind::kAbsent) return {};
    if (value.plain || !value.scalar()) return value.text;
    // Not taken: it is needed for one comparison only.
    char* const begin = batch.texts.Reserve(value.text.size());
    return {begin, static_cast<size_t>(WriteCanonical(value.text, begin) - begin)};
  });
}

bool EventReader::ReadMarks(std::string_view line, EventBatch& batch, EventMarks& marks) {
  marks.starts = Holds(plan_.start_when, batch);
  marks.ends = Holds(plan_.end_when, batch);
  if (plan_.quiet_slot != PathTree::kNone && !ReadQuietPeriod(batch, marks)) return false;
  if (!plan_.id) return true;
  const Value& id = scanner_.value(plan_.id->slot);
  if (!id.scalar()) return Bad(id.present() ? plan_.id->container : plan_.id->absent), false;
  marks.id = Canonical(id, batch);
  char* const begin = batch.texts.Reserve(line.size());
  const auto size = static_cast<size_t>(WriteCanonical(line, begin) - begin);
  marks.content = StablePartitionHash({begin, size});
  return true;
}

bool EventReader::ReadQuietPeriod(EventBatch& batch, EventMarks& marks) {
  const Value& value = scanner_.value(plan_.quiet_slot);
  if (!value.present()) return true;
  if (value.kind == Value::Kind::kString) {
    const std::string_view text = Canonical(value, batch);
    const absl::StatusOr<Duration> period = ParseDuration(text.substr(1, text.size() - 2));
    if (period.ok()) marks.quiet_period = *period;
  }
  return marks.quiet_period > Duration(0) || (Bad(bad_line::kQuietPeriod), false);
}

// False for a value that the reducer cannot take.
bool EventReader::ReadOperand(const FoldPlan::MergedValue& merge, EventBatch& batch,
                              Operand& operand) {
  operand.present = true;
  if (merge.slot == PathTree::kNone) return true;
  const Value& value = scanner_.value(merge.slot);
  operand.present = value.present();
  if (!operand.present || merge.reducer == Reducer::kCount) return true;
  if (merge.reducer == Reducer::kSet && value.kind == Value::Kind::kArray) {
    ReadElements(value.text, batch, operand);
  } else if (merge.reducer == Reducer::kKeys) {
    operand.present = value.kind == Value::Kind::kObject;
    if (operand.present) ReadMemberNames(value.text, batch, operand);
  } else if (ReadsNumbers(merge.reducer)) {
    operand.text = value.text;
    operand.present = value.kind == Value::Kind::kNumber && ReadNumberOf(value, operand.number);
  } else {
    operand.text = Canonical(value, batch);
  }
  return operand.present;
}

}  // namespace pleat::inline v0
