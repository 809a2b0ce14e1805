#include "tools/pleat/records/field_value.h"

#include <pleat/json_lines.h>

namespace pleat::cli {
namespace {

// Takes digits off the front. Returns whether there was one.
bool TakeDigits(std::string_view& text) {
  const size_t before = text.size();
  while (!text.empty() && text[0] >= '0' && text[0] <= '9') text.remove_prefix(1);
  return text.size() < before;
}

bool TakeAnyOf(std::string_view& text, std::string_view chars) {
  if (text.empty() || chars.find(text[0]) == std::string_view::npos) return false;
  text.remove_prefix(1);
  return true;
}

}  // namespace

// 1.5, -0 and 12345678901234567890, and neither 007 nor 7e2: these may be ids.
bool IsFieldNumber(std::string_view field, Exponents exponents) {
  TakeAnyOf(field, "-");
  if (!TakeAnyOf(field, "0") && !TakeDigits(field)) return false;
  if (TakeAnyOf(field, ".") && !TakeDigits(field)) return false;
  if (exponents == Exponents::kTaken && TakeAnyOf(field, "eE")) {
    TakeAnyOf(field, "+-");
    if (!TakeDigits(field)) return false;
  }
  return field.empty();
}

void AppendFieldValue(std::string_view field, std::string& out) {
  if (field.empty()) {
    out += "null";
  } else if (IsFieldNumber(field, Exponents::kRefused)) {
    out += field;
  } else {
    AppendJsonString(field, out);
  }
}

}  // namespace pleat::cli
