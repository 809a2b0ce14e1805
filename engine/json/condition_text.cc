#include "engine/json/condition_text.h"

#include <algorithm>
#include <iterator>
#include <utility>
#include <vector>

#include "engine/json/option_json.h"
#include "engine/json/reasons.h"
#include "engine/json/text.h"
#include "engine/json/tokens.h"

namespace pleat::inline v0 {
namespace {

using bad_line::Quoted;
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

// What other languages write.
constexpr std::pair<std::string_view, std::string_view> kSlips[] = {
    {"==", "="}, {"=>", ">="}, {"=<", "<="}, {"<>", "!="}};

constexpr std::string_view kForm =
    " is not PATH OP VALUE, such as status=done (OP is one of = != < <= > >=)";

absl::Status Wrong(const std::string& message) { return absl::InvalidArgumentError(message); }

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

// Whether a value would not be taken for text as it stands.
bool LooksLikeMore(std::string_view value) {
  return OperatorAt(value) != nullptr || value.find("&&") != value.npos ||
         value.find("||") != value.npos;
}

// Takes the path off the front of a comparison.
absl::StatusOr<std::string> TakePath(std::string_view& rest) {
  const std::string_view whole = rest;
  if (!rest.starts_with('"')) {
    const size_t end = FindOperator(rest);
    if (end == rest.size()) return Wrong(Quoted(whole) + std::string(kForm));
    const std::string_view path = Trimmed(rest.substr(0, end));
    if (path.empty()) return Wrong("a path is missing before " + Quoted(rest.substr(end)));
    if (path.find('"') != path.npos || path.starts_with('{')) {
      return Wrong("the path in " + Quoted(whole) + " has to be in quotes");
    }
    rest.remove_prefix(end);
    return std::string(path);
  }
  absl::StatusOr<std::string> path = TakeQuoted(rest);
  if (!path.ok()) return path;
  rest = Trimmed(rest);
  if (OperatorAt(rest) == nullptr) return Wrong(Quoted(whole) + std::string(kForm));
  return path;
}

absl::StatusOr<std::string> ReadValue(std::string_view text) {
  if (IsJsonScalar(text)) return Canonical(text);
  if (text.starts_with('"')) {
    return Wrong("value " + Quoted(text) + " starts with a quote but is not a JSON string");
  }
  if (OperatorAt(text) != nullptr) {
    return Wrong("value " + Quoted(text) +
                 " starts with an operator; if it is meant, put it in quotes");
  }
  if (LooksLikeMore(text)) {
    return Wrong(Quoted(text) + R"( is not one value; write {"all":["a=1","b=2"]} or any, )"
                                "or, if it is meant, put it in quotes");
  }
  if (!IsUtf8(text)) return Wrong("value " + Quoted(text) + " is not UTF-8");
  return JsonString(text);
}

absl::StatusOr<Condition> ParseComparison(std::string_view text) {
  std::string_view rest = Trimmed(text);
  absl::StatusOr<std::string> path = TakePath(rest);
  if (!path.ok()) return path.status();
  for (const auto& [slip, meant] : kSlips) {
    if (!rest.starts_with(slip)) continue;
    return Wrong(std::string(slip) + " in " + Quoted(text) + " is not an operator; write " +
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

std::string FormatPath(std::string_view path) {
  const bool bare = !path.empty() && path == Trimmed(path) && !path.starts_with('{') &&
                    path.find_first_of("\"=!<>") == path.npos;
  return bare ? std::string(path) : JsonString(path);
}

std::string FormatValue(std::string_view scalar) {
  if (scalar[0] != '"') return std::string(scalar);
  std::string text = Unescaped(scalar);
  const bool bare = !text.empty() && text == Trimmed(text) && text[0] != '"' &&
                    !LooksLikeMore(text) && !IsJsonScalar(text);
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

std::string FormatCondition(const Condition& condition) {
  if (IsComparison(condition.kind)) {
    return FormatPath(condition.path) + std::string(NameOf(condition.kind)) +
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

}  // namespace pleat::inline v0
