// Whether engine and model agree so far, and if not, in what they differed first.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <sstream>
#include <string>
#include <string_view>

#include <pleat/emission.h>
#include <pleat/outcome.h>
#include <pleat/time.h>
#include <pleat/untyped/any_folder.h>

#include "tests/support/show.h"

namespace pleat::inline v0_1 {

class Agreement {
 public:
  template <class T>
  void Expect(std::string_view what, const T& engine, const T& model) {
    if (engine == model || !difference_.empty()) return;
    std::ostringstream out;
    out << what << " is " << Show(engine) << ", should be " << Show(model);
    difference_ = out.str();
  }
  void Fail(std::string_view why) {
    if (difference_.empty()) difference_ = why;
  }

  bool holds() const { return difference_.empty(); }
  const std::string& difference() const { return difference_; }

  static std::string Show(const std::string& text) {
    return text.size() <= 60 ? text : text.substr(0, 60) + "...";
  }
  static std::string Show(uint64_t n) { return std::to_string(n); }
  static std::string Show(EngineTime t) { return std::to_string(t.time_since_epoch().count()); }
  static std::string Show(LeaseTime t) { return Show(EngineTime(t)); }
  static std::string Show(Reason reason) { return std::string(ReasonName(reason)); }
  static std::string Show(FoldOutcome outcome) { return std::string(NameOf(outcome)); }
  static std::string Show(LeaseOutcome outcome) { return std::string(NameOf(outcome)); }
  static std::string Show(DeadReason why) {
    return why == DeadReason::kNacked ? "nacked" : "ran out";
  }
  static std::string Show(EmissionId id) {
    return std::to_string(id.partition) + ":" + std::to_string(id.generation);
  }
  static std::string Show(const std::optional<EmissionId>& id) { return id ? Show(*id) : "absent"; }

 private:
  std::string difference_;
};

}  // namespace pleat::inline v0_1
