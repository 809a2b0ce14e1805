// --from and --to: an instant, written as the times of events may be.
#pragma once

#include <string>
#include <string_view>

#include <absl/status/status.h>
#include <absl/status/statusor.h>
#include <pleat/json_lines.h>

namespace pleat::inline v0_1 {

// The instant that `text` states: RFC 3339, or a date for its beginning; or what an event of the
// spec may have as its time, by the unit, the zone and the format of the spec. A date and a time
// that state no zone are those of the spec's zone. Errors: kInvalidArgument, which says what is
// missing.
absl::StatusOr<EngineTime> ReadInstant(std::string_view text, const EventSpec& spec);

// As the kinds of option_text.h. The whole spec is at hand, for its zone; `kBound` is the member.
template <EngineTime EventSpec::* kBound>
struct InstantText {
  static absl::Status Set(EventSpec& to, std::string_view text) {
    const absl::StatusOr<EngineTime> at = ReadInstant(text, to);
    if (at.ok()) to.*kBound = *at;
    return at.status();
  }
  static std::string Get(const EventSpec& value) {
    return value.*kBound == kNever ? std::string() : FormatTimestamp(value.*kBound);
  }
};

}  // namespace pleat::inline v0_1
