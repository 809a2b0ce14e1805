// Cases of disordered lines, drawn; how they are given to a collection, and what they are compared
// by.
//
//   PLEAT_SEED=17   in the environment: only this case
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "tests/lines/drawn_jobs.h"
#include "tests/lines/json_harness.h"
#include "tests/lines/lines_run.h"
#include "tests/model/shrink.h"
#include "tests/support/seeds.h"
#include "tests/support/share.h"

namespace pleat::inline v0_1 {

// What happens to the lines, in the order of arrival.
struct Step {
  enum class Kind { kLine, kAdvance, kStartInput };
  Kind kind = Kind::kLine;
  StampedLine line;
  EngineTime now{};  // of kAdvance
};

struct Case {
  std::string options;
  Duration bound{0};
  Duration future_limit = kForever;
  size_t max_waiting_bytes = SIZE_MAX;
  int partitions = 1;
  uint64_t way = 0;       // the seed of how the lines are given
  bool restarts = false;  // from snapshots on the way
  std::vector<Step> steps;
};

inline std::string Shown(const Case& drawn) {
  std::ostringstream out;
  out << drawn.options << " --reorder " << FormatDuration(drawn.bound);
  if (drawn.future_limit != kForever) {
    out << " --future-limit " << FormatDuration(drawn.future_limit);
  }
  out << "\n  partitions " << drawn.partitions << ", way " << drawn.way;
  if (drawn.max_waiting_bytes != SIZE_MAX) out << ", waiting bytes " << drawn.max_waiting_bytes;
  for (const Step& step : drawn.steps) {
    out << "\n  ";
    switch (step.kind) {
      case Step::Kind::kLine: out << step.line.text; break;
      case Step::Kind::kAdvance: out << "time moves to " << FormatTimestamp(step.now); break;
      case Step::Kind::kStartInput: out << "another input begins"; break;
    }
  }
  return out.str();
}

inline std::vector<Step> StepsOf(const std::vector<StampedLine>& lines) {
  std::vector<Step> steps;
  for (const StampedLine& line : lines) steps.push_back({.line = line});
  return steps;
}

inline std::vector<StampedLine> LinesOf(const std::vector<Step>& steps) {
  std::vector<StampedLine> lines;
  for (const Step& step : steps) {
    if (step.kind == Step::Kind::kLine) lines.push_back(step.line);
  }
  return lines;
}

// By time; of equal times in their order.
inline std::vector<StampedLine> Sorted(std::vector<StampedLine> lines) {
  std::multimap<EngineTime, StampedLine> sorted;
  for (StampedLine& line : lines) sorted.emplace(line.at, std::move(line));
  lines.clear();
  for (auto& [at, line] : sorted) lines.push_back(std::move(line));
  return lines;
}

// Behind some line.
inline void Insert(const Step& step, JobDraw& draw, std::vector<Step>& steps) {
  const size_t place = 1 + draw.Below(steps.size());
  steps.insert(steps.begin() + static_cast<std::ptrdiff_t>(place), step);
}

// A limit on memory is that of a collection in one partition, as the program has it: else the times
// of pops decide which events are refused.
inline int PartitionsFor(const std::string& options, JobDraw& draw) {
  return draw.Chance(80) || options.find("max-memory") != std::string::npos ? 1 : 3;
}

// In an order in which no line is further behind than `bound`; some cases are in order.
inline std::vector<StampedLine> Disordered(std::vector<StampedLine> lines, Duration bound,
                                           JobDraw& draw) {
  std::ranges::shuffle(lines, draw.random());
  using namespace std::chrono_literals;
  const Duration longest = std::min<Duration>(bound, 100s);
  const size_t delayed = draw.Pick({0, 20, 50, 80});
  std::multimap<EngineTime, StampedLine> arrival;
  for (StampedLine& line : lines) {
    Duration delay{0};
    if (draw.Chance(delayed)) {
      delay = draw.Chance(30) ? longest
                              : Duration(static_cast<int64_t>(
                                    draw.Below(static_cast<size_t>(longest.count()) + 1)));
      if (draw.Chance(50)) delay -= delay % 250ms;
    }
    const EngineTime at = line.at + delay;
    arrival.emplace(at, std::move(line));
  }
  lines.clear();
  for (auto& [at, line] : arrival) lines.push_back(std::move(line));
  return lines;
}

template <class Spec>
Spec SpecFor(const Case& drawn) {
  Spec spec;
  for (const auto& [name, text] : OptionsIn(drawn.options)) {
    const absl::Status status = SetOption(spec, name, text);
    EXPECT_TRUE(status.ok()) << name << ": " << status.message();
  }
  EXPECT_TRUE(Validate(spec).ok()) << Validate(spec).message() << "\n" << drawn.options;
  return spec;
}

// Beside the kinds of line_kinds.h.
struct AnalyzeKind {
  static std::string Options(JobDraw& draw) { return draw.EventOptions(); }
};

// --- How lines are given

// The lines in the order of arrival, in texts and one by one, with looks between, as `drawn.way`
// says. `after` is called behind each line that went in alone, and behind each moving of time.
template <class Kind>
Left Given(const Case& drawn, LinesRun<Kind>& run, const std::function<void(size_t step)>& after) {
  JobDraw way(drawn.way);
  const bool alone = drawn.max_waiting_bytes != SIZE_MAX;
  const size_t looks = way.Pick({0, 10, 40});
  if (way.Chance(30)) run.LookWhenTaken();
  for (size_t i = 0; i < drawn.steps.size();) {
    std::vector<std::string> texts;
    const size_t most = alone || way.Chance(40) ? 1 : 1 + way.Below(way.Pick({3, 10, 60}));
    const auto is_line = [&](size_t step) {
      return step < drawn.steps.size() && drawn.steps[step].kind == Step::Kind::kLine;
    };
    while (texts.size() < most && is_line(i + texts.size())) {
      texts.push_back(drawn.steps[i + texts.size()].line.text);
    }
    if (texts.empty()) {
      const Step& step = drawn.steps[i++];
      step.kind == Step::Kind::kAdvance ? run.Advance(step.now) : run.StartInput();
    } else if (alone || (texts.size() == 1 && way.Chance(80))) {
      run.AddLine(texts.front());
      ++i;
    } else {
      i += texts.size();
      const bool ended = way.Chance(70);
      if (way.Chance(40)) {
        run.FoldText(texts, ended);
      } else {
        run.AddText(texts, ended, way.Chance(50) ? SIZE_MAX : 1 + way.Below(7));
      }
    }
    after(i - 1);
    if (way.Chance(looks)) run.Look(way.Chance(50) ? SIZE_MAX : way.Below(3));
    if (drawn.restarts && way.Chance(15)) run.Restart();
  }
  if (drawn.restarts && way.Chance(50)) run.Restart();
  return run.End();
}

inline bool IsAccepted(LineResult::Kind kind) {
  return kind == LineResult::Kind::kEvent || kind == LineResult::Kind::kControl;
}

// What each line is, and the invalid ones, by a collection without a bound that takes them as they
// come.
struct Scouted {
  std::vector<LineResult::Kind> kinds;  // of each step; kBlank for one that is no line
  std::vector<std::string> invalid;
  std::vector<OptionPath> absent;
  StampCounts stamps;
};

template <class Kind>
Scouted ScoutedBy(const Case& drawn, const typename Kind::Spec& plain) {
  LinesRun<Kind> run(plain, drawn.partitions, Duration{0});
  Scouted scouted;
  for (const Step& step : drawn.steps) {
    const bool is_line = step.kind == Step::Kind::kLine;
    if (step.kind == Step::Kind::kStartInput) run.StartInput();
    scouted.kinds.push_back(is_line ? run.AddLine(step.line.text) : LineResult::Kind::kBlank);
  }
  Left left = run.End();
  scouted.invalid = std::move(left.invalid);
  scouted.absent = std::move(left.absent);
  scouted.stamps = run.lines().stamps();
  return scouted;
}

// Of the accepted lines in the order in which they come.
class PlainStamps {
 public:
  void Note(EngineTime at) {
    if (stamps_.newest != kBeginningOfTime && at < stamps_.newest) {
      ++stamps_.out_of_order;
      stamps_.most_behind = std::max(stamps_.most_behind, stamps_.newest - at);
    }
    stamps_.oldest = std::min(stamps_.oldest, at);
    stamps_.newest = std::max(stamps_.newest, at);
  }
  const StampCounts& counts() const { return stamps_; }

 private:
  StampCounts stamps_;
};

// Nothing, or where the texts part.
inline std::string Difference(const std::string& what, const std::string& got,
                              const std::string& want) {
  if (got == want) return "";
  const auto parted = std::ranges::mismatch(got, want).in1 - got.begin();
  const size_t end = std::min(got.size(), static_cast<size_t>(parted));
  const size_t begin = end == 0 ? 0 : got.rfind('\n', end - 1) + 1;
  const auto line = [begin](const std::string& text) {
    if (begin >= text.size()) return std::string("(nothing)");
    return text.substr(begin, text.find('\n', begin) - begin);
  };
  return what + " differs:\n    got  " + line(got) + "\n    want " + line(want) + "\n";
}

inline std::string Joined(const std::vector<std::string>& texts) {
  std::string joined;
  for (const std::string& text : texts) joined += text + "\n";
  return joined;
}

// What has to be the same however lines come. The invalid ones come as they came.
inline std::string Differences(const Left& got, const Left& want) {
  std::string differences = Difference("output", got.out, want.out) +
                            Difference("open", got.open, want.open) +
                            Difference("unusual", Joined(got.unusual), Joined(want.unusual)) +
                            Difference("time", FormatTimestamp(got.now), FormatTimestamp(want.now));
  for (const Left* each : {&got, &want}) {
    if (!each->faults.empty()) differences += each->faults;
  }
  return differences;
}

// What all cases together have come across.
using Seen = std::map<std::string, uint64_t>;

inline void Look(const Left& left, Seen& seen) {
  for (size_t reason = 1; reason <= kReasons; ++reason) {
    const std::string name(ReasonName(static_cast<Reason>(reason)));
    seen[name] += left.out.find("\"reason\":\"" + name + '"') != std::string::npos;
  }
  for (const std::string cause :
       {"added", "expired", "unpublished", "updated", "replaced", "dropped"}) {
    seen[cause] += left.out.find("\"cause\":\"" + cause + '"') != std::string::npos;
  }
  seen["open"] += !left.open.empty();
  seen["unusual"] += !left.unusual.empty();
  seen["invalid"] += !left.invalid.empty();
}

// The future limit that no line is beyond, in any of both orders.
inline Duration EnoughFuture(std::vector<StampedLine> lines) {
  Duration enough{0};
  for (int order = 0; order < 2; ++order) {
    EngineTime newest = kEndOfTime;
    for (const StampedLine& line : lines) {
      if (newest == kEndOfTime) newest = line.at;
      enough = std::max(enough, line.at - newest);
      newest = std::max(newest, line.at);
    }
    lines = Sorted(std::move(lines));
  }
  return enough;
}

inline std::vector<StampedLine> AcceptedLines(const Case& drawn, const Scouted& scouted) {
  std::vector<StampedLine> lines;
  for (size_t i = 0; i < drawn.steps.size(); ++i) {
    if (IsAccepted(scouted.kinds[i])) lines.push_back(drawn.steps[i].line);
  }
  return lines;
}

// --- What is expected

// Fails with the fewest lines that are needed.
template <class Broken>
void ExpectUnbroken(Case drawn, const Broken& broken) {
  const std::string first = broken(drawn);
  if (first.empty()) return;
  const auto run = [&](const std::vector<Step>& steps) -> std::optional<std::string> {
    Case fewer = drawn;
    fewer.steps = steps;
    std::string found = broken(fewer);
    if (found.empty()) return std::nullopt;
    return found;
  };
  drawn.steps = Shrunk(drawn.steps, run);
  ADD_FAILURE() << broken(drawn) << Shown(drawn);
}

// All cases together must have come across everything, else they say less than they seem to.
inline void ExpectSeen(Seen seen, const std::vector<std::string>& expected) {
  if (kSanitized || testing::Test::HasFailure()) return;
  for (const std::string& what : expected) EXPECT_GT(seen[what], 0u) << what;
}

}  // namespace pleat::inline v0_1
