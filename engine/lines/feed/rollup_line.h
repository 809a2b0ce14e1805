// Windows of a rollup counter, each as one line of JSON.
//
//   {"page":"Main","start":T,"end":T,"count":9,"sum":120,"reason":"final"}
//
// After the reason come, in this order: "corrects":"P-G" in a correction, "saturated":true, and
// "id":"P-G".
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include <pleat/emission.h>
#include <pleat/json_rollup.h>
#include <pleat/rollup_values.h>

#include "engine/lines/reduce/line_writer.h"
#include "engine/lines/time/timestamp.h"

namespace pleat::inline v0_1 {

class RollupPrinter {
 public:
  explicit RollupPrinter(const RollupSpec& spec);

  // Each appends a line, its '\n' included. The state of `emission` is a CountedWindow.
  void Append(const ClosedGroup& emission, LineWriter& out);
  void AppendOpen(std::string_view key, const CountedWindow& window, LineWriter& out);

  // How many lines of Append() say "saturated".
  uint64_t saturated() const noexcept { return saturated_; }

 private:
  void Begin(std::string_view key, const CountedWindow& window, std::string_view reason,
             LineWriter& out);
  bool IsSaturated(const CountedWindow& window) const noexcept {
    return has_sum_ && window.amount.saturated;
  }

  const std::vector<std::string> key_labels_;
  const bool has_sum_;
  const bool has_id_;
  // One for starts and one for ends: a writer is fast if each time is near the one before.
  TimestampWriter start_times_;
  TimestampWriter end_times_;
  uint64_t saturated_ = 0;
};

}  // namespace pleat::inline v0_1
