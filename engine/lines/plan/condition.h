// A Condition made ready to be evaluated: each path of its comparisons became the number of a
// place.
//
// Scalars are compared by their canonical text, which is empty for an absent member; numbers by
// their value. A plan never changes after it was made.
#pragma once

#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

#include <absl/functional/function_ref.h>
#include <pleat/json_lines.h>

namespace pleat::inline v0_1 {

// Whether `left OP right` holds, for the OP of a comparison. `left` is the text of any value,
// canonical if it is a scalar, or empty; `right` is a scalar's.
bool Compares(Condition::Kind op, std::string_view left, std::string_view right) noexcept;

class ConditionPlan {
 public:
  ConditionPlan() = default;

  // `place_of` returns the place of a path. `untyped`: a comparison with true, false or null holds for that
  // text as well. REQUIRES: a checked condition, or kNone.
  ConditionPlan(const Condition& condition, absl::FunctionRef<int(const std::string&)> place_of,
                bool untyped = false);

  // Whether there is no condition. An empty one never holds.
  bool empty() const noexcept { return kind_ == Condition::Kind::kNone; }

  // Whether the condition holds for the values whose texts `text_at(place)` returns. Each text has
  // to stay until the next call of `text_at`.
  template <class TextAt>
  bool Holds(const TextAt& text_at) const {
    const auto holds = [&](const ConditionPlan& part) { return part.Holds(text_at); };
    switch (kind_) {
      case Condition::Kind::kNone: return false;
      case Condition::Kind::kAll: return std::all_of(parts_.begin(), parts_.end(), holds);
      case Condition::Kind::kAny: return std::any_of(parts_.begin(), parts_.end(), holds);
      case Condition::Kind::kNot: return !holds(parts_.front());
      default: break;
    }
    const std::string_view text = text_at(place_);
    return Compares(kind_, !also_.empty() && text == also_ ? value_ : text, value_);
  }

 private:
  Condition::Kind kind_ = Condition::Kind::kNone;
  int place_ = 0;
  std::string value_;
  std::string also_;  // a text that counts as the value; empty: none
  std::vector<ConditionPlan> parts_;
};

}  // namespace pleat::inline v0_1
