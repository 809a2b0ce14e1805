// What is said about a live set, in words: engine and model agree if they say the same.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include <pleat/live_set.h>
#include <pleat/live_set_options.h>
#include <pleat/time.h>

#include "tests/model/chain.h"
#include "tests/model/live_set_model.h"

namespace pleat::inline v0_1 {

// A payload that owns memory. The model knows its number only.
struct Word {
  std::string text;
  Counted counted;

  static Word Of(uint64_t number) {
    return {.text = std::to_string(number) + std::string(number % 2 * 40, 'w')};
  }
  size_t HeapBytes() const noexcept { return text.size(); }
  template <class F>
  void Stored(F& f) {
    f(text);
  }
  friend bool operator==(const Word& a, const Word& b) { return a.text == b.text; }
};

inline std::string Said(EngineTime t) {
  return t == kNever ? "never" : std::to_string(t.time_since_epoch().count());
}
inline std::string Said(size_t n) { return std::to_string(n); }
inline std::string Said(LiveSetOutcome outcome) {
  constexpr std::array<std::string_view, kLiveSetOutcomes> kNames = {
      "added",          "refreshed", "updated",  "unchanged",  "duplicate",
      "conflict",       "late",      "future",   "over_limit", "stopped",
      "would_deadlock", "elsewhere", "replayed", "full",       "tombstoned"};
  return std::string(kNames.at(static_cast<size_t>(outcome)));
}
inline std::string Said(LiveSetControl control) {
  constexpr std::array<std::string_view, 11> kNames = {
      "done",   "nothing",    "newer",  "out_of_range",  "", "", "",
      "future", "over_limit", "closed", "would_deadlock"};
  return std::string(kNames.at(static_cast<size_t>(control)));
}
inline std::string Said(const LiveSetCounts& counts) {
  std::string out;
  for (size_t i = 0; i < kLiveSetOutcomes; ++i) {
    const auto outcome = static_cast<LiveSetOutcome>(i);
    if (counts[outcome] > 0) out += Said(counts[outcome]) + " " + Said(outcome) + " ";
  }
  return out;
}

inline std::string Said(const std::string& line) { return line + "\n   "; }
inline std::string Said(const Word& word) { return word.text; }
inline std::string Said(const LiveSetModel::Member& member, const Word& payload) {
  return member.id + "=" + Said(payload) + "@" + Said(member.stamp) + "-" + Said(member.deadline) +
         (member.version ? "v" + Said(*member.version) : "");
}
inline std::string Said(const LiveSetModel::Member& member) {
  return Said(member, Word::Of(member.payload));
}
inline std::string Said(const LiveMember<Word>& member) {
  return Said({member.id, 0, member.stamp, member.deadline, member.version}, member.payload);
}
template <class T>
std::string Said(const std::optional<T>& value) {
  return value ? Said(*value) : "none";
}
inline std::string Said(const SeriesCount& series) {
  return series.series + ":" + Said(series.count);
}
template <class T>
std::string Said(const std::vector<T>& values) {
  std::string out;
  for (const T& value : values) out += Said(value) + " ";
  return out;
}

// Without `settled`, what waits until time visits it is left out.
inline std::string Said(const LiveSetLedger& l, bool settled) {
  const std::array<uint64_t, 19> columns = {l.events,
                                            l.added,
                                            l.refreshed,
                                            l.updated,
                                            l.unchanged,
                                            l.duplicate,
                                            l.conflict,
                                            l.late,
                                            l.future,
                                            l.tombstoned,
                                            l.over_limit,
                                            l.removed,
                                            l.replaced,
                                            l.dropped,
                                            l.cleared,
                                            l.tombstones_refused,
                                            settled ? l.expired : 0,
                                            settled ? l.live : 0,
                                            settled ? l.changes : 0};
  constexpr std::array<std::string_view, 19> kNames = {
      "events",    "added",      "refreshed",  "updated",
      "unchanged", "duplicate",  "conflict",   "late",
      "future",    "tombstoned", "over_limit", "removed",
      "replaced",  "dropped",    "cleared",    "tombstones_refused",
      "expired",   "live",       "changes"};
  std::string out;
  for (size_t i = 0; i < columns.size(); ++i) {
    if (columns.at(i) > 0) out += std::string(kNames.at(i)) + " " + Said(columns.at(i)) + " ";
  }
  return out;
}
// A change, without its number. That of an import tells the count only.
inline std::string Said(Cause cause, std::string_view series, std::string_view id,
                        const Word& payload, EngineTime at, size_t count, EngineTime stamp,
                        EngineTime deadline) {
  const std::string of_series = std::string(CauseName(cause)) + " " + std::string(series) + " at " +
                                Said(at) + " count " + Said(count);
  if (cause == Cause::kImported) return of_series;
  return of_series + " " + std::string(id) + "=" + Said(payload) + "@" + Said(stamp) + "-" +
         Said(deadline);
}

// Without tombstones: a partition forgets them when it is next visited.
inline std::string Said(const LiveSetSizes& sizes) {
  return Said(sizes.series) + " series, " + Said(sizes.members) + " members";
}

}  // namespace pleat::inline v0_1
