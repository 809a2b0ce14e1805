// The small languages inside options and events: each is read, written back, read again; and held
// against a slow plain reading where there is one. The first byte of the input chooses:
//
//   p  path          its steps, written as a JSON Pointer, are the same path
//   w  path as options have it: written with all steps in quotes, or without quotes that it does not
//                    need, it is the same, and ends where it ends
//   d  duration      is what an exact plain reading gives; written and read it is the same
//   t  timestamp     line by line through one reader; is what a plain reading gives
//   z  event time    line by line through one reader, the first line being the zone, if it is an offset; is
//                    what a plain reading gives, or a number
//   f  time format   that of the first line, by which the others are read: a time is in range
//   n  number        two, a line each: the grammar, the value, comparison and scaling as plain as can be
//   m  merge         written and read it is the same
//   k  key fields    written and read they are the same
//   c  condition     with paths that can be read: written and read it means the same
//
// Nothing that is refused may crash, and every refusal has a message of one line.
#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "engine/lines/scan/number.h"
#include "engine/lines/scan/path.h"
#include "engine/lines/scan/written_path.h"
#include "engine/lines/spec/spec_text.h"
#include "engine/lines/time/time_forms.h"
#include "engine/lines/time/time_reader.h"
#include "engine/lines/time/time_rules.h"
#include "engine/lines/time/timestamp.h"
#include "fuzz/target.h"
#include "tests/support/plain_json.h"
#include "tests/support/plain_time.h"

namespace pleat_fuzz {
namespace {

void TryPath(std::string_view text) {
  const absl::StatusOr<pleat::Path> path = pleat::ParsePath(text);
  if (!path.ok()) return ExpectRefusal(path.status(), text);
  FUZZ_EXPECT(!path->empty(), text);
  std::string pointer;
  for (const std::string& step : *path) {
    pointer += '/';
    for (const char c : step) {
      c == '~' ? void(pointer += "~0") : c == '/' ? void(pointer += "~1") : void(pointer += c);
    }
  }
  const absl::StatusOr<pleat::Path> again = pleat::ParsePath(pointer);
  FUZZ_EXPECT(again.ok() && *again == *path, pointer);

  pleat::PathTree tree;
  const int slot = tree.Add(*path);
  FUZZ_EXPECT(tree.Add(*again) == slot && tree.slots() == 1, text);
  int at = pleat::PathTree::kRoot;
  for (const std::string& step : *path) at = tree.Child(at, step, pleat::Fingerprint(step));
  FUZZ_EXPECT(tree.Slot(at) == slot, text);
}

void TryWrittenPath(std::string_view text) {
  const absl::StatusOr<pleat::WrittenPath> path = pleat::ParseWrittenPath(text);
  if (!path.ok()) return ExpectRefusal(path.status(), text);
  const auto expect_same = [&](const std::string& written) {
    const absl::StatusOr<pleat::WrittenPath> again = pleat::ParseWrittenPath(written);
    FUZZ_EXPECT(again.ok() && again->ways == path->ways, written);
    FUZZ_EXPECT(again->optional == path->optional, written);
  };
  const std::string quoted = pleat::FormatWritten(*path);
  expect_same(quoted);
  FUZZ_EXPECT(pleat::EndOfWritten(quoted, ",=()<>!") == quoted.size(), quoted);
  const std::string normal = pleat::NormalPath(text);
  expect_same(normal);
  FUZZ_EXPECT_SAME(pleat::NormalPath(normal), normal, text);
  pleat::PathTree tree;
  const int slot = tree.AddWritten(*path);
  FUZZ_EXPECT(tree.AddWritten(*pleat::ParseWrittenPath(quoted)) == slot, text);
}

void TryDuration(std::string_view text) {
  const absl::StatusOr<pleat::Duration> read = pleat::ParseDuration(text);
  const std::optional<pleat::Duration> plain = pleat::ReadPlainDuration(std::string(text));
  FUZZ_EXPECT(read.ok() == plain.has_value(), text);
  if (!read.ok()) return ExpectRefusal(read.status(), text);
  FUZZ_EXPECT(*read == *plain, text);
  const std::string written = pleat::FormatDuration(*read);
  const absl::StatusOr<pleat::Duration> again = pleat::ParseDuration(written);
  FUZZ_EXPECT(again.ok() && *again == *read, written);
  FUZZ_EXPECT_SAME(pleat::FormatDuration(*again), written, text);
}

void TryTimestamps(std::string_view text) {
  pleat::TimestampReader reader;
  pleat::TimestampWriter writer;
  for (const std::string_view line : LinesOf(text)) {
    pleat::EngineTime at{};
    const bool good = reader.Read(line, at);
    const std::optional<pleat::EngineTime> plain = pleat::ReadPlainTimestamp(std::string(line));
    FUZZ_EXPECT(good == plain.has_value(), line);
    pleat::EngineTime alone{};
    FUZZ_EXPECT(pleat::ParseTimestamp(line, alone) == good, line);
    if (!good) continue;
    FUZZ_EXPECT(at == *plain && at == alone, line);

    std::string written(pleat::kTimestampBytes, '\0');
    writer.Write(at, written.data());
    FUZZ_EXPECT_SAME(written, pleat::WritePlainTimestamp(at), line);
    FUZZ_EXPECT_SAME(pleat::FormatTimestamp(at), written, line);
    FUZZ_EXPECT(pleat::ParseTimestamp(written, alone) && alone == at, line);
  }
}

void TryTimes(std::string_view text) {
  const std::vector<std::string_view> lines = LinesOf(text);
  std::string zone(lines.empty() ? "" : lines.front());
  const std::optional<std::chrono::minutes> offset = pleat::ReadOffset(zone);
  if (!offset) zone.clear();
  const pleat::TimeRules rules = pleat::TimeRulesFor(zone, "");
  std::string plain_zone = "Z";
  if (offset && *offset != std::chrono::minutes(0)) {
    const auto minutes = static_cast<int>(std::abs(offset->count()));
    plain_zone = *offset < std::chrono::minutes(0) ? "-" : "+";
    plain_zone += std::to_string(100 + minutes / 60).substr(1) + ":";
    plain_zone += std::to_string(100 + minutes % 60).substr(1);
  }
  pleat::TimeReader reader(rules);
  for (const std::string_view line : lines) {
    pleat::EngineTime at{};
    const bool usual = reader.ReadUsual(line, at);
    const pleat::TimeRead read =
        usual ? pleat::TimeRead::kTime : reader.ReadOther(line, at);  // of an offset none is open
    const auto plain = pleat::ReadPlainTimeText(std::string(line), plain_zone);
    FUZZ_EXPECT((read == pleat::TimeRead::kTime) == plain.has_value(), line);
    if (plain) FUZZ_EXPECT(at == *plain, line);
    if (read == pleat::TimeRead::kNumber)
      FUZZ_EXPECT(pleat::IsNumber(pleat::WithoutBlanks(line)), line);
  }
}

void TryFormat(std::string_view text) {
  const std::vector<std::string_view> lines = LinesOf(text);
  if (lines.empty()) return;
  const absl::Status good = pleat::CheckTimeFormat(lines.front());
  if (!good.ok()) return ExpectRefusal(good, text);
  const pleat::TimeRules rules = pleat::TimeRulesFor("", lines.front());
  pleat::TimeReader reader(rules);
  for (const std::string_view line : lines) {
    pleat::EngineTime at{};
    FUZZ_EXPECT(!reader.ReadUsual(line, at), line);
    const pleat::TimeRead read = reader.ReadOther(line, at);
    if (read == pleat::TimeRead::kTime) FUZZ_EXPECT(at == pleat::Clamp(at), line);
    if (read != pleat::TimeRead::kOpen) continue;
    const std::optional<pleat::EngineTime> nearest = reader.Nearest(pleat::EngineTime{});
    if (nearest) FUZZ_EXPECT(reader.Nearest(*nearest) == nearest, line);
  }
}

// A number as digits d1d2d3... and the power of ten of 0.d1d2d3...; no digits are zero.
struct PlainDecimal {
  bool negative;
  std::string digits;
  long power;
};

PlainDecimal Decimal(std::string text) {
  constexpr long kPowerMax = 1'000'000'000'000'000'000;
  PlainDecimal out{text.starts_with('-'), {}, 0};
  if (out.negative) text.erase(0, 1);
  const size_t e = std::min(text.find_first_of("eE"), text.size());
  if (e < text.size()) {
    out.power = std::clamp(std::atol(text.c_str() + e + 1), -kPowerMax, kPowerMax);
    text.resize(e);
  }
  const size_t point = std::min(text.find('.'), text.size());
  out.power += static_cast<long>(point);
  if (point < text.size()) text.erase(point, 1);
  const size_t zeros = std::min(text.find_first_not_of('0'), text.size());
  out.power -= static_cast<long>(zeros);
  out.digits = text.substr(zeros);
  out.digits.resize(out.digits.find_last_not_of('0') + 1);
  return out;
}

int Sign(long value) { return value < 0 ? -1 : value > 0 ? 1 : 0; }

int ComparePlain(const std::string& a, const std::string& b) {
  const PlainDecimal left = Decimal(a);
  const PlainDecimal right = Decimal(b);
  const int left_sign = left.digits.empty() ? 0 : left.negative ? -1 : 1;
  const int right_sign = right.digits.empty() ? 0 : right.negative ? -1 : 1;
  if (left_sign != right_sign || left_sign == 0) return Sign(left_sign - right_sign);
  if (left.power != right.power) return left_sign * Sign(left.power - right.power);
  return left_sign * Sign(left.digits.compare(right.digits));
}

bool IsPlainNumber(std::string_view text) {
  const std::optional<pleat::PlainJson> plain = pleat::ParsePlainJson(text);
  return plain && plain->kind == pleat::PlainJson::Kind::kNumber && plain->text == text;
}

// Whether `text`, a token behind which there is padding, is a number.
bool TryNumber(std::string_view text) {
  const bool good = pleat::IsNumber(text);
  FUZZ_EXPECT(good == IsPlainNumber(text), text);
  if (!text.empty() && text[0] >= '0' && text[0] <= '9' && pleat::IsShortInteger(text)) {
    FUZZ_EXPECT(good && pleat::ReadShortInteger(text) == std::atoll(std::string(text).c_str()),
                text);
  }
  if (!good) return false;

  const std::string terminated(text);
  const pleat::Number number = pleat::ReadNumber(text);
  const double real = std::strtod(terminated.c_str(), nullptr);
  FUZZ_EXPECT(number.real == real, text);
  FUZZ_EXPECT(number.integer == (text.find_first_of(".eE") == std::string_view::npos), text);
  errno = 0;
  const int64_t whole = std::strtoll(terminated.c_str(), nullptr, 10);
  FUZZ_EXPECT(number.fits == (number.integer && errno == 0), text);
  if (number.fits) FUZZ_EXPECT(number.whole == whole, text);

  for (const int shift : {0, 3, 6, -3}) {
    int64_t scaled = 0;
    const bool fits = pleat::ScaledToInteger(text, shift, scaled);
    const pleat::EngineTime at{pleat::Duration(scaled)};
    const bool in_range = fits && at == pleat::Clamp(at);
    const std::optional<pleat::EngineTime> plain = pleat::ReadPlainNumber(terminated, shift);
    FUZZ_EXPECT(in_range == plain.has_value(), text);
    if (in_range) FUZZ_EXPECT(at == *plain, text);
  }
  return true;
}

void TryNumbers(std::string_view text) {
  const size_t newline = std::min(text.find('\n'), text.size());
  const PaddedText first(text.substr(0, newline));
  const PaddedText second(text.substr(std::min(newline + 1, text.size())));
  const bool first_good = TryNumber(first.view());
  if (!TryNumber(second.view()) || !first_good) return;
  const std::string a(first.view());
  const std::string b(second.view());
  FUZZ_EXPECT(Sign(pleat::CompareNumbers(a, b)) == ComparePlain(a, b), text);
  FUZZ_EXPECT(Sign(pleat::CompareNumbers(b, a)) == ComparePlain(b, a), text);
  FUZZ_EXPECT(pleat::CompareNumbers(a, a) == 0, text);
}

void TryMerge(std::string_view text) {
  const absl::StatusOr<pleat::Merge> merge = pleat::ParseMerge(text);
  if (!merge.ok()) return ExpectRefusal(merge.status(), text);
  const std::string written = pleat::FormatMerge(*merge);
  const absl::StatusOr<pleat::Merge> again = pleat::ParseMerge(written);
  FUZZ_EXPECT(again.ok(), written);
  FUZZ_EXPECT(again->name == merge->name && again->path == merge->path, written);
  FUZZ_EXPECT(again->reducer == merge->reducer && again->bound == merge->bound, written);
  FUZZ_EXPECT_SAME(again->separator, merge->separator, written);
  FUZZ_EXPECT_SAME(pleat::FormatMerge(*again), written, text);
}

void TryKeyFields(std::string_view text) {
  const absl::StatusOr<std::vector<pleat::KeyField>> fields = pleat::ParseKeyFields(text);
  if (!fields.ok()) return ExpectRefusal(fields.status(), text);
  std::string written;
  for (const pleat::KeyField& field : *fields) {
    if (!written.empty()) written += ',';
    written += pleat::FormatKeyField(field);
  }
  const absl::StatusOr<std::vector<pleat::KeyField>> again = pleat::ParseKeyFields(written);
  FUZZ_EXPECT(again.ok() && again->size() == fields->size(), written);
  for (size_t i = 0; i < fields->size(); ++i) {
    FUZZ_EXPECT_SAME((*again)[i].name, (*fields)[i].name, written);
    // One with unusual bytes may be written in quotes, and means the same.
    const auto meant = [](const pleat::KeyField& field) {
      return pleat::FormatWritten(*pleat::ParseWrittenPath(field.path));
    };
    if (!(*fields)[i].path.empty())
      FUZZ_EXPECT_SAME(meant((*again)[i]), meant((*fields)[i]), written);
  }
}

// Whether each path in `condition` is well formed: the reader of the condition leaves that to its user.
bool HasReadablePaths(const pleat::Condition& condition) {
  return condition.parts.empty() ? pleat::ParseWrittenPath(condition.path).ok()
                                 : std::ranges::all_of(condition.parts, HasReadablePaths);
}

bool MeanTheSame(const pleat::Condition& a, const pleat::Condition& b) {
  if (a.kind != b.kind || a.value != b.value) return false;
  if (!a.parts.empty()) return std::ranges::equal(a.parts, b.parts, MeanTheSame);
  return b.parts.empty() && pleat::FormatWritten(*pleat::ParseWrittenPath(a.path)) ==
                                pleat::FormatWritten(*pleat::ParseWrittenPath(b.path));
}

void TryCondition(std::string_view text) {
  const absl::StatusOr<pleat::Condition> condition = pleat::ParseCondition(text);
  if (!condition.ok()) return ExpectRefusal(condition.status(), text);
  if (!HasReadablePaths(*condition)) return;
  const std::string written = pleat::FormatCondition(*condition);
  const absl::StatusOr<pleat::Condition> again = pleat::ParseCondition(written);
  FUZZ_EXPECT(again.ok() && HasReadablePaths(*again) && MeanTheSame(*condition, *again), written);
  FUZZ_EXPECT_SAME(pleat::FormatCondition(*again), written, text);
}

}  // namespace
}  // namespace pleat_fuzz

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace pleat_fuzz;
  if (size == 0) return 0;
  const std::string_view text = TextOf(data + 1, size - 1);
  switch (data[0]) {
    case 'p': TryPath(text); break;
    case 'd': TryDuration(text); break;
    case 't': TryTimestamps(text); break;
    case 'z': TryTimes(text); break;
    case 'f': TryFormat(text); break;
    case 'n': TryNumbers(text); break;
    case 'w': TryWrittenPath(text); break;
    case 'm': TryMerge(text); break;
    case 'k': TryKeyFields(text); break;
    case 'c': TryCondition(text); break;
    default: break;
  }
  return 0;
}
