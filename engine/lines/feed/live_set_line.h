// Changes, counts and members of a live set, each as one line of JSON.
//
//   {"project":"p1","user":"ann","at":T,"cause":"added","count":2,"stamp":T,"until":T}
//   {"project":"p1","at":T,"count":7,"within":{"5m":1,"1h":4}}
//   {"project":"p1","user":"ann","stamp":T,"until":T}
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <pleat/change.h>
#include <pleat/json_live_set.h>
#include <pleat/untyped/any_live_set.h>

#include "engine/lines/reduce/line_writer.h"
#include "engine/lines/time/timestamp.h"

namespace pleat::inline v0_1 {

class LiveSetPrinter {
 public:
  explicit LiveSetPrinter(const LiveSetSpec& spec);

  // Each appends a line, its '\n' included.
  void AppendChange(const AnyChange& change, LineWriter& out);
  void AppendMember(std::string_view series, const AnyLive& member, LineWriter& out);
  // `within` are the counts of `spans`, or both are empty.
  void AppendCount(std::string_view series, EngineTime at, size_t count,
                   std::span<const WithinSpan> spans, std::span<const size_t> within,
                   LineWriter& out);

 private:
  size_t BeginMember(std::string_view series, std::string_view id, LineWriter& out) const;
  void PutLife(EngineTime stamp, EngineTime deadline, LineWriter& out);
  void EndMember(const void* payload, LineWriter& out) const;

  std::vector<std::string> key_labels_;
  std::vector<std::string> member_labels_;
  const bool has_names_;
  const bool has_payload_;
  // One for each, since each goes slowly through time by itself.
  TimestampWriter at_times_;
  TimestampWriter stamp_times_;
  TimestampWriter until_times_;
};

}  // namespace pleat::inline v0_1
