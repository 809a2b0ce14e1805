// Windows of a rollup counter, each as one line of JSON.
//
//   {"page":"Main","start":T,"end":T,"count":9,"sum":120,"reason":"frozen"}
//
// After the reason come, in this order: "corrects":"P-G" in a correction, "saturated":true, and
// "id":"P-G".
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include <pleat/any_collection.h>
#include <pleat/delta.h>
#include <pleat/json_rollup.h>

#include "engine/json/line_writer.h"
#include "engine/json/timestamp.h"

namespace pleat::inline v0_1 {

class RollupPrinter {
 public:
  explicit RollupPrinter(const RollupSpec& spec);

  // Each appends a line, its '\n' included. The state of `emission` is a CountedWindow.
  void Append(const ClosedGroup& emission, LineWriter& out);
  void AppendOpen(std::string_view key, const CountedWindow& window, LineWriter& out);

 private:
  void Begin(std::string_view key, const CountedWindow& window, std::string_view reason,
             LineWriter& out);
  void PutSaturated(const CountedWindow& window, LineWriter& out) const;

  const std::vector<std::string> key_labels_;
  const bool has_sum_;
  const bool has_id_;
  // One for starts and one for ends: a writer is fast if each time is near the one before.
  TimestampWriter start_times_;
  TimestampWriter end_times_;
};

}  // namespace pleat::inline v0_1
