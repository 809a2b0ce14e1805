// What is said about a rollup counter, in words: engine and model agree if they say the same.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <optional>
#include <string>
#include <string_view>

#include <pleat/emission.h>
#include <pleat/outcome.h>
#include <pleat/rollup.h>
#include <pleat/rollup_options.h>
#include <pleat/rollup_values.h>
#include <pleat/time.h>

#include "tests/model/live_set_words.h"
#include "tests/model/rollup_model.h"

namespace pleat::inline v0_1 {

inline std::string Said(AddOutcome outcome) {
  constexpr std::array<std::string_view, kAddOutcomes> kNames = {
      "added",  "clamped",    "corrected", "late_unknown",   "duplicate", "conflict", "late",
      "future", "over_limit", "stopped",   "would_deadlock", "elsewhere", "replayed"};
  return std::string(kNames.at(static_cast<size_t>(outcome)));
}
inline std::string Said(LeaseOutcome outcome) {
  constexpr std::array<std::string_view, 11> kNames = {
      "done", "cut", "stale", "", "", "", "", "", "", "closed", "would_deadlock"};
  return std::string(kNames.at(static_cast<size_t>(outcome)));
}
inline std::string Said(const RollupCounts& results) {
  std::string out;
  for (size_t i = 0; i < kAddOutcomes; ++i) {
    const auto outcome = static_cast<AddOutcome>(i);
    if (results[outcome] > 0) out += Said(results[outcome]) + " " + Said(outcome) + " ";
  }
  return out;
}

inline std::string SaidOfReal(double real) {
  char text[32];
  std::snprintf(text, sizeof(text), "%.17g", real);
  return text;
}
inline std::string Said(const Delta& delta) {
  switch (delta.kind()) {
    case Delta::Kind::kInteger: return std::to_string(delta.whole());
    case Delta::Kind::kReal: return SaidOfReal(delta.real());
    case Delta::Kind::kAbove: return "above";
    case Delta::Kind::kBelow: return "below";
    case Delta::Kind::kNone: return "none";
  }
  return "";
}
inline std::string Said(const Amount& amount) {
  return Said(amount.count) + "x" + std::to_string(amount.sum) +
         (amount.integer ? "" : " real " + SaidOfReal(amount.real)) +
         (amount.integer && amount.real != static_cast<double>(amount.sum) ? " unlike its real"
                                                                           : "") +
         (amount.saturated ? " saturated" : "") + (amount.none ? " none" : "");
}
inline std::string Said(const EventualCount& count) {
  return Said(count.amount) + " as of " + Said(count.as_of) + " lag " +
         std::to_string(count.lag.count());
}
inline std::string Said(const AccurateCount& count) {
  return Said(count.amount) + " from " + Said(count.checkpoint) +
         (count.loaded ? "" : " not loaded");
}
// What a counter comes to.
template <class Side>
std::string SaidOfValues(const Side& side, std::string_view key) {
  return "eventual " + Said(side.Eventual(key)) + ", accurate " + Said(side.Accurate(key));
}
inline std::string Said(const AddedCount& added) {
  if (added.outcome == AddOutcome::kStopped) return Said(added.outcome);
  return Said(added.outcome) + ": " + Said(added.value);
}
inline std::string Said(const CountedWindow& window) {
  return "[" + Said(window.start) + ", " + Said(window.end) + ") " + Said(window.amount);
}
inline std::string Said(const TopCount& top) { return top.key + ":" + Said(top.amount); }

inline std::string Said(EmissionId id) {
  return std::to_string(id.partition) + "-" + std::to_string(id.generation);
}

// With its name, which depends on the number of partitions, or without.
inline std::string SaidOfEmission(const std::string& key, const CountedWindow& state,
                                  uint64_t count, EngineTime first, EngineTime last,
                                  EngineTime closed, Reason reason) {
  return key + " " + std::string(ReasonName(reason)) + " " + Said(state) + " of " + Said(count) +
         " events " + Said(first) + "-" + Said(last) + " closed " + Said(closed);
}
inline std::string SaidOfName(EmissionId id, const std::optional<EmissionId>& corrects) {
  return " #" + Said(id) + (corrects ? " corrects #" + Said(*corrects) : "");
}
inline std::string SaidWithoutName(const Emission<CountedWindow>& e) {
  return SaidOfEmission(e.key, e.state, e.count, e.first, e.last, e.closed, e.reason);
}
inline std::string Said(const Emission<CountedWindow>& e) {
  return SaidWithoutName(e) + SaidOfName(e.id, e.corrects) +
         (e.revision != 1 || e.partial ? " of another revision" : "");
}
inline std::string Said(const ModelGroup& e, const CountedWindow& state) {
  return SaidOfEmission(e.key, state, state.amount.count, e.first, e.last, e.closed, e.reason) +
         SaidOfName(e.id, e.corrects);
}

// How much of what waits until time visits it has been visited.
enum class Settled { kNo, kButForForgotten, kYes };

inline std::string Said(const RollupLedger& l, Settled settled) {
  struct Column {
    std::string_view name;
    uint64_t count;
    Settled from = Settled::kNo;
  };
  constexpr Settled kWaits = Settled::kButForForgotten;
  const std::array<Column, 23> columns = {{{"events", l.events},
                                           {"added", l.added},
                                           {"duplicate", l.duplicate},
                                           {"conflict", l.conflict},
                                           {"late", l.late},
                                           {"clamped", l.clamped},
                                           {"corrected", l.corrected},
                                           {"future", l.future},
                                           {"over_limit", l.over_limit},
                                           {"over_byte_limit", l.over_byte_limit},
                                           {"late_unknown", l.late_unknown},
                                           {"clears", l.clears},
                                           {"windows", l.windows},
                                           {"ended", l.ended},
                                           {"delta_added", l.delta_added},
                                           {"keys_opened", l.keys_opened},
                                           {"final", l.made_final, kWaits},
                                           {"open", l.open, kWaits},
                                           {"checkpointed", l.checkpointed, kWaits},
                                           {"pending", l.pending, kWaits},
                                           {"delta_checkpointed", l.delta_checkpointed, kWaits},
                                           {"delta_pending", l.delta_pending, kWaits},
                                           {"forgotten", l.forgotten, Settled::kYes}}};
  std::string out;
  for (const Column& column : columns) {
    if (column.count > 0 && settled >= column.from) {
      out += std::string(column.name) + " " + std::to_string(column.count) + " ";
    }
  }
  return out;
}

// Without bytes, which the model does not count, and ids, which are forgotten some time later.
inline std::string Said(const RollupSizes& sizes, Settled settled) {
  return (settled == Settled::kYes ? Said(sizes.keys) + " keys, " : "") + Said(sizes.open) +
         " open, " + Said(sizes.retained) + " retained, " + Said(sizes.ready) + " ready, " +
         Said(sizes.unpublished) + " unpublished";
}

}  // namespace pleat::inline v0_1
