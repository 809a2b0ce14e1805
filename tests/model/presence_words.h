// What is said about presence, in words: engine and model agree if they say the same.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include <pleat/change.h>
#include <pleat/presence.h>
#include <pleat/presence_options.h>
#include <pleat/time.h>

#include "tests/model/live_set_words.h"

namespace pleat::inline v0_1 {

inline constexpr size_t kPresenceOutcomes = 17;

inline std::string Said(PresenceOutcome outcome) {
  constexpr std::array<std::string_view, kPresenceOutcomes> kNames = {
      "joined",       "refreshed", "updated",    "unchanged", "returned",       "connected",
      "late",         "future",    "over_limit", "stopped",   "would_deadlock", "reconnected",
      "disconnected", "full",      "left",       "unknown",   "superseded"};
  return std::string(kNames.at(static_cast<size_t>(outcome)));
}

inline std::string Said(const PresenceCounts& counts) {
  return Said(counts.here) + " here, " + Said(counts.away) + " away, " + Said(counts.connections) +
         " connections";
}

// `generation_of` says how both sides name a generation.
template <class Metadata, class GenerationOf>
std::string SaidOfUser(const PresentUser<Metadata>& user, const std::string& metadata,
                       const GenerationOf& generation_of) {
  std::string out = user.id + "=" + metadata + "@" + Said(user.stamp) + "-" + Said(user.deadline) +
                    (user.away ? " away" : "") + " {";
  for (const Connection& c : user.connections) {
    out += c.id + " g" + Said(generation_of(c.generation)) + "@" + Said(c.stamp) + "-" +
           Said(c.deadline) + " ";
  }
  return out + "}\n   ";
}

inline std::string SaidOfChange(const ChangeInfo& change, std::string_view series,
                                std::string_view user, const std::string& metadata) {
  return Said(change.change.partition) + "." + Said(change.change.number) + " " +
         std::string(CauseName(change.cause)) + " " + std::string(series) + " " +
         std::string(user) + "=" + metadata + " at " + Said(change.at) + " count " +
         Said(change.count) + " away " + Said(change.away) + " @" + Said(change.stamp) + "-" +
         Said(change.deadline);
}

// Without `settled`, what waits until time visits it is left out.
inline std::string Said(const PresenceLedger& l, bool settled) {
  const std::array<uint64_t, 24> columns = {l.events,
                                            l.joined,
                                            l.returned,
                                            l.connected,
                                            l.reconnected,
                                            l.refreshed,
                                            l.updated,
                                            l.unchanged,
                                            l.disconnected,
                                            l.left,
                                            l.unknown,
                                            l.superseded,
                                            l.late,
                                            l.future,
                                            l.over_limit,
                                            l.left_away,
                                            l.opened,
                                            settled ? l.timed_out : 0,
                                            settled ? l.went_away : 0,
                                            settled ? l.expired : 0,
                                            settled ? l.users : 0,
                                            settled ? l.away : 0,
                                            settled ? l.connections : 0,
                                            settled ? l.changes : 0};
  constexpr std::array<std::string_view, 24> kNames = {
      "events",    "joined",    "returned",     "connected", "reconnected", "refreshed",
      "updated",   "unchanged", "disconnected", "left",      "unknown",     "superseded",
      "late",      "future",    "over_limit",   "left_away", "opened",      "timed_out",
      "went_away", "expired",   "users",        "away",      "connections", "changes"};
  std::string out;
  for (size_t i = 0; i < columns.size(); ++i) {
    if (columns.at(i) > 0) out += std::string(kNames.at(i)) + " " + Said(columns.at(i)) + " ";
  }
  return out;
}

inline std::string Said(const PresenceSizes& sizes) {
  return Said(sizes.series) + " series, " + Said(sizes.users) + " users, " +
         Said(sizes.connections) + " connections";
}

}  // namespace pleat::inline v0_1
