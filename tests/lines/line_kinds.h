// Folders, live sets and counters that are fed by lines, in the same words.
#pragma once

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <string>
#include <string_view>

#include <gtest/gtest.h>
#include <pleat/json.h>
#include <pleat/json_live_set.h>
#include <pleat/json_rollup.h>

#include "tests/lines/drawn_jobs.h"
#include "tests/support/show.h"

namespace pleat::inline v0_1 {

struct FoldKind {
  using Spec = FoldSpec;
  using Collection = JsonFolder;

  static std::string Options(JobDraw& draw) { return draw.FoldOptions(); }
  // When somebody pops must not decide which events are refused.
  static void Prepare(FoldSpec& spec) { spec.folder.limits.count_ready = false; }
  static bool IsUsual(const LineResult& result) {
    return result.fold == FoldOutcome::kOpened || result.fold == FoldOutcome::kFolded;
  }
  static LineResult AddLine(JsonFolder& folder, std::string_view line, OnUnusualLine on_unusual) {
    return folder.FoldLine(line, kBeginningOfTime, on_unusual);
  }
  static size_t Add(JsonFolder& folder, JsonLines& lines, size_t max, OnUnusualLine on_unusual) {
    return folder.Fold(lines, max, kBeginningOfTime, on_unusual);
  }
  static void Look(Engine&, JsonFolder& folder, size_t most, std::string& out) {
    folder.Pop(most, out);
  }
  static std::string Open(Engine&, const JsonFolder& folder) {
    std::string open;
    folder.Scan([&](std::string_view lines) { open += lines; });
    return open;
  }
  static void End(JsonFolder& folder, std::string& out) {
    folder.CloseAll();
    folder.Pop(SIZE_MAX, out);
  }
  static uint64_t Saturated(const JsonFolder& folder) { return folder.saturated(); }
  static std::string Shown(const Ledger& ledger) {
    std::string out = ShowColumns(ledger);
    for (const uint64_t each : ledger.emissions) out += " " + std::to_string(each);
    return out;
  }
};

struct LiveSetKind {
  using Spec = LiveSetSpec;
  using Collection = JsonLiveSet;

  static std::string Options(JobDraw& draw) { return draw.LiveSetOptions(); }
  static void Prepare(LiveSetSpec&) {}
  static bool IsUsual(const LineResult& result) {
    switch (result.live_set) {
      case LiveSetOutcome::kLate:
      case LiveSetOutcome::kFuture:
      case LiveSetOutcome::kConflict:
      case LiveSetOutcome::kFull:
      case LiveSetOutcome::kOverLimit: return false;
      default: return true;
    }
  }
  static LineResult AddLine(JsonLiveSet& live_set, std::string_view line,
                            OnUnusualLine on_unusual) {
    return live_set.AddLine(line, kBeginningOfTime, on_unusual);
  }
  static size_t Add(JsonLiveSet& live_set, JsonLines& lines, size_t max, OnUnusualLine on_unusual) {
    return live_set.Add(lines, max, kBeginningOfTime, on_unusual);
  }
  static void Look(Engine&, JsonLiveSet& live_set, size_t, std::string& out) {
    const auto write = [&](std::string_view lines) { out += lines; };
    EXPECT_TRUE(live_set.TakeChanges(/*refreshes=*/true, write).ok());
  }
  static std::string Open(Engine& engine, const JsonLiveSet& live_set) {
    std::string open;
    live_set.WriteLive([&](std::string_view lines) { open += lines; });
    WriteCounts(live_set, engine.now(), open);
    return open;
  }
  static void End(JsonLiveSet&, std::string&) {}
  static uint64_t Saturated(const JsonLiveSet&) { return 0; }

  static void WriteCounts(const JsonLiveSet& live_set, EngineTime at, std::string& out) {
    const auto write = [&](std::string_view lines) { out += lines; };
    live_set.WriteCounts(at, {.top = SIZE_MAX, .within = {{"1s", std::chrono::seconds(1)}}}, write);
    live_set.WriteCounts(at, {.top = 2, .within = {}}, write);
  }
  static std::string Shown(const LiveSetLedger& m) {
    const std::initializer_list<uint64_t> counts = {
        m.events,    m.added,      m.refreshed,         m.updated,
        m.unchanged, m.duplicate,  m.conflict,          m.late,
        m.future,    m.tombstoned, m.over_limit,        m.expired,
        m.removed,   m.replaced,   m.dropped,           m.cleared,
        m.live,      m.changes,    m.tombstones_refused};
    std::string out;
    for (const uint64_t each : counts) out += std::to_string(each) + " ";
    for (const uint64_t each : m.causes) out += std::to_string(each) + " ";
    return out;
  }
};

struct RollupKind {
  using Spec = RollupSpec;
  using Collection = JsonRollup;

  static std::string Options(JobDraw& draw) { return draw.RollupOptions(); }
  static void Prepare(RollupSpec&) {}
  static bool IsUsual(const LineResult& result) {
    switch (result.add) {
      case AddOutcome::kAdded:
      case AddOutcome::kClamped:
      case AddOutcome::kCorrected:
      case AddOutcome::kDuplicate: return true;
      default: return false;
    }
  }
  static LineResult AddLine(JsonRollup& rollup, std::string_view line, OnUnusualLine on_unusual) {
    return rollup.AddLine(line, kBeginningOfTime, on_unusual);
  }
  static size_t Add(JsonRollup& rollup, JsonLines& lines, size_t max, OnUnusualLine on_unusual) {
    return rollup.Add(lines, max, kBeginningOfTime, on_unusual);
  }
  static void Look(Engine&, JsonRollup& rollup, size_t most, std::string& out) {
    rollup.Pop(most, [&](std::string_view lines) { out += lines; });
  }
  static std::string Open(Engine&, const JsonRollup& rollup) {
    std::string open;
    rollup.Scan([&](std::string_view lines) { open += lines; });
    return open;
  }
  static void End(JsonRollup& rollup, std::string& out) {
    rollup.CloseAll();
    rollup.Pop(SIZE_MAX, [&](std::string_view lines) { out += lines; });
  }
  static uint64_t Saturated(const JsonRollup& rollup) { return rollup.saturated(); }
  static std::string Shown(const RollupLedger& m) {
    const std::initializer_list<uint64_t> counts = {m.events,
                                                    m.added,
                                                    m.duplicate,
                                                    m.conflict,
                                                    m.late,
                                                    m.clamped,
                                                    m.corrected,
                                                    m.future,
                                                    m.over_limit,
                                                    m.over_byte_limit,
                                                    m.late_unknown,
                                                    m.windows,
                                                    m.made_final,
                                                    m.ended,
                                                    m.open,
                                                    m.checkpointed,
                                                    m.pending,
                                                    m.delta_added,
                                                    m.delta_checkpointed,
                                                    m.delta_pending,
                                                    m.keys_opened,
                                                    m.forgotten};
    std::string out;
    for (const uint64_t each : counts) out += std::to_string(each) + " ";
    return out;
  }
};

}  // namespace pleat::inline v0_1
