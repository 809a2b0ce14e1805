// A run of lines through a collection, and all that it leaves.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <sstream>
#include <string>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include <gtest/gtest.h>
#include <pleat/snapshot.h>

#include "tests/lines/line_kinds.h"
#include "tests/lines/lines.h"
#include "tests/support/bytes.h"

namespace pleat::inline v0_1 {

// All that a run leaves, but the stamps of its input.
struct Left {
  std::string out;
  std::string open;                  // at the end, before all is closed
  std::vector<std::string> unusual;  // but for the invalid lines
  std::vector<std::string> invalid;
  std::string counts;
  EngineTime now{};
  std::vector<OptionPath> absent;
  std::string faults;  // of the run by itself
};

template <class Kind>
class LinesRun {
 public:
  using Collection = typename Kind::Collection;
  using Spec = typename Kind::Spec;

  // `every`: of counts of a live set; 0: none.
  LinesRun(const Spec& spec, int partitions, Duration every)
      : spec_(spec), partitions_(partitions), every_(every) {
    Open();
    Begin();
  }

  LineResult::Kind AddLine(const std::string& text) {
    const PaddedLine line(text);
    bool told = false;
    const LineResult result = Kind::AddLine(*lines_, line.view(), [&](const UnusualLine& unusual) {
      told |= unusual.index == 0;
      return Tell(unusual);
    });
    if (told && result.kind != LineResult::Kind::kWaiting) faults_ += "told twice: " + text + "\n";
    if (!told && IsUnusual(result)) Tell({0, line.view(), result});
    given_.push_back(text);
    CheckCounts();
    return result.kind;
  }

  // Several lines, read beforehand. They are taken `max` at a time.
  void AddText(const std::vector<std::string>& texts, bool ended, size_t max) {
    const PaddedLine text(Joined(texts, ended));
    JsonLines lines(lines_->plan());
    lines.Read(text.view());
    while (lines.left() > 0) {
      Kind::Add(*lines_, lines, max, [&](const UnusualLine& unusual) { return Tell(unusual); });
    }
    given_.insert(given_.end(), texts.begin(), texts.end());
    CheckCounts();
  }

  void FoldText(const std::vector<std::string>& texts, bool ended) {
    if constexpr (std::is_same_v<Kind, FoldKind>) {
      const PaddedLine text(Joined(texts, ended));
      lines_->FoldLines(text.view(), kBeginningOfTime,
                        [&](const UnusualLine& unusual) { return Tell(unusual); });
      given_.insert(given_.end(), texts.begin(), texts.end());
      CheckCounts();
    } else {
      AddText(texts, ended, SIZE_MAX);
    }
  }

  // By the collection's own stage.
  void Advance(EngineTime now) {
    lines_->Advance(now, [&](const UnusualLine& unusual) { return Tell(unusual); });
    CheckCounts();
  }
  // Of a collection without one.
  void AdvanceEngine(EngineTime now) {
    if (now <= engine_->now()) return;
    if (every_ > Duration{0}) CountUpTo(now);
    engine_->Advance(now);
  }

  void StartInput() { lines_->StartInput(); }

  // Also in the midst of a call, behind a few lines that have waited.
  void LookWhenTaken() {
    looks_when_taken_ = true;
    lines_->SetOnTaken([this] { Look(SIZE_MAX); });
  }
  void Look(size_t most) { Kind::Look(*engine_, *lines_, most, out_); }

  // Goes on from a snapshot, in another engine.
  void Restart() {
    Kind::Look(*engine_, *lines_, 0, out_);  // changes are in no snapshot
    const LineCounts counts = lines_->counts();
    const StampCounts stamps = lines_->stamps();
    const std::optional<EngineTime> next = lines_->next_waiting();
    saturated_ += Kind::Saturated(*lines_);
    StringSink sink;
    ASSERT_TRUE(TakeSnapshot(*engine_, sink).ok());
    Open();
    StringSource source(sink.bytes);
    const absl::Status restored = RestoreSnapshot(*engine_, source, {.skip_numbers = 0});
    ASSERT_TRUE(restored.ok()) << restored.message();
    StringSink again;
    ASSERT_TRUE(TakeSnapshot(*engine_, again).ok());
    // Lines that wait lie in no order that means anything.
    if (counts.waiting == 0 && again.bytes != sink.bytes) {
      faults_ += "saved again, a snapshot has other bytes\n";
    }
    if (!(lines_->counts() == counts)) faults_ += "a restart changed the counts of lines\n";
    StampCounts kept = lines_->stamps();
    kept.assumed_utc = stamps.assumed_utc;
    if (!(kept == stamps)) faults_ += "a restart changed the counts of stamps\n";
    if (lines_->next_waiting() != next) faults_ += "a restart changed the next that waits\n";
    Begin();
  }

  Left End() {
    lines_->TakeWaiting([&](const UnusualLine& unusual) { return Tell(unusual); });
    CheckCounts();
    if (lines_->counts().waiting != 0) faults_ += "lines wait behind the end\n";
    if (lines_->next_waiting()) faults_ += "a stamp waits behind the end\n";
    Look(SIZE_MAX);
    Left left;
    left.open = Kind::Open(*engine_, *lines_);
    Kind::End(*lines_, out_);
    left.out = out_;
    left.unusual = unusual_;
    left.invalid = invalid_;
    left.counts = CountsText();
    left.now = engine_->now();
    left.absent = lines_->absent_paths();
    std::ranges::sort(left.absent, {},
                      [](const OptionPath& path) { return std::tie(path.option, path.path); });
    if (!lines_->ledger().Balances()) faults_ += "the ledger does not balance\n";
    left.faults = faults_;
    return left;
  }

  Collection& lines() { return *lines_; }
  Engine& engine() { return *engine_; }

 private:
  void Open() {
    lines_.reset();
    EngineOptions options = EngineOptionsFor(spec_.event);
    options.partitions = partitions_;
    engine_ = *Engine::Open(options);
    lines_ = *Collection::Open(*engine_, "lines", spec_);
  }

  void Begin() {
    if (looks_when_taken_) LookWhenTaken();
    if constexpr (std::is_same_v<Kind, LiveSetKind>) {
      lines_->WatchChanges();
      if (every_ == Duration{0}) return;
      lines_->SetOnTime([this](EngineTime now, int64_t) { return CountUpTo(now); });
    }
  }

  // At each multiple of `every_` before time comes to `now`, as long as there is a member.
  EngineTime CountUpTo(EngineTime now) {
    if constexpr (std::is_same_v<Kind, LiveSetKind>) {
      for (EngineTime at = NextCount(); at <= now && lines_->ledger().live > 0; at = NextCount()) {
        engine_->Advance(at);
        LiveSetKind::WriteCounts(*lines_, at, counts_out_);
      }
      engine_->Advance(now);
    }
    return NextCount();
  }
  EngineTime NextCount() const {
    const Duration since = engine_->now() - FromUnix(Duration{0});
    return FromUnix(since - since % every_ + every_);
  }

  static std::string Joined(const std::vector<std::string>& texts, bool ended) {
    std::string joined;
    for (const std::string& text : texts) joined += text + "\n";
    if (!ended && !texts.empty() && !texts.back().empty()) joined.pop_back();
    return joined;
  }

  static bool IsUnusual(const LineResult& result) {
    switch (result.kind) {
      case LineResult::Kind::kBlank:
      case LineResult::Kind::kExcluded:
      case LineResult::Kind::kWaiting: return false;
      case LineResult::Kind::kEvent: return !Kind::IsUsual(result);
      default: return true;
    }
  }

  bool Tell(const UnusualLine& line) {
    const LineResult& result = line.result;
    const auto number = [](auto value) { return std::to_string(static_cast<int>(value)); };
    const std::string told = "kind " + number(result.kind) + ", " + number(result.fold) + " " +
                             number(result.live_set) + " " + number(result.add) + ", " +
                             std::string(result.reason) + " <- " + std::string(line.text);
    (result.kind == LineResult::Kind::kInvalid ? invalid_ : unusual_).push_back(told);
    if (!IsUnusual(result)) faults_ += "told, but usual: " + told + "\n";
    told_.emplace_back(static_cast<int64_t>(given_.size()) + static_cast<int64_t>(line.index),
                       line.text);
    return true;
  }

  void CheckCounts() {
    // A line is told of by its place among all that were given, those of this call included.
    for (const auto& [place, text] : told_) {
      const bool is_there = place >= 0 && place < static_cast<int64_t>(given_.size());
      if (!is_there || given_[static_cast<size_t>(place)] != text) {
        faults_ += "told of line " + std::to_string(place) + ", which is not: " + text + "\n";
      }
    }
    told_.clear();
    const LineCounts counts = lines_->counts();
    const auto lines =
        static_cast<uint64_t>(std::ranges::count_if(given_, [](const std::string& text) {
          return text.find_first_not_of(" \t") != std::string::npos;
        }));
    if (counts.lines != lines ||
        counts.lines != counts.events + counts.invalid + counts.excluded + counts.waiting) {
      faults_ += "lines do not add up\n";
    }
  }

  std::string CountsText() {
    const LineCounts counts = lines_->counts();
    std::ostringstream out;
    out << "lines " << counts.lines << ", events " << counts.events << ", invalid "
        << counts.invalid << ", excluded " << counts.excluded << ", mismatched "
        << counts.mismatched << ", control " << counts.control << ", saturated "
        << (saturated_ + Kind::Saturated(*lines_)) << "\n"
        << Kind::Shown(lines_->ledger()) << "\ncounts of members:\n"
        << counts_out_;
    return out.str();
  }

  const Spec spec_;
  const int partitions_;
  const Duration every_;
  bool looks_when_taken_ = false;
  std::string counts_out_;  // apart, as they are written while changes wait
  uint64_t saturated_ = 0;  // before the last restart
  std::string out_;
  std::vector<std::string> given_;
  std::vector<std::pair<int64_t, std::string>> told_;  // by the call under way
  std::vector<std::string> unusual_;
  std::vector<std::string> invalid_;
  std::string faults_;
  std::unique_ptr<Engine> engine_;
  std::unique_ptr<Collection> lines_;
};

}  // namespace pleat::inline v0_1
