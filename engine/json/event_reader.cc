#include "engine/json/event_reader.h"

#include <algorithm>
#include <cstring>

#include <pleat/partition.h>

#include "engine/base/hash.h"
#include "engine/json/number.h"
#include "engine/json/reasons.h"
#include "engine/json/text.h"

namespace pleat::inline v0_1 {
namespace {

struct Unit {
  const char* name;
  int shift;  // as FoldPlan::time_shift
};

// The unit in which `token` is a time between 1973 and 5138, more or less.
Unit LikelyUnit(std::string_view token) noexcept {
  constexpr Unit kNanoseconds{"ns", -3};
  int64_t value = 0;
  if (!ScaledToInteger(token, 0, value)) return kNanoseconds;
  const uint64_t size =
      value < 0 ? uint64_t{0} - static_cast<uint64_t>(value) : static_cast<uint64_t>(value);
  if (size < 100'000'000'000) return {"s", 6};
  if (size < 100'000'000'000'000) return {"ms", 3};
  return size < 100'000'000'000'000'000 ? Unit{"us", 0} : kNanoseconds;
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

// The same for one that the scanner had no eye on.
std::string_view Canonical(std::string_view text, EventBatch& batch) {
  const bool container = text[0] == '{' || text[0] == '[';
  const bool plain = !container && text.find('\\') == std::string_view::npos;
  return plain ? text : Rewritten(text, batch);
}

void ReadElements(std::string_view array, EventBatch& batch, Operand& operand) {
  operand.first_element = batch.elements.size();
  ForEachElement(array, [&](std::string_view element) {
    batch.elements.push_back(Rewritten(element, batch));
  });
  operand.elements = static_cast<uint32_t>(batch.elements.size() - operand.first_element);
}

// For `set` and its like.
void ReadValueOrElements(const Value& value, EventBatch& batch, Operand& operand) {
  if (value.kind == Value::Kind::kArray) {
    ReadElements(value.text, batch, operand);
  } else {
    operand.text = Canonical(value, batch);
  }
}

// How many bytes the canonical text `inside` stands for, which is without its quotes.
uint32_t UnescapedBytes(std::string_view inside) noexcept {
  size_t bytes = inside.size();
  for (size_t i = inside.find('\\'); i != std::string_view::npos;) {
    const size_t escape = inside[i + 1] == 'u' ? 6 : 2;  // of one byte, always
    bytes -= escape - 1;
    i = inside.find('\\', i + escape);
  }
  return static_cast<uint32_t>(bytes);
}

// False for an object or an array.
bool ReadPiece(const Value& value, EventBatch& batch, Operand& operand) {
  if (!value.scalar()) return false;
  operand.text = Canonical(value, batch);
  if (value.kind == Value::Kind::kString) {
    operand.text = operand.text.substr(1, operand.text.size() - 2);
  }
  operand.bytes = UnescapedBytes(operand.text);
  return true;
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

Number ReadNumberOf(const Value& value) noexcept {
  if (!value.short_integer) return ReadNumber(value.text);
  const int64_t whole = ReadShortInteger(value.text);
  return {.integer = true, .fits = true, .whole = whole, .real = static_cast<double>(whole)};
}

}  // namespace

EventReader::Verdict EventReader::Bad(std::string_view reason) noexcept {
  reason_ = reason;
  return Verdict::kBad;
}

EventReader::Verdict EventReader::Read(std::string_view line, EventBatch& batch) {
  // A line over the limit may be only the beginning of one, so that blanks at its front say nothing.
  if (line.size() <= kLineBytesMax && IsBlank(line)) return Verdict::kBlank;
  line_ = line;
  const std::string_view wrong = scanner_.Scan(line);
  return wrong.empty() ? ReadValues(batch) : Bad(wrong);
}

EventReader::Verdict EventReader::ReadNext(std::string_view line, EventBatch& batch) {
  line_ = line;
  std::string_view wrong;
  if (!scanner_.ScanNext(line, wrong)) return Verdict::kBlank;
  return wrong.empty() ? ReadValues(batch) : Bad(wrong);
}

EventReader::Verdict EventReader::ReadValues(EventBatch& batch) {
  unseen_.Note(scanner_);
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
  if (plan_.has_marks && !ReadMarks(batch, marks)) return Verdict::kBad;
  if (plan_.has_marks) batch.marks.push_back(marks);
  uint32_t mismatched = 0;
  for (const FoldPlan::MergedValue& merge : plan_.merges) {
    mismatched += !ReadOperand(merge, batch, batch.operands.emplace_back());
  }
  if (plan_.rest != Rest::kDrop) ReadRest(batch, batch.operands.emplace_back());
  const auto line_bytes = static_cast<uint32_t>(line_.size());
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
  if (value.kind == Value::Kind::kAbsent) return Bad(plan_.time_absent);
  if (value.kind != Value::Kind::kString) return BadTime(value.text, bad_line::kTimeType);
  const std::string_view quoted = Canonical(value, batch);
  const std::string_view text = quoted.substr(1, quoted.size() - 2);
  if (times_.Read(text, at)) return Verdict::kEvent;
  switch (times_.FaultOf(text)) {
    case TimestampFault::kOutOfRange: return BadTime(quoted, bad_line::kTimeRange);
    case TimestampFault::kNoSuchTime: return BadTime(quoted, bad_line::kNoSuchTime);
    case TimestampFault::kLeapSecond: return BadTime(quoted, bad_line::kTimeLeap);
    case TimestampFault::kNotRfc3339: break;
  }
  return BadTime(quoted, bad_line::kTimeText);
}

EventReader::Verdict EventReader::BadTime(std::string_view value, std::string_view why) {
  reason_text_ = "event time " + bad_line::Shown(value);
  reason_text_ += why;
  return Bad(reason_text_);
}

EventReader::Verdict EventReader::ReadTimeNumber(const Value& value, EngineTime& at) {
  if (plan_.time_unit == TimeUnit::kNotStated) {
    BadTime(value.text, " is a number: state its unit with --time-unit (it looks like ");
    reason_text_ += LikelyUnit(value.text).name;
    reason_text_ += ')';
    reason_ = reason_text_;
    return Verdict::kNoUnit;
  }
  int64_t micros = 0;
  if (ReadMicroseconds(value, plan_.time_shift, micros)) {
    at = EngineTime(Duration(micros));
    if (at == Clamp(at)) return Verdict::kEvent;
  }
  BadTime(value.text, bad_line::kTimeRange);
  const Unit likely = LikelyUnit(value.text);
  if (likely.shift != plan_.time_shift && ScaledToInteger(value.text, likely.shift, micros)) {
    reason_text_ += "; it looks like ";
    reason_text_ += likely.name;
    reason_ = reason_text_;
  }
  return Verdict::kBad;
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

bool EventReader::ReadMarks(EventBatch& batch, EventMarks& marks) {
  marks.starts = Holds(plan_.start_when, batch);
  marks.ends = Holds(plan_.end_when, batch);
  if (plan_.quiet_slot != PathTree::kNone && !ReadQuietPeriod(batch, marks)) return false;
  if (plan_.class_slot != PathTree::kNone && !ReadClass(batch, marks)) return false;
  if (!plan_.id) return true;
  const Value& id = scanner_.value(plan_.id->slot);
  if (!id.scalar()) return Bad(id.present() ? plan_.id->container : plan_.id->absent), false;
  marks.id = Canonical(id, batch);
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
  const Value& value = scanner_.value(plan_.class_slot);
  if (value.present() && !value.scalar()) return Bad(plan_.class_container), false;
  const uint64_t hash = StablePartitionHash(value.present() ? Canonical(value, batch) : "null");
  marks.key_class = std::max(static_cast<uint32_t>(hash), uint32_t{1});
  return true;
}

// False for a value that the reducer cannot take.
bool EventReader::ReadOperand(const FoldPlan::MergedValue& merge, EventBatch& batch,
                              Operand& operand) {
  operand.present = true;
  if (merge.slot == PathTree::kNone) return true;
  if (merge.slot == FoldPlan::kWholeEvent) return operand.text = Rewritten(line_, batch), true;
  const Value& value = scanner_.value(merge.slot);
  operand.present = value.present();
  if (!operand.present) return true;
  switch (merge.reducer) {
    case Reducer::kCount: break;
    case Reducer::kKeys:
      operand.present = value.kind == Value::Kind::kObject;
      if (operand.present) ReadMemberNames(value.text, batch, operand);
      break;
    case Reducer::kSet:
    case Reducer::kArray: ReadValueOrElements(value, batch, operand); break;
    case Reducer::kDistinct: ReadIdentities(value, batch, operand); break;
    case Reducer::kSum:
    case Reducer::kMean:
    case Reducer::kMin:
    case Reducer::kMax:
      operand.present = value.kind == Value::Kind::kNumber;
      if (!operand.present) break;
      operand.text = value.text;
      operand.number = ReadNumberOf(value);
      break;
    case Reducer::kConcat: operand.present = ReadPiece(value, batch, operand); break;
    case Reducer::kFirst:
    case Reducer::kLast: operand.text = Canonical(value, batch); break;
  }
  return operand.present;
}

// As for `set`, but of each value only what tells it apart.
void EventReader::ReadIdentities(const Value& value, EventBatch& batch, Operand& operand) {
  ReadValueOrElements(value, batch, operand);
  operand.text = Identity(operand.text, batch);
  for (uint32_t i = 0; i < operand.elements; ++i) {
    std::string_view& element = batch.elements[operand.first_element + i];
    element = Identity(element, batch);
  }
}

// Short texts stand for themselves; a long one becomes a mark with which no JSON begins, and 128 bits
// that depend on a secret. So a million values take some 40 bytes each, however long they are, and two
// of them are confused with a probability below 2^-88 (2^39 pairs), which nobody outside can raise.
std::string_view EventReader::Identity(std::string_view text, EventBatch& batch) {
  constexpr size_t kBytes = 1 + sizeof(uint64_t) * 2;
  if (text.size() <= kBytes) return text;
  char* to = batch.texts.Reserve(kBytes);
  *to++ = '#';
  for (const HashKey& key : plan_.identity_keys) {
    const uint64_t half = KeyedHash(text, key);
    std::memcpy(to, &half, sizeof(half));
    to += sizeof(half);
  }
  return batch.texts.Take(to);
}

// Names and values, one after the other.
void EventReader::ReadRest(EventBatch& batch, Operand& operand) {
  operand.first_element = batch.elements.size();
  const size_t begin = std::min(line_.find('{'), line_.size());
  ForEachMember(line_.substr(begin), [&](std::string_view quoted, std::string_view value) {
    if (value[0] == 'n') return;
    const std::string_view name = Canonical(quoted, batch);
    if (plan_.no_rest.contains(name)) return;
    batch.elements.push_back(name);
    batch.elements.push_back(Canonical(value, batch));
  });
  operand.elements = static_cast<uint32_t>(batch.elements.size() - operand.first_element);
}

}  // namespace pleat::inline v0_1
