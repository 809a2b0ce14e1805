// A Condition made ready to be asked: the paths of its comparisons are places by number.
//
// A scalar stands here as its canonical text, empty if it is absent, so that two are equal if their
// texts are, and numbers if their values are. It never changes after it was made.
#pragma once

#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

#include <absl/functional/function_ref.h>
#include <pleat/json_text.h>

namespace pleat::inline v0_1 {

// Whether `left OP right` holds, for the OP of a comparison. `left` is the text of any value, canonical
// if it is a scalar, or empty; `right` is a scalar's.
bool Compares(Condition::Kind op, std::string_view left, std::string_view right) noexcept;

class ConditionPlan {
 public:
  ConditionPlan() = default;

  // `place_of` gives the place of what a path names. REQUIRES: a checked condition, or kNone.
  ConditionPlan(const Condition& condition, absl::FunctionRef<int(const std::string&)> place_of);

  // Of kNone, which never holds.
  bool empty() const noexcept { return kind_ == Condition::Kind::kNone; }

  // Whether it holds, where `text_at(place)` gives the values' texts, each until the next call.
  template <class TextAt>
  bool Holds(const TextAt& text_at) const {
    const auto holds = [&](const ConditionPlan& part) { return part.Holds(text_at); };
    switch (kind_) {
      case Condition::Kind::kNone: return false;
      case Condition::Kind::kAll: return std::all_of(parts_.begin(), parts_.end(), holds);
      case Condition::Kind::kAny: return std::any_of(parts_.begin(), parts_.end(), holds);
      case Condition::Kind::kNot: return !holds(parts_.front());
      default: return Compares(kind_, text_at(place_), value_);
    }
  }

 private:
  Condition::Kind kind_ = Condition::Kind::kNone;
  int place_ = 0;
  std::string value_;
  std::vector<ConditionPlan> parts_;
};

}  // namespace pleat::inline v0_1
