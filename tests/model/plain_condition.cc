// See the header.
#include "tests/model/plain_condition.h"

#include <algorithm>
#include <cstdlib>
#include <optional>

namespace pleat::inline v0_1 {
namespace {

using Kind = PlainJson::Kind;

// 0.DIGITS times 10^exponent, with no zero at either end of the digits.
struct Decimal {
  bool negative = false;
  std::string digits;
  long exponent = 0;
};

Decimal ReadDecimal(const std::string& number) {
  Decimal out;
  const size_t e = std::min(number.find_first_of("eE"), number.size());
  const size_t point = std::min(number.find('.'), e);
  if (e < number.size()) out.exponent = std::atol(number.c_str() + e + 1);
  for (size_t i = 0; i < e; ++i) {
    const bool digit = '0' <= number[i] && number[i] <= '9';
    if (!digit) continue;
    if (i < point) ++out.exponent;
    out.digits += number[i];
  }
  while (out.digits.starts_with('0')) {
    out.digits.erase(0, 1);
    --out.exponent;
  }
  while (out.digits.ends_with('0')) out.digits.pop_back();
  if (out.digits.empty()) return {};
  out.negative = number.starts_with('-');
  return out;
}

int Sign(bool less, bool greater) { return less ? -1 : greater ? 1 : 0; }

bool IsScalar(const PlainJson& value) {
  return value.kind != Kind::kArray && value.kind != Kind::kObject;
}

bool Equal(const PlainJson& a, const PlainJson& b) {
  if (b.kind == Kind::kNumber && IsPlainNumber(a)) return ComparePlainNumbers(a.text, b.text) == 0;
  if (a.kind != b.kind || !IsScalar(a)) return false;
  return a.text == b.text;
}

// Nothing if the two have no order.
std::optional<int> Compare(const PlainJson& a, const PlainJson& b) {
  if (b.kind == Kind::kNumber && IsPlainNumber(a)) return ComparePlainNumbers(a.text, b.text);
  if (a.kind == Kind::kString && b.kind == Kind::kString) return a.text.compare(b.text);
  return std::nullopt;
}

std::string Trim(const std::string& text) {
  constexpr const char* kSpace = " \t\r\n";
  const size_t first = text.find_first_not_of(kSpace);
  if (first == std::string::npos) return "";
  return text.substr(first, text.find_last_not_of(kSpace) - first + 1);
}

PlainCondition ReadComparison(const std::string& text) {
  const bool quoted = text.starts_with('"');
  const size_t first = text.find_first_of("[=!<>");
  const bool search = !quoted && first != std::string::npos && text[first] == '[';
  const size_t behind = search ? text.find(']', first) + 1 : 0;
  const size_t end_of_path = quoted ? text.find('"', 1) + 1 : text.find_first_of("=!<>", behind);
  const std::string path = Trim(text.substr(0, end_of_path));
  const size_t op = text.find_first_of("=!<>", end_of_path);
  const size_t op_size = text[op] != '=' && text[op + 1] == '=' ? 2 : 1;
  const std::string written = Trim(text.substr(op + op_size));
  std::optional<PlainJson> value = ParsePlainJson(written);
  if (!value || !IsScalar(*value)) value = PlainJson{.kind = Kind::kString, .text = written};
  return {.op = text.substr(op, op_size),
          .path = quoted ? path.substr(1, path.size() - 2) : path,
          .value = *value};
}

PlainCondition ReadDocument(const PlainJson& document) {
  if (document.kind == Kind::kString) return ReadPlainCondition(document.text);
  const PlainJson& parts = document.elements.at(0);
  PlainCondition out{.op = document.names.at(0)};
  if (parts.kind == Kind::kArray) {
    for (const PlainJson& part : parts.elements) out.parts.push_back(ReadDocument(part));
  } else {
    out.parts.push_back(ReadDocument(parts));
  }
  return out;
}

}  // namespace

bool IsPlainNumber(const PlainJson& value) {
  if (value.kind == Kind::kNumber) return true;
  if (value.kind != Kind::kString) return false;
  const std::optional<PlainJson> inside = ParsePlainJson(value.text);
  return inside && inside->kind == Kind::kNumber && inside->text == value.text;
}

std::string PlainNumberForm(const std::string& number) {
  const Decimal decimal = ReadDecimal(number);
  if (decimal.digits.empty()) return "0";
  return (decimal.negative ? "-" : "") + decimal.digits + "e" + std::to_string(decimal.exponent);
}

int ComparePlainNumbers(const std::string& a, const std::string& b) {
  const Decimal x = ReadDecimal(a);
  const Decimal y = ReadDecimal(b);
  const auto sign = [](const Decimal& d) { return d.digits.empty() ? 0 : d.negative ? -1 : 1; };
  if (sign(x) != sign(y)) return sign(x) - sign(y);
  const int larger = x.exponent != y.exponent ? Sign(x.exponent < y.exponent, true)
                                              : Sign(x.digits<y.digits, x.digits> y.digits);
  return sign(x) * larger;
}

PlainCondition ReadPlainCondition(const std::string& text) {
  const std::string trimmed = Trim(text);
  if (trimmed.starts_with('{')) return ReadDocument(ParsePlainJson(trimmed).value());
  return ReadComparison(trimmed);
}

void AddPlainPaths(const PlainCondition& condition, std::vector<PlainPath>& paths) {
  if (!condition.path.empty()) paths.push_back(ReadPlainPath(condition.path));
  for (const PlainCondition& part : condition.parts) AddPlainPaths(part, paths);
}

bool Holds(const PlainCondition& condition, const PlainLookup& at) {
  const auto holds = [&](const PlainCondition& part) { return Holds(part, at); };
  if (condition.op.empty()) return false;
  if (condition.op == "all") return std::ranges::all_of(condition.parts, holds);
  if (condition.op == "any") return std::ranges::any_of(condition.parts, holds);
  if (condition.op == "not") return !holds(condition.parts.at(0));
  const PlainJson value = at(condition.path);
  if (condition.op == "=") return Equal(value, condition.value);
  if (condition.op == "!=") return !Equal(value, condition.value);
  const std::optional<int> order = Compare(value, condition.value);
  if (condition.op == "<") return order && *order < 0;
  if (condition.op == "<=") return order && *order <= 0;
  if (condition.op == ">") return order && *order > 0;
  return order && *order >= 0;
}

}  // namespace pleat::inline v0_1
