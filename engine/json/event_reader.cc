#include "engine/json/event_reader.h"

#include <algorithm>

#include <pleat/json_text.h>
#include <pleat/partition.h>

#include "engine/json/number.h"
#include "engine/json/reasons.h"
#include "engine/json/text.h"
#include "engine/json/value_reader.h"

namespace pleat::inline v0_1 {
namespace {

struct StampUnit {
  const char* name;
  int shift;  // as EventPlan::time_shift
};

// The unit in which `token` is a time between about 1973 and 5138.
StampUnit LikelyUnit(std::string_view token) noexcept {
  constexpr StampUnit kNanoseconds{"ns", -3};
  int64_t value = 0;
  if (!ScaledToInteger(token, 0, value)) return kNanoseconds;
  const uint64_t size =
      value < 0 ? uint64_t{0} - static_cast<uint64_t>(value) : static_cast<uint64_t>(value);
  if (size < 100'000'000'000) return {"s", 6};
  if (size < 100'000'000'000'000) return {"ms", 3};
  return size < 100'000'000'000'000'000 ? StampUnit{"us", 0} : kNanoseconds;
}

bool IsBlank(std::string_view line) noexcept {
  return std::all_of(line.begin(), line.end(), IsJsonSpace);
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

}  // namespace

EventReader::Kind EventReader::Bad(std::string_view reason) noexcept {
  reason_ = reason;
  return Kind::kBad;
}

EventReader::Kind EventReader::Read(std::string_view line, EventBatch& batch) {
  // A line over the limit may be only the beginning of one, so that blanks at its front say
  // nothing.
  if (line.size() <= kLineBytesMax && IsBlank(line)) return Kind::kBlank;
  line_ = line;
  const std::string_view wrong = scanner_.Scan(line);
  return wrong.empty() ? ReadEvent(batch) : Bad(wrong);
}

EventReader::Kind EventReader::ReadNext(std::string_view line, EventBatch& batch) {
  line_ = line;
  std::string_view wrong;
  if (!scanner_.ScanNext(line, wrong)) return Kind::kBlank;
  return wrong.empty() ? ReadEvent(batch) : Bad(wrong);
}

EventReader::Kind EventReader::ReadEvent(EventBatch& batch) {
  unseen_.Note(scanner_);
  std::string_view key;
  if (!ReadKey(batch, key)) return Kind::kBad;
  EngineTime at{};
  if (Kind verdict = ReadTime(batch, at); verdict != Kind::kEvent) return verdict;
  if (plan_.has_control && IsControl(batch)) {
    control_.key = key;
    control_.at = at;
    return Kind::kControl;
  }
  EventMarks marks;
  if (plan_.has_marks && !ReadMarks(batch, marks)) return Kind::kBad;
  if (plan_.has_marks) batch.marks.push_back(marks);
  const uint32_t mismatched = ValueReader(plan_, scanner_, line_, batch).Read();
  const auto line_bytes = static_cast<uint32_t>(line_.size());
  batch.events.push_back({key, at, {at, nullptr, nullptr, mismatched, line_bytes, nullptr}});
  return Kind::kEvent;
}

bool EventReader::CheckScalar(const EventPlan::ScalarMember& member) {
  const Value& value = scanner_.value(member.slot);
  if (value.scalar()) return true;
  return Bad(value.present() ? member.container : member.absent), false;
}

bool EventReader::ReadKey(EventBatch& batch, std::string_view& key) {
  if (!std::ranges::all_of(plan_.keys, [&](const auto& field) { return CheckScalar(field); })) {
    return false;
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
  for (const EventPlan::ScalarMember& field : plan_.keys)
    bytes += scanner_.value(field.slot).text.size() + 1;
  char* to = batch.texts.Reserve(bytes);
  for (const EventPlan::ScalarMember& field : plan_.keys) {
    if (&field != &plan_.keys.front()) *to++ = ',';
    to = WriteCanonical(scanner_.value(field.slot).text, to);
  }
  return batch.texts.Take(to);
}

EventReader::Kind EventReader::ReadTime(EventBatch& batch, EngineTime& at) {
  if (plan_.time_slot == PathTree::kNone) return Kind::kEvent;
  const Value& value = scanner_.value(plan_.time_slot);
  if (value.kind == Value::Kind::kNumber) return ReadTimeNumber(value, at);
  if (value.kind == Value::Kind::kAbsent) return Bad(plan_.time_absent);
  if (value.kind != Value::Kind::kString) return BadTime(value.text, bad_line::kTimeType);
  const std::string_view quoted = Canonical(value, batch);
  const std::string_view text = quoted.substr(1, quoted.size() - 2);
  if (times_.Read(text, at)) return Kind::kEvent;
  switch (times_.FaultOf(text)) {
    case TimestampFault::kOutOfRange: return BadTime(quoted, bad_line::kTimeRange);
    case TimestampFault::kNoSuchTime: return BadTime(quoted, bad_line::kNoSuchTime);
    case TimestampFault::kLeapSecond: return BadTime(quoted, bad_line::kTimeLeap);
    case TimestampFault::kNotRfc3339: break;
  }
  return BadTime(quoted, bad_line::kTimeText);
}

EventReader::Kind EventReader::BadTime(std::string_view value, std::string_view why) {
  reason_text_ = "event time " + bad_line::Shown(value);
  reason_text_ += why;
  return Bad(reason_text_);
}

EventReader::Kind EventReader::ReadTimeNumber(const Value& value, EngineTime& at) {
  if (plan_.time_unit == TimeUnit::kNotStated) {
    BadTime(value.text, " is a number: state its unit with --time-unit (it looks like ");
    reason_text_ += LikelyUnit(value.text).name;
    reason_text_ += ')';
    reason_ = reason_text_;
    return Kind::kNoUnit;
  }
  int64_t micros = 0;
  if (ReadMicroseconds(value, plan_.time_shift, micros)) {
    at = EngineTime(Duration(micros));
    if (at == Clamp(at)) return Kind::kEvent;
  }
  BadTime(value.text, bad_line::kTimeRange);
  const StampUnit likely = LikelyUnit(value.text);
  if (likely.shift != plan_.time_shift && ScaledToInteger(value.text, likely.shift, micros)) {
    reason_text_ += "; it looks like ";
    reason_text_ += likely.name;
    reason_ = reason_text_;
  }
  return Kind::kBad;
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
    // The text is not taken from the arena, as one comparison alone needs it.
    char* const begin = batch.texts.Reserve(value.text.size());
    return {begin, static_cast<size_t>(WriteCanonical(value.text, begin) - begin)};
  });
}

bool EventReader::ReadMarks(EventBatch& batch, EventMarks& marks) {
  marks.starts = Holds(plan_.start_when, batch);
  marks.ends = Holds(plan_.end_when, batch);
  if (plan_.quiet_slot != PathTree::kNone && !ReadQuietPeriod(batch, marks)) return false;
  if (plan_.key_class && !ReadClass(batch, marks)) return false;
  return !plan_.id || ReadId(batch, marks);
}

bool EventReader::ReadId(EventBatch& batch, EventMarks& marks) {
  if (!CheckScalar(*plan_.id)) return false;
  marks.id = Canonical(scanner_.value(plan_.id->slot), batch);
  char* const begin = batch.texts.Reserve(line_.size());
  const auto size = static_cast<size_t>(WriteCanonical(line_, begin) - begin);
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

// Two classes of one number would only learn together, which does no harm.
bool EventReader::ReadClass(EventBatch& batch, EventMarks& marks) {
  const Value& value = scanner_.value(plan_.key_class->slot);
  if (value.present() && !value.scalar()) return Bad(plan_.key_class->container), false;
  const uint64_t hash = StablePartitionHash(value.present() ? Canonical(value, batch) : "null");
  marks.key_class = std::max(static_cast<uint32_t>(hash), uint32_t{1});
  return true;
}

}  // namespace pleat::inline v0_1
