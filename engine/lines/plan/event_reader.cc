#include "engine/lines/plan/event_reader.h"

#include <algorithm>
#include <charconv>
#include <optional>
#include <utility>

#include <pleat/batch.h>
#include <pleat/json_lines.h>

#include "engine/lines/plan/value_reader.h"
#include "engine/lines/scan/normal.h"
#include "engine/lines/scan/number.h"
#include "engine/lines/scan/reasons.h"
#include "engine/lines/scan/text.h"
#include "engine/table/spelled_key.h"

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

// The format of a number that is a date, and no time of this century in any unit; else nothing.
std::string_view FormatOfDigits(std::string_view token) noexcept {
  const bool with_time = token.size() == 14;
  if (!with_time && token.size() != 8) return {};
  if (token.find_first_not_of("0123456789") != std::string_view::npos) return {};
  const auto between = [&](size_t at, std::string_view least, std::string_view most) {
    return token.substr(at, least.size()) >= least && token.substr(at, most.size()) <= most;
  };
  if (!between(0, "1970", "2099") || !between(4, "01", "12") || !between(6, "01", "31")) return {};
  if (!with_time) return "%Y%m%d";
  const bool good = between(8, "00", "23") && between(10, "00", "59") && between(12, "00", "60");
  return good ? "%Y%m%d%H%M%S" : std::string_view();
}

constexpr std::string_view kNull = "null";

bool IsBlank(std::string_view line) noexcept {
  return std::all_of(line.begin(), line.end(), IsJsonSpace);
}

// Whether it begins as 06:30 does.
bool IsTimeOfDay(std::string_view text) noexcept {
  const auto is_digit = [&](size_t i) { return text[i] >= '0' && text[i] <= '9'; };
  return text.size() >= 5 && text[2] == ':' && is_digit(0) && is_digit(1) && is_digit(3) &&
         is_digit(4);
}

}  // namespace

EventReader::EventReader(const EventPlan& plan)
    : plan_(plan),
      bare_(!plan.has_selection && !plan.has_control && !plan.has_marks && plan.member.empty()),
      key_slot_(plan.keys.size() == 1 ? plan.keys.front().slot : PathTree::kNone),
      scanner_(plan.paths),
      unseen_(plan.paths.slots()),
      times_(plan.time_rules) {
  if (plan.time_slot == PathTree::kNone || plan.time_unit == TimeUnit::kNotStated) return;
  if (!plan.time_parts.empty()) return;
  if (plan.time_shift < 0) return;
  for (int i = 0; i < plan.time_shift; ++i) time_factor_ *= 10;
  time_max_ = kEndOfTime.time_since_epoch().count() / time_factor_;
}

EventReader::Kind EventReader::Invalid(std::string_view reason, const OptionPath* about) noexcept {
  reason_ = reason;
  about_ = about;
  return Kind::kInvalid;
}

EventReader::Kind EventReader::Read(std::string_view line, EventBatch& batch) {
  // A line over the limit may be only the beginning of one, so that blanks at its front say
  // nothing.
  if (line.size() <= kLineBytesMax && IsBlank(line)) return Kind::kBlank;
  line_ = line;
  const std::string_view wrong = scanner_.Scan(line);
  return wrong.empty() ? ReadScanned(batch) : Invalid(wrong);
}

EventReader::Kind EventReader::ReadEvent(EventBatch& batch, bool values) {
  std::string_view key;
  EngineTime at{};
  if (bare_) [[likely]] {
    if (!ReadKey(batch, key)) return Kind::kInvalid;
    const Kind verdict = ReadTime(batch, at);
    if (verdict != Kind::kEvent) return verdict;
  } else {
    const Kind verdict = ReadMore(key, batch, at);
    if (verdict != Kind::kEvent) return verdict;
  }
  AddEvent(key, at, values, batch);
  return Kind::kEvent;
}

// Inlined by force: a call is a hundredth of the instructions of a line.
[[gnu::always_inline]] inline void EventReader::AddEvent(std::string_view key, EngineTime at,
                                                         bool values, EventBatch& batch) {
  const uint32_t mismatched = values ? ValueReader::Read(plan_, scanner_, line_, batch) : 0;
  if (mismatched != 0 && !mismatches_.differ) [[unlikely]]
    NoteMismatches(batch);
  // Field by field in its place: a whole event that is copied right after its parts were written would
  // stall the processor, which took a tenth of the time of a line.
  KeyedEvent<LineEvent>& read = batch.events.emplace_back();
  read.key = key;
  read.at = read.event.at = at;
  read.event.mismatched = mismatched;
  read.event.line_bytes = static_cast<uint32_t>(line_.size());
}

// It was read before, so that all of it is valid, and it is known what it is.
void EventReader::ReadByPlaces(std::string_view line, std::span<const uint32_t> places,
                               EngineTime at, bool is_control, EventBatch& batch) {
  line_ = line;
  scanner_.ScanPlaces(line, places);
  stamp_ = at;
  std::string_view key;
  [[maybe_unused]] bool valid = ReadKey(batch, key);
  if (!bare_) {
    MemberMarks member;
    valid &= plan_.member.empty() ||
             ReadScalars(plan_.member, invalid_line::kMemberTooLong, batch, member.id);
    if (is_control) {
      control_ = {
          .key = key, .at = at, .cancels = Holds(plan_.cancel_when, batch), .member = member.id};
      PLEAT_DCHECK(valid);
      return;
    }
    valid &= ReadAbout(member, batch) == Kind::kEvent;
  }
  PLEAT_DCHECK(valid && !is_control);
  AddEvent(key, at, /*values=*/true, batch);
}

// Of the values of the line, which are the last ones.
void EventReader::NoteMismatches(const EventBatch& batch) {
  const size_t first = batch.values.size() - plan_.values.size();
  for (size_t i = 0; i < plan_.values.size(); ++i) {
    const int slot = plan_.values[i].slot;
    if (batch.values[first + i].present || slot == PathTree::kNone) continue;
    const Value& value = scanner_.value(slot);
    if (!value.present()) continue;
    mismatches_.Note({static_cast<int>(i), value.kind});
  }
}

// Whether the line is an event at all; key and time; and what an event may have beside them and its
// values.
EventReader::Kind EventReader::ReadMore(std::string_view& key, EventBatch& batch, EngineTime& at) {
  if (plan_.has_selection) {
    if (Kind verdict = Select(batch); verdict != Kind::kEvent) return verdict;
  }
  if (!ReadKey(batch, key)) return Kind::kInvalid;
  const bool has_member = !plan_.member.empty();
  MemberMarks member;
  if (has_member && !ReadScalars(plan_.member, invalid_line::kMemberTooLong, batch, member.id)) {
    return Kind::kInvalid;
  }
  if (Kind verdict = ReadTime(batch, at); verdict != Kind::kEvent) return verdict;
  stamp_ = at;
  if (plan_.has_control && IsControl(batch)) {
    control_.key = key;
    control_.at = at;
    control_.member = member.id;
    return Kind::kControl;
  }
  return ReadAbout(member, batch);
}

// What an event says about its group, and about its member, whose id is known.
inline EventReader::Kind EventReader::ReadAbout(MemberMarks& member, EventBatch& batch) {
  const bool has_member = !plan_.member.empty();
  EventMarks marks;
  if (plan_.has_marks && !ReadMarks(batch, marks)) return Kind::kInvalid;
  if (plan_.close_at_slot != PathTree::kNone) {
    if (Kind verdict = ReadCloseAt(batch, marks.close_at); verdict != Kind::kEvent) return verdict;
  }
  if (plan_.has_marks) batch.marks.push_back(marks);
  if (has_member && !ReadMember(batch, member)) return Kind::kInvalid;
  if (has_member) batch.members.push_back(member);
  return Kind::kEvent;
}

// The condition comes first: lines of other kinds may have no time. The key comes last, for the same
// reason.
EventReader::Kind EventReader::Select(EventBatch& batch) {
  excluded_at_ = kBeginningOfTime;
  if (!plan_.where.empty() && !Holds(plan_.where, batch)) return Kind::kExcluded;
  if (!plan_.has_range) return Kind::kEvent;
  EngineTime at{};
  if (Kind verdict = ReadTime(batch, at); verdict != Kind::kEvent) return verdict;
  if (at >= plan_.from && at < plan_.to) return Kind::kEvent;
  excluded_at_ = at;
  return Kind::kExcluded;
}

bool EventReader::CheckScalar(const EventPlan::ScalarMember& member) {
  const Value& value = scanner_.value(member.slot);
  if (value.scalar() || (member.optional && !value.present())) return true;
  return Invalid(value.present() ? member.container : member.absent, &member.path), false;
}

inline bool EventReader::ReadKey(EventBatch& batch, std::string_view& key) {
  if (key_slot_ != PathTree::kNone) {
    const Value& value = scanner_.value(key_slot_);
    if (value.scalar() && value.plain && value.text.size() <= kKeyBytesMax) [[likely]] {
      key = value.text;
      return true;
    }
  }
  return ReadScalars(plan_.keys, invalid_line::kKeyTooLong, batch, key);
}

// A key, or the id of a member. Too long a one is invalid because of `too_long`.
bool EventReader::ReadScalars(const Scalars& fields, std::string_view too_long, EventBatch& batch,
                              std::string_view& joined) {
  if (!std::ranges::all_of(fields, [&](const auto& field) { return CheckScalar(field); })) {
    return false;
  }
  if (fields.size() == 1) {
    const Value& value = scanner_.value(fields.front().slot);
    joined = value.present() ? Canonical(value, batch) : kNull;
  } else {
    joined = Join(fields, batch);
  }
  if (joined.size() > kKeyBytesMax) return Invalid(too_long), false;
  joined = Spelled(joined, batch);
  return true;
}

// The key of some scalars: with their numbers in normal form, and shown as they are.
std::string_view EventReader::Spelled(std::string_view shown, EventBatch& batch) const {
  if (!scanner_.may_have_odd_numbers() || IsNormal(shown)) return shown;
  const std::string identity = Normal(shown);
  const SpelledKey key{identity, shown};
  if (key.bytes() > kKeyBytesMax) return batch.texts.Copy(identity);
  return batch.texts.Take(key.Write(batch.texts.Reserve(key.bytes())));
}

std::string_view EventReader::Join(const Scalars& fields, EventBatch& batch) {
  size_t bytes = 0;
  for (const EventPlan::ScalarMember& field : fields)
    bytes += std::max(CanonicalBytes(scanner_.value(field.slot).text.size()), kNull.size()) + 1;
  char* to = batch.texts.Reserve(bytes);
  for (const EventPlan::ScalarMember& field : fields) {
    if (&field != &fields.front()) *to++ = ',';
    const Value& value = scanner_.value(field.slot);
    to = WriteCanonical(value.present() ? value.text : kNull, to);
  }
  return batch.texts.Take(to);
}

inline EventReader::Kind EventReader::ReadTime(EventBatch& batch, EngineTime& at) {
  if (plan_.time_slot == PathTree::kNone) return Kind::kEvent;
  const Value& value = scanner_.value(plan_.time_slot);
  if (value.kind == Value::Kind::kNumber && value.short_integer) [[likely]] {
    const int64_t number = ReadShortInteger(value.text);
    if (number <= time_max_) [[likely]] {
      at = EngineTime(Duration(number * time_factor_));
      return Kind::kEvent;
    }
  }
  return plan_.time_parts.empty() ? ReadAnyTime(value, batch, at) : ReadTimeParts(batch, at);
}

EventReader::Kind EventReader::ReadTimeParts(EventBatch& batch, EngineTime& at) {
  time_text_ = '"';
  for (const EventPlan::ScalarMember& part : plan_.time_parts) {
    const Value& value = scanner_.value(part.slot);
    if (value.kind == Value::Kind::kAbsent) return Invalid(part.absent, &part.path);
    const bool is_text = value.kind == Value::Kind::kString;
    if (!is_text && value.kind != Value::Kind::kNumber)
      return InvalidTime(value.text, invalid_line::kTimeType);
    const std::string_view text = Canonical(value, batch);
    if (time_text_.size() > 1) time_text_ += ' ';
    time_text_ += is_text ? WithoutBlanks(text.substr(1, text.size() - 2)) : text;
  }
  time_text_ += '"';
  const std::string_view text = std::string_view(time_text_).substr(1, time_text_.size() - 2);
  if (times_.ReadUsual(text, at)) return Kind::kEvent;
  return ReadTimeText(text, time_text_, at);
}

EventReader::Kind EventReader::ReadAnyTime(const Value& value, EventBatch& batch, EngineTime& at) {
  if (value.kind == Value::Kind::kNumber) return ReadTimeNumber(value.text, value.text, at);
  if (value.kind == Value::Kind::kAbsent) return Invalid(plan_.time_absent, &plan_.time_path);
  if (value.kind != Value::Kind::kString) return InvalidTime(value.text, invalid_line::kTimeType);
  const std::string_view quoted = Canonical(value, batch);
  const std::string_view text = quoted.substr(1, quoted.size() - 2);
  if (times_.ReadUsual(text, at)) [[likely]]
    return Kind::kEvent;
  return ReadTimeText(text, quoted, at);
}

// `shown` is how the line has it, in quotes or not.
EventReader::Kind EventReader::ReadTimeText(std::string_view text, std::string_view shown,
                                            EngineTime& at) {
  std::string unescaped;
  if (text.find('\\') != std::string_view::npos) {
    unescaped.resize(text.size());
    unescaped.resize(
        static_cast<size_t>(WriteUnescaped(text, unescaped.data()) - unescaped.data()));
    text = unescaped;
  }
  text = WithoutBlanks(text);
  switch (times_.ReadOther(text, at)) {
    case TimeRead::kTime: return Kind::kEvent;
    case TimeRead::kOpen: return ReadOpenTime(shown, at);
    case TimeRead::kNumber: return ReadTimeNumber(text, shown, at);
    case TimeRead::kOutOfRange: return InvalidTime(shown, invalid_line::kTimeRange);
    case TimeRead::kNoSuchTime: return InvalidTime(shown, invalid_line::kNoSuchTime);
    case TimeRead::kOtherWeekday: return InvalidTime(shown, invalid_line::kOtherWeekday);
    case TimeRead::kLeapSecond: return InvalidTime(shown, invalid_line::kTimeLeap);
    case TimeRead::kOtherZone: return InvalidTime(shown, invalid_line::kOtherZone);
    case TimeRead::kNotOfFormat: return InvalidTime(shown, invalid_line::kTimeFormat);
    case TimeRead::kUnknownForm: break;
  }
  return InvalidTime(shown, IsTimeOfDay(text) ? invalid_line::kTimeOfDay : invalid_line::kTimeText);
}

// Of several instants the one nearest to the newest stamp so far is meant, which only the thread knows that
// takes the lines.
EventReader::Kind EventReader::ReadOpenTime(std::string_view shown, EngineTime& at) {
  if (!decides_) return Kind::kWaiting;
  const std::optional<EngineTime> nearest = times_.Nearest(near_);
  if (!nearest) return InvalidTime(shown, invalid_line::kNoSuchTime);
  at = *nearest;
  return Kind::kEvent;
}

EventReader::Kind EventReader::InvalidTime(std::string_view value, std::string_view why) {
  reason_text_ = time_name_;
  reason_text_ += invalid_line::Shown(value);
  reason_text_ += why;
  return Invalid(reason_text_);
}

// A format may be one of digits alone; so it has the numbers as well, unless they have a unit.
EventReader::Kind EventReader::ReadTimeNumber(std::string_view number, std::string_view shown,
                                              EngineTime& at) {
  if (plan_.time_unit == TimeUnit::kNotStated) {
    if (!plan_.time_rules.format.empty()) return ReadTimeText(number, shown, at);
    if (const std::string_view format = FormatOfDigits(number); !format.empty()) {
      InvalidTime(shown, " is a number that looks like a date: state --time-format ");
      reason_text_ += format;
    } else {
      InvalidTime(shown, " is a number: state its unit with --time-unit (it looks like ");
      reason_text_ += LikelyUnit(number).name;
      reason_text_ += ')';
    }
    reason_ = reason_text_;
    return Kind::kNoUnit;
  }
  int64_t micros = 0;
  if (ScaledToInteger(number, plan_.time_shift, micros)) {
    at = EngineTime(Duration(micros));
    if (at == Clamp(at)) return Kind::kEvent;
  }
  InvalidTime(shown, invalid_line::kTimeRange);
  const StampUnit likely = LikelyUnit(number);
  if (likely.shift != plan_.time_shift && ScaledToInteger(number, likely.shift, micros)) {
    reason_text_ += "; it looks like ";
    reason_text_ += likely.name;
    reason_ = reason_text_;
  }
  return Kind::kInvalid;
}

bool EventReader::IsControl(EventBatch& batch) {
  control_.cancels = Holds(plan_.cancel_when, batch);
  return control_.cancels || Holds(plan_.flush_when, batch);
}

bool EventReader::Holds(const ConditionPlan& condition, EventBatch& batch) const {
  return condition.Holds([&](int slot) -> std::string_view {
    const Value& value = scanner_.value(slot);
    if (value.kind == Value::Kind::kAbsent) return {};
    const bool number = value.kind == Value::Kind::kNumber;
    if (value.plain || number || !value.scalar()) return value.text;
    // The text is not taken from the arena, as one comparison alone needs it.
    char* const begin = batch.texts.Reserve(CanonicalBytes(value.text.size()));
    return {begin, static_cast<size_t>(WriteCanonical(value.text, begin) - begin)};
  });
}

bool EventReader::ReadMarks(EventBatch& batch, EventMarks& marks) {
  marks.starts = Holds(plan_.start_when, batch);
  marks.ends = Holds(plan_.end_when, batch);
  if (!ReadDuration(plan_.quiet_slot, invalid_line::kQuietPeriod, batch, marks.quiet_period)) {
    return false;
  }
  if (plan_.key_class && !ReadClass(batch, marks)) return false;
  return !plan_.id || ReadId(batch, marks);
}

bool EventReader::ReadId(EventBatch& batch, EventMarks& marks) {
  if (!CheckScalar(*plan_.id)) return false;
  if (!scanner_.value(plan_.id->slot).present()) return true;  // null names nothing
  marks.id = Identity(scanner_.value(plan_.id->slot), batch);
  if (!plan_.id_has_content) {
    return marks.id.size() <= kKeyBytesMax || (Invalid(invalid_line::kIdTooLong), false);
  }
  char* const begin = batch.texts.Reserve(CanonicalBytes(line_.size()));
  const auto size = static_cast<size_t>(WriteCanonical(line_, begin) - begin);
  const std::string_view content{begin, size};
  const bool normal = !scanner_.may_have_odd_numbers() || IsNormal(content);
  marks.content = StablePartitionHash(normal ? content : std::string_view(Normal(content)));
  return true;
}

// A time as that of events is, which may be absent.
EventReader::Kind EventReader::ReadCloseAt(EventBatch& batch, EngineTime& out) {
  const Value& value = scanner_.value(plan_.close_at_slot);
  if (!value.present()) return Kind::kEvent;
  time_name_ = "closing time ";
  const bool decided = std::exchange(decides_, true);
  const std::optional<EngineTime> near = near_;
  if (plan_.time_slot != PathTree::kNone) near_ = stamp_;
  const Kind verdict = ReadAnyTime(value, batch, out);
  decides_ = decided;
  near_ = near;
  time_name_ = "event time ";
  return verdict;
}

// A duration above zero, which may be absent.
bool EventReader::ReadDuration(int slot, std::string_view wrong, EventBatch& batch, Duration& out) {
  if (slot == PathTree::kNone) return true;
  const Value& value = scanner_.value(slot);
  if (!value.present()) return true;
  if (value.kind == Value::Kind::kString) {
    const std::string_view text = Canonical(value, batch);
    const absl::StatusOr<Duration> duration = ParseDuration(text.substr(1, text.size() - 2));
    if (duration.ok()) out = *duration;
  }
  return out > Duration(0) || (Invalid(wrong), false);
}

bool EventReader::ReadMember(EventBatch& batch, MemberMarks& member) {
  return ReadDuration(plan_.ttl_slot, invalid_line::kTtl, batch, member.ttl) && ReadVersion(member);
}

// A whole number of 64 bits, which may be absent.
bool EventReader::ReadVersion(MemberMarks& member) {
  if (plan_.version_slot == PathTree::kNone) return true;
  const Value& value = scanner_.value(plan_.version_slot);
  if (!value.present()) return true;
  uint64_t version = 0;
  const char* const end = value.text.data() + value.text.size();
  const auto [stop, error] = std::from_chars(value.text.data(), end, version);
  if (error != std::errc() || stop != end) return Invalid(invalid_line::kVersion), false;
  member.version = version;
  return true;
}

// Two classes of one number would only learn together, which does no harm.
bool EventReader::ReadClass(EventBatch& batch, EventMarks& marks) {
  const Value& value = scanner_.value(plan_.key_class->slot);
  if (value.present() && !value.scalar()) return Invalid(plan_.key_class->container), false;
  const uint64_t hash = StablePartitionHash(value.present() ? Identity(value, batch) : "null");
  marks.key_class = std::max(static_cast<uint32_t>(hash), uint32_t{1});
  return true;
}

}  // namespace pleat::inline v0_1
