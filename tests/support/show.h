// How tests write outcomes and ledgers.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include <pleat/emission.h>
#include <pleat/outcome.h>
#include <pleat/stats.h>

namespace pleat::inline v0_1 {

inline std::string_view NameOf(FoldOutcome outcome) {
  constexpr std::array<std::string_view, kFoldOutcomes> kNames = {
      "opened", "folded",     "corrected", "overloaded",     "duplicate", "conflict", "late",
      "future", "over_limit", "stopped",   "would_deadlock", "elsewhere", "replayed"};
  return kNames.at(static_cast<size_t>(outcome));
}

inline std::string_view NameOf(LeaseOutcome outcome) {
  constexpr std::array<std::string_view, 11> kNames = {
      "done", "clamped", "stale", "", "", "", "", "", "", "closed", "would_deadlock"};
  return kNames.at(static_cast<size_t>(outcome));
}

struct Column {
  std::string_view name;
  uint64_t Ledger::* count;
};

// All columns of a ledger but the emissions by reason.
inline constexpr Column kColumns[] = {{"events", &Ledger::events},
                                      {"opened", &Ledger::opened},
                                      {"folded", &Ledger::folded},
                                      {"late", &Ledger::late},
                                      {"future", &Ledger::future},
                                      {"over_limit", &Ledger::over_limit},
                                      {"overloaded", &Ledger::overloaded},
                                      {"duplicate", &Ledger::duplicate},
                                      {"conflict", &Ledger::conflict},
                                      {"corrected", &Ledger::corrected},
                                      {"closed", &Ledger::closed},
                                      {"cancelled", &Ledger::cancelled},
                                      {"silent", &Ledger::silent},
                                      {"partial", &Ledger::partial},
                                      {"popped", &Ledger::popped},
                                      {"acked", &Ledger::acked},
                                      {"dropped", &Ledger::dropped},
                                      {"open", &Ledger::open},
                                      {"ready", &Ledger::ready},
                                      {"unacked", &Ledger::unacked},
                                      {"dead", &Ledger::dead},
                                      {"late_folded", &Ledger::late_folded},
                                      {"over_byte_limit", &Ledger::over_byte_limit},
                                      {"deliveries", &Ledger::deliveries},
                                      {"nacked", &Ledger::nacked},
                                      {"ran_out", &Ledger::ran_out}};

// The columns that are not 0: "events 3 opened 2 folded 1".
inline std::string ShowColumns(const Ledger& ledger) {
  std::string out;
  for (const auto& [name, count] : kColumns) {
    if (ledger.*count == 0) continue;
    out += out.empty() ? "" : " ";
    out += std::string(name) + " " + std::to_string(ledger.*count);
  }
  return out;
}

}  // namespace pleat::inline v0_1
