#include "engine/lines/spec/condition_text.h"

#include <algorithm>
#include <iterator>
#include <utility>
#include <vector>

#include "engine/base/utf8.h"
#include "engine/lines/scan/option_error.h"
#include "engine/lines/scan/option_json.h"
#include "engine/lines/scan/reasons.h"
#include "engine/lines/scan/text.h"
#include "engine/lines/scan/written_path.h"

namespace pleat::inline v0_1 {
namespace {

using invalid_line::Quoted;
using Kind = Condition::Kind;

struct KindName {
  std::string_view name;
  Kind kind;
};

// An operator before those that it begins with.
constexpr KindName kOperators[] = {
    {"!=", Kind::kNotEqual}, {"<=", Kind::kAtMost}, {">=", Kind::kAtLeast},
    {"=", Kind::kEqual},     {"<", Kind::kLess},    {">", Kind::kGreater},
};
constexpr KindName kGroups[] = {{"all", Kind::kAll}, {"any", Kind::kAny}, {"not", Kind::kNot}};

// Operators of other languages, and ours that replace them.
constexpr std::pair<std::string_view, std::string_view> kSlips[] = {
    {"==", "write ="},
    {"=>", "write >="},
    {"=<", "write <="},
    {"<>", "write !="},
    {"=~", "write =, which compares whole values; there are no patterns"}};

constexpr std::string_view kSeveral =
    R"(several conditions are {"all":["a=1","b=2"]} or {"any":["a=1","b=2"]})";
constexpr std::string_view kIfMeant = "; if it is meant, put it in quotes";

constexpr std::string_view kConditionForm =
    " is not PATH OP VALUE, such as status=done (OP is one of = != < <= > >=)";

std::string_view NameOf(Kind kind) {
  for (const KindName& each : kOperators) {
    if (each.kind == kind) return each.name;
  }
  for (const KindName& each : kGroups) {
    if (each.kind == kind) return each.name;
  }
  return "";
}

bool IsComparison(Kind kind) { return kind >= Kind::kEqual && kind <= Kind::kAtLeast; }

const KindName* OperatorAt(std::string_view text) {
  const auto* const found =
      std::find_if(std::begin(kOperators), std::end(kOperators),
                   [&](const KindName& each) { return text.starts_with(each.name); });
  return found == std::end(kOperators) ? nullptr : found;
}

// Of the first operator in `text`, or its size.
size_t FindOperator(std::string_view text) {
  size_t at = 0;
  while (at < text.size() && OperatorAt(text.substr(at)) == nullptr) ++at;
  return at;
}

// Of the first operator behind a path: those in its quotes and its searches are none.
size_t FindOperatorBehind(std::string_view path) {
  return EndOfWritten(path, [](std::string_view rest) { return OperatorAt(rest) != nullptr; });
}

bool IsSame(std::string_view text, std::string_view lower_case) {
  return std::ranges::equal(text, lower_case, [](char a, char b) {
    return (a >= 'A' && a <= 'Z' ? a - 'A' + 'a' : a) == b;
  });
}

// Whether another condition follows behind an `and` or an `or`. Such a word may well be part of a
// text: it joins conditions if it is in capitals, or if a comparison comes behind it.
bool JoinsConditions(std::string_view text) {
  if (text.find("&&") != text.npos || text.find("||") != text.npos) return true;
  for (size_t at = 0, end = 0; at < text.size(); at = end + 1) {
    end = std::min(text.find_first_of(" \t\r\n", at), text.size());
    const std::string_view word = text.substr(at, end - at);
    if (word == "AND" || word == "OR") return true;
    const std::string_view behind = text.substr(end);
    if ((IsSame(word, "and") || IsSame(word, "or")) && FindOperator(behind) != behind.size())
      return true;
  }
  return false;
}

bool InSingleQuotes(std::string_view text) {
  return text.size() >= 2 && text.front() == '\'' && text.back() == '\'';
}

// Why a path without quotes is likely a slip, or nothing.
std::string WhyNoBarePath(std::string_view path) {
  const std::string shown = "path " + Quoted(path);
  const bool quotes = path.find('"') != path.npos && !IsWrittenWithMarks(path);
  if (quotes || path.starts_with('{')) return shown + " has to be in quotes";
  if (InSingleQuotes(path)) return shown + " is in single quotes; write it without them";
  const std::string_view word = path.substr(0, path.find_first_of(" \t("));
  if (path.starts_with('!') || (IsSame(word, "not") && word != path)) {
    return shown + R"( begins with a negation; write {"not":"a=1"})" + std::string(kIfMeant);
  }
  // In the quotes and brackets of a path with marks, words are letters.
  const bool joins = !IsWrittenWithMarks(path) && JoinsConditions(std::string(path) + " =");
  const bool several = path.starts_with('(') || EndOfWritten(path, ",") != path.size() || joins;
  if (several) return shown + " is not one path; " + std::string(kSeveral) + std::string(kIfMeant);
  return {};
}

// Why a value that is no JSON scalar is likely a slip and no text, or nothing.
std::string WhyNoBareText(std::string_view value) {
  const std::string shown = "value " + Quoted(value);
  if (value.starts_with('"')) return shown + " starts with a quote but is not a JSON string";
  if (OperatorAt(value) != nullptr || value.starts_with('~')) {
    return shown + " starts with an operator" + std::string(kIfMeant);
  }
  if (JoinsConditions(value)) {
    return shown + " is not one value; " + std::string(kSeveral) + std::string(kIfMeant);
  }
  if (InSingleQuotes(value)) {
    return shown + " is in single quotes; write " + Quoted(value.substr(1, value.size() - 2));
  }
  for (const std::string_view word : {"true", "false", "null"}) {
    if (IsSame(value, word)) {
      return shown + " is no JSON; write " + std::string(word) + std::string(kIfMeant);
    }
  }
  if (value.find('|') != value.npos) {
    return shown + R"( has a | in it; one of several is {"any":["a=1","a=2"]})" +
           std::string(kIfMeant);
  }
  if (value.find(',') != value.npos) {
    return shown + R"( has a comma in it; one of several is {"any":["a=1","a=2"]})" +
           std::string(kIfMeant);
  }
  return {};
}

// Takes the path off the front of a comparison.
absl::StatusOr<std::string> TakePath(std::string_view& rest) {
  const std::string_view whole = rest;
  if (std::string_view behind = rest; rest.starts_with('"')) {
    absl::StatusOr<std::string> path = TakeQuoted(behind);
    if (!path.ok()) return path;
    behind = Trimmed(behind);
    if (OperatorAt(behind) != nullptr) {
      rest = behind;
      return UnquotedPath(*path);
    }
  }
  const size_t end = FindOperatorBehind(rest);
  const std::string_view path = Trimmed(rest.substr(0, end));
  const bool formed = end < rest.size() && (!path.starts_with('"') || IsWrittenWithMarks(path));
  if (!formed) return Wrong(Quoted(whole) + std::string(kConditionForm));
  if (path.empty()) return Wrong("a path is missing before " + Quoted(rest.substr(end)));
  if (std::string wrong = WhyNoBarePath(path); !wrong.empty()) return Wrong(wrong);
  rest.remove_prefix(end);
  return std::string(path);
}

absl::StatusOr<std::string> ReadValue(std::string_view text) {
  if (IsJsonScalar(text)) return Canonical(text);
  if (std::string wrong = WhyNoBareText(text); !wrong.empty()) return Wrong(wrong);
  if (!IsUtf8(text)) return Wrong("value " + Quoted(text) + " is not UTF-8");
  return JsonString(text);
}

absl::StatusOr<Condition> ParseComparison(std::string_view text) {
  std::string_view rest = Trimmed(text);
  absl::StatusOr<std::string> path = TakePath(rest);
  if (!path.ok()) return path.status();
  for (const auto& [slip, meant] : kSlips) {
    if (!rest.starts_with(slip)) continue;
    return Wrong(std::string(slip) + " in " + Quoted(text) + " is not an operator; " +
                 std::string(meant));
  }
  const KindName& op = *OperatorAt(rest);
  absl::StatusOr<std::string> value = ReadValue(Trimmed(rest.substr(op.name.size())));
  if (!value.ok()) return value.status();
  return Condition{op.kind, *std::move(path), *std::move(value), {}};
}

// Of a checked JSON object.
absl::StatusOr<Condition> ReadGroup(std::string_view object);

// Of a checked JSON value.
absl::StatusOr<Condition> ReadPart(std::string_view value) {
  if (value[0] == '"') return ParseComparison(Unescaped(value));
  if (value[0] == '{') return ReadGroup(value);
  return Wrong(Quoted(value) +
               R"( is no condition: "PATH OP VALUE", or an object with all, any or not)");
}

absl::StatusOr<Condition> ReadGroup(std::string_view object) {
  Condition condition;
  absl::Status status;
  int members = 0;
  const auto add = [&](std::string_view value) {
    if (!status.ok()) return;
    absl::StatusOr<Condition> part = ReadPart(value);
    part.ok() ? condition.parts.push_back(*std::move(part)) : status.Update(part.status());
  };
  ForEachMember(object, [&](std::string_view name, std::string_view value) {
    if (++members > 1 || !status.ok()) return;
    for (const KindName& each : kGroups) {
      if (Unescaped(name) == each.name) condition.kind = each.kind;
    }
    const bool list = value[0] == '[';
    if (condition.kind == Kind::kNone) {
      status = Wrong(Quoted(Unescaped(name)) + " is none of all, any, not");
    } else if (list != (condition.kind != Kind::kNot)) {
      status = Wrong(list ? "not takes one condition, no array"
                          : std::string(NameOf(condition.kind)) + " takes an array of conditions");
    } else {
      list ? ForEachElement(value, add) : add(value);
    }
  });
  if (!status.ok()) return status;
  if (members != 1) return Wrong("an object in a condition has one member: all, any or not");
  return condition;
}

absl::Status Check(const Condition& condition, int levels, int& comparisons,
                   absl::FunctionRef<absl::Status(const std::string&)> check_path) {
  if (IsComparison(condition.kind)) {
    if (++comparisons > kComparisonsMax) {
      return Wrong("a condition of more than " + std::to_string(kComparisonsMax) + " comparisons");
    }
    if (!IsJsonScalar(condition.value)) {
      return Wrong("value " + Quoted(condition.value) + " is not a JSON scalar");
    }
    if (!IsUtf8(condition.path)) return Wrong("path " + Quoted(condition.path) + " is not UTF-8");
    return check_path(condition.path);
  }
  if (NameOf(condition.kind).empty()) return Wrong("a condition that says nothing");
  const std::string name(NameOf(condition.kind));
  if (condition.parts.empty()) return Wrong(name + " without a condition in it");
  if (condition.kind == Kind::kNot && condition.parts.size() > 1) {
    return Wrong("not takes one condition");
  }
  if (levels == kConditionLevelsMax) {
    return Wrong("all, any and not nest deeper than " + std::to_string(levels) + " levels");
  }
  for (const Condition& part : condition.parts) {
    absl::Status status = Check(part, levels + 1, comparisons, check_path);
    if (!status.ok()) return status;
  }
  return absl::OkStatus();
}

std::string BarePath(std::string_view path) {
  // A text that is all in quotes stands so if it has to.
  const bool quotes_fit =
      !path.starts_with('"') || (IsWrittenWithMarks(path) && NormalPath(path) == path);
  const bool bare = !path.empty() && path == Trimmed(path) && quotes_fit &&
                    !path.ends_with('!') &&  // with a = behind it, an operator
                    FindOperatorBehind(path) == path.size() && WhyNoBarePath(path).empty();
  if (bare) return std::string(path);
  return IsWrittenWithMarks(path) ? FormatWritten(*ParseWrittenPath(path)) : JsonString(path);
}

std::string FormatValue(std::string_view scalar) {
  if (scalar[0] != '"') return std::string(scalar);
  std::string text = Unescaped(scalar);
  const bool bare =
      !text.empty() && text == Trimmed(text) && !IsJsonScalar(text) && WhyNoBareText(text).empty();
  return bare ? text : JsonString(text);
}

}  // namespace

absl::Status CheckCondition(const Condition& condition,
                            absl::FunctionRef<absl::Status(const std::string&)> check_path) {
  int comparisons = 0;
  return Check(condition, 0, comparisons, check_path);
}

absl::StatusOr<Condition> ParseCondition(std::string_view text) {
  text = Trimmed(text);
  const bool group = text.starts_with('{');
  const std::string wrong = group ? WhyNoObject(text) : "";
  if (!wrong.empty()) return Wrong(Quoted(text) + ": " + wrong);
  absl::StatusOr<Condition> condition = group ? ReadGroup(text) : ParseComparison(text);
  if (!condition.ok()) return condition;
  absl::Status status = CheckCondition(*condition, [](const auto&) { return absl::OkStatus(); });
  if (!status.ok()) return status;
  return condition;
}

std::string MergedName(std::string_view path) {
  std::string_view rest = path;
  if (!path.starts_with('"')) return std::string(path);
  absl::StatusOr<std::string> name = TakeQuoted(rest);
  return name.ok() && rest.empty() ? *std::move(name) : std::string(path);
}

std::string FormatCondition(const Condition& condition) {
  if (IsComparison(condition.kind)) {
    return BarePath(condition.path) + std::string(NameOf(condition.kind)) +
           FormatValue(condition.value);
  }
  std::string parts;
  for (const Condition& part : condition.parts) {
    if (!parts.empty()) parts += ',';
    const std::string text = FormatCondition(part);
    parts += IsComparison(part.kind) ? JsonString(text) : text;
  }
  if (condition.kind != Kind::kNot) parts = "[" + parts + "]";
  return "{\"" + std::string(NameOf(condition.kind)) + "\":" + parts + "}";
}

}  // namespace pleat::inline v0_1
