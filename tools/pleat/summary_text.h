// The summary of a run for people: a few rows, the values right-aligned.
//
//   lines     39,232  0 invalid, 0 late, 0 over limit
//   took      0.13 s  293,185 lines/s, 17.2 MB/s read
#pragma once

#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <pleat/json_lines.h>
#include <pleat/time.h>

namespace pleat::cli {

struct SummaryRow {
  std::string label;
  std::string value;
  std::string more;
};

std::string SummaryText(const std::vector<SummaryRow>& rows);

// ", 3 late, 1 duplicate": those that are not zero.
using CountAndWhat = std::pair<uint64_t, std::string_view>;
std::string IfAny(std::initializer_list<CountAndWhat> counts);

// How many lines there were, and what became of those that were not simply taken: "0 invalid, 0
// late, 0 over limit", and what else there was.
SummaryRow LinesRow(const LineCounts& lines, uint64_t late, uint64_t over_limit,
                    std::initializer_list<CountAndWhat> more);

// A member of the ledger, whose value is a number.
struct LedgerMember {
  LedgerMember(std::string_view member, uint64_t value)
      : name(member), number(std::to_string(value)) {}
  LedgerMember(std::string_view member, std::string value)
      : name(member), number(std::move(value)) {}

  std::string_view name;
  std::string number;
};

// `"lines":12,"folding_ratio":0.5`
std::string MembersText(std::initializer_list<LedgerMember> members);

// The stamps of the first and the last event by time, as the members of --stats that end its object:
// `,"first_stamp":"...","last_stamp":"..."`. null if there was no event, or events state no time.
std::string StampMembers(const StampCounts& stamps, bool stated);

// By how much the clock was behind, as a further member: `,"clock_behind_s":3600`. Nothing if no
// clock was compared.
std::string ClockMember(std::optional<Duration> behind);

// "; 2 lines have a sum at the end of its range, WHERE". Nothing if there are none.
std::string SaturatedText(uint64_t count, std::string_view what, std::string_view where);

// What a run has read itself, and how long that took.
struct RunEffort {
  uint64_t lines = 0;
  uint64_t bytes = 0;  // as read from the disk or the pipe
  Duration took{0};
};

// How long it took, and how fast that was.
SummaryRow TookRow(const RunEffort& effort);

}  // namespace pleat::cli
