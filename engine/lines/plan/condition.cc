#include "engine/lines/plan/condition.h"

#include <optional>

#include "engine/lines/scan/number.h"
#include "engine/lines/scan/option_json.h"
#include "engine/lines/scan/text.h"

namespace pleat::inline v0_1 {
namespace {

using Kind = Condition::Kind;

bool IsNumberText(std::string_view text) noexcept {
  return text[0] == '-' || (text[0] >= '0' && text[0] <= '9');
}

std::string_view Inside(std::string_view quoted) noexcept {
  return quoted.substr(1, quoted.size() - 2);
}

// Takes the next byte that a canonical string stands for off the front of its inside; -1 at its
// end. A canonical escape stands for one byte.
int TakeByte(std::string_view& inside) noexcept {
  if (inside.empty()) return -1;
  char byte = inside[0];
  const size_t size = byte != '\\' ? 1 : inside[1] == 'u' ? 6 : 2;
  WriteUnescaped(inside.substr(0, size), &byte);
  inside.remove_prefix(size);
  return static_cast<unsigned char>(byte);
}

int CompareStrings(std::string_view left, std::string_view right) noexcept {
  left = Inside(left);
  right = Inside(right);
  const bool escapes = left.find('\\') != left.npos || right.find('\\') != right.npos;
  if (!escapes) return left.compare(right);
  for (;;) {
    const int a = TakeByte(left);
    const int b = TakeByte(right);
    if (a != b) return a - b;
    if (a < 0) return 0;
  }
}

// The text of a number, also of one in quotes; empty for any other value.
std::string_view NumberIn(std::string_view text) noexcept {
  if (IsNumberText(text)) return text;
  if (text[0] != '"' || !IsNumber(Inside(text))) return {};
  return Inside(text);
}

// The sign of left - right, or nothing if they have no order. Beside a number a text counts as the number
// that it is; beside a text it is text.
std::optional<int> Order(std::string_view left, std::string_view right) noexcept {
  if (IsNumberText(right)) {
    const std::string_view number = NumberIn(left);
    if (number.empty()) return std::nullopt;
    return CompareNumbers(number, right);
  }
  if (left[0] == '"' && right[0] == '"') return CompareStrings(left, right);
  return std::nullopt;
}

bool AreEqual(std::string_view left, std::string_view right) noexcept {
  return left == right || (IsNumberText(right) && Order(left, right) == 0);
}

}  // namespace

bool Compares(Kind op, std::string_view left, std::string_view right) noexcept {
  if (left.empty()) left = "null";
  if (op == Kind::kEqual) return AreEqual(left, right);
  if (op == Kind::kNotEqual) return !AreEqual(left, right);
  const std::optional<int> order = Order(left, right);
  if (!order) return false;
  switch (op) {
    case Kind::kLess: return *order < 0;
    case Kind::kAtMost: return *order <= 0;
    case Kind::kGreater: return *order > 0;
    case Kind::kAtLeast: return *order >= 0;
    default: return false;
  }
}

ConditionPlan::ConditionPlan(const Condition& condition,
                             absl::FunctionRef<int(const std::string&)> place_of, bool untyped)
    : kind_(condition.kind) {
  switch (kind_) {
    case Kind::kNone: break;
    case Kind::kAll:
    case Kind::kAny:
    case Kind::kNot:
      for (const Condition& part : condition.parts) parts_.emplace_back(part, place_of, untyped);
      break;
    default:
      place_ = place_of(condition.path);
      value_ = Canonical(condition.value);
      if (untyped && std::string_view("tfn").find(value_[0]) != std::string_view::npos)
        also_ = JsonString(value_);
  }
}

}  // namespace pleat::inline v0_1
