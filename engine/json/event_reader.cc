#include "engine/json/event_reader.h"

#include "engine/json/number.h"
#include "engine/json/reasons.h"
#include "engine/json/text.h"

namespace pleat::inline v0 {
namespace {

// The power of ten that takes a number of the unit to microseconds.
int MicrosecondShift(TimeUnit unit) noexcept {
  switch (unit) {
    case TimeUnit::kSeconds: return 6;
    case TimeUnit::kMilliseconds: return 3;
    case TimeUnit::kNanoseconds: return -3;
    case TimeUnit::kMicroseconds:
    case TimeUnit::kNotStated: break;
  }
  return 0;
}

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

bool ReadsNumbers(Reducer reducer) noexcept {
  return reducer == Reducer::kSum || reducer == Reducer::kMean || reducer == Reducer::kMin ||
         reducer == Reducer::kMax;
}

}  // namespace

EventReader::EventReader(const FoldPlan& plan)
    : plan_(plan), scanner_(plan.paths), operands_(plan.merges.size()) {}

EventReader::Verdict EventReader::Bad(std::string_view reason) noexcept {
  reason_ = reason;
  return Verdict::kBad;
}

EventReader::Verdict EventReader::Read(std::string_view line, EngineTime arrival) {
  if (std::string_view wrong = scanner_.Scan(line); !wrong.empty()) return Bad(wrong);
  ReserveScratch();
  if (!ReadKey()) return Verdict::kBad;
  if (Verdict verdict = ReadTime(arrival); verdict != Verdict::kEvent) return verdict;
  ReadOperands();
  return Verdict::kEvent;
}

// Room for every value to be written once by everyone who reads it.
void EventReader::ReserveScratch() {
  size_t bytes = 0;
  auto add = [&](int slot) {
    if (slot == PathTree::kNone) return;
    const Value& value = scanner_.value(slot);
    if (!value.plain) bytes += value.text.size();
  };
  for (const FoldPlan::Key& key : plan_.keys) add(key.slot);
  for (const FoldPlan::MergedValue& merge : plan_.merges) add(merge.slot);
  add(plan_.time_slot);
  if (bytes > scratch_bytes_) {
    scratch_bytes_ = bytes * 2;
    scratch_ = std::make_unique_for_overwrite<char[]>(scratch_bytes_);
  }
  scratch_end_ = scratch_.get();
}

std::string_view EventReader::WriteScratch(std::string_view text) noexcept {
  char* const begin = scratch_end_;
  scratch_end_ = WriteCanonical(text, begin);
  return {begin, static_cast<size_t>(scratch_end_ - begin)};
}

std::string_view EventReader::Canonical(const Value& value) noexcept {
  return value.plain ? value.text : WriteScratch(value.text);
}

bool EventReader::ReadKey() {
  joined_key_.clear();
  for (const FoldPlan::Key& field : plan_.keys) {
    const Value& value = scanner_.value(field.slot);
    if (!value.scalar()) {
      reason_ = value.present() ? field.container : field.absent;
      return false;
    }
    key_ = Canonical(value);
    if (plan_.keys.size() == 1) break;
    if (&field != &plan_.keys.front()) joined_key_ += ',';
    joined_key_ += key_;
  }
  if (plan_.keys.size() > 1) key_ = joined_key_;
  if (key_.size() <= kKeyBytesMax) return true;
  reason_ = bad_line::kKeyTooLong;
  return false;
}

EventReader::Verdict EventReader::ReadTime(EngineTime arrival) {
  event_.at = arrival;
  if (plan_.time_slot == PathTree::kNone) return Verdict::kEvent;
  const Value& value = scanner_.value(plan_.time_slot);
  if (value.kind == Value::Kind::kNumber) return ReadTimeNumber(value.text);
  if (!value.present()) return Bad(plan_.time_absent);
  if (value.kind != Value::Kind::kString) return Bad(bad_line::kTimeType);
  const std::string_view text = Canonical(value);
  const bool good = ParseTimestamp(text.substr(1, text.size() - 2), event_.at);
  return good ? Verdict::kEvent : Bad(bad_line::kTimeText);
}

EventReader::Verdict EventReader::ReadTimeNumber(std::string_view token) {
  if (plan_.time_unit == TimeUnit::kNotStated) {
    constexpr size_t kShownBytes = 40;
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
  if (!ScaledToInteger(token, MicrosecondShift(plan_.time_unit), micros)) {
    return Bad(bad_line::kTimeRange);
  }
  event_.at = FromUnix(Duration(micros));
  return event_.at == Clamp(event_.at) ? Verdict::kEvent : Bad(bad_line::kTimeRange);
}

void EventReader::ReadOperands() {
  elements_.clear();
  mismatched_ = 0;
  for (size_t i = 0; i < operands_.size(); ++i) ReadOperand(plan_.merges[i], operands_[i]);
  event_.operands = operands_.data();
  event_.elements = elements_.data();
}

void EventReader::ReadOperand(const FoldPlan::MergedValue& merge, Operand& operand) {
  operand.present = true;
  if (merge.slot == PathTree::kNone) return;
  const Value& value = scanner_.value(merge.slot);
  operand.present = value.present();
  if (!operand.present || merge.reducer == Reducer::kCount) return;
  if (merge.reducer == Reducer::kSet) {
    ReadElements(value, operand);
  } else if (merge.reducer == Reducer::kKeys) {
    operand.present = value.kind == Value::Kind::kObject;
    if (operand.present) ReadMemberNames(value, operand);
  } else if (ReadsNumbers(merge.reducer)) {
    operand.text = value.text;
    operand.present = value.kind == Value::Kind::kNumber && ReadNumber(value.text, operand.number);
  } else {
    operand.text = Canonical(value);
  }
  if (!operand.present) ++mismatched_;
}

void EventReader::ReadElements(const Value& value, Operand& operand) {
  operand.first_element = elements_.size();
  if (value.kind == Value::Kind::kArray) {
    ForEachElement(value.text,
                   [&](std::string_view element) { elements_.push_back(WriteScratch(element)); });
  } else {
    elements_.push_back(Canonical(value));
  }
  operand.elements = static_cast<uint32_t>(elements_.size() - operand.first_element);
}

void EventReader::ReadMemberNames(const Value& value, Operand& operand) {
  operand.first_element = elements_.size();
  ForEachMember(value.text, [&](std::string_view name, std::string_view) {
    elements_.push_back(WriteScratch(name));
  });
  operand.elements = static_cast<uint32_t>(elements_.size() - operand.first_element);
}

}  // namespace pleat::inline v0
