// Several collections behind one intake of lines, drawn: a folder, a live set and a counter that read
// the same lines, each by its own options.
//   - Texts give what the lines give when each goes into one collection after the other.
//   - Lines whose disorder is within the bound give what sorted lines give without a bound, also over
//     restarts.
//   - With more disorder, or with little room, texts give what single lines give.
#include <algorithm>
#include <cstdint>
#include <memory>
#include <optional>
#include <sstream>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <gtest/gtest.h>
#include <pleat/json_intake.h>
#include <pleat/snapshot.h>

#include "tests/lines/reorder_case.h"
#include "tests/support/bytes.h"

namespace pleat::inline v0_1 {
namespace {

using std::chrono_literals::operator""s;

struct SharedCase {
  std::string live_options;
  std::string rollup_options;
  Case lines;  // and the options of the folder

  template <class Spec>
  Spec SpecOf(const std::string& options) const {
    Case own = lines;
    own.options = options;
    auto spec = SpecFor<Spec>(own);
    const auto folder = SpecFor<FoldSpec>(lines);
    spec.event.time = folder.event.time;
    spec.event.time_unit = folder.event.time_unit;
    spec.event.time_zone = folder.event.time_zone;
    spec.event.reorder = lines.bound;
    spec.event.future_limit = lines.future_limit;
    spec.event.max_waiting_bytes = lines.max_waiting_bytes;
    return spec;
  }
};

// All that a run leaves.
struct LeftOfAll {
  std::string out;  // and open, and counted
  std::string unusual;
  std::vector<std::string> invalid;
  std::string stamps;
  std::string faults;
  bool waited = false;
};

// A folder, a live set and a counter of one engine. Without an intake, each line is given to one
// after the other.
class Together {
 public:
  Together(const SharedCase& drawn, bool has_intake)
      : fold_(drawn.SpecOf<FoldSpec>(drawn.lines.options)),
        live_(drawn.SpecOf<LiveSetSpec>(drawn.live_options)),
        rollup_(drawn.SpecOf<RollupSpec>(drawn.rollup_options)),
        partitions_(drawn.lines.partitions),
        has_intake_(has_intake) {
    FoldKind::Prepare(fold_);
    rollup_.rollup.limits.max_bytes = SIZE_MAX;  // an intake gives several events at once
    Open();
    live_set_->WatchChanges();
  }

  void Take(const std::vector<std::string>& texts, bool ended) {
    std::string joined;
    for (const std::string& text : texts) joined += text + "\n";
    if (!ended && !texts.back().empty()) joined.pop_back();
    const PaddedLine text(joined);
    const auto tell = [&](const UnusualLine& line, std::string_view name) {
      CheckPlace(line, texts);
      return Tell(line.text, line.result, name);
    };
    EXPECT_TRUE(intake_->Push(text.view(), kBeginningOfTime, tell));
    given_.insert(given_.end(), texts.begin(), texts.end());
    left_.waited |= intake_->counts().waiting > 0;
  }
  void TakeAlone(const std::string& text) {
    const PaddedLine line(text);
    const auto take = [&]<class Kind>(Kind, auto& collection, std::string_view name) {
      const LineResult result = Kind::AddLine(collection, line.view(), PassUnusualLine);
      const bool is_unusual = result.kind == LineResult::Kind::kEvent
                                  ? !Kind::IsUsual(result)
                                  : result.kind != LineResult::Kind::kBlank &&
                                        result.kind != LineResult::Kind::kExcluded;
      if (is_unusual) Tell(text, result, name);
    };
    take(FoldKind(), *folder_, "folder");
    take(LiveSetKind(), *live_set_, "live set");
    take(RollupKind(), *counter_, "counter");
  }

  // Goes on from a snapshot, in another engine.
  void Restart() {
    Look();
    const uint64_t waiting = intake_->counts().waiting;
    const auto next = intake_->next_waiting();
    StringSink sink;
    ASSERT_TRUE(TakeSnapshot(*engine_, sink).ok());
    Open();
    StringSource source(sink.bytes);
    const absl::Status restored = RestoreSnapshot(*engine_, source, {.skip_numbers = 0});
    ASSERT_TRUE(restored.ok()) << restored.message();
    live_set_->WatchChanges();
    if (intake_->counts().waiting != waiting) left_.faults += "a restart changed what waits\n";
    if (intake_->next_waiting() != next) left_.faults += "a restart changed the next stamp\n";
    given_.clear();
    has_restarted_ = true;
  }

  LeftOfAll End() {
    if (intake_ != nullptr) {
      const auto tell = [&](const UnusualLine& line, std::string_view name) {
        CheckPlace(line, {});
        return Tell(line.text, line.result, name);
      };
      EXPECT_TRUE(intake_->TakeWaiting(tell));
      if (intake_->counts().waiting != 0) left_.faults += "lines wait behind the end\n";
    }
    Look();
    std::ostringstream out;
    EndOf(FoldKind(), *folder_, out);
    EndOf(LiveSetKind(), *live_set_, out);
    EndOf(RollupKind(), *counter_, out);
    // Of one line some are told as it comes, and some when its turn has come.
    std::ranges::sort(left_.invalid);
    left_.out += out_ + changes_ + windows_ + out.str() + FormatTimestamp(engine_->now());
    return left_;
  }

 private:
  void Open() {
    folder_.reset();
    live_set_.reset();
    counter_.reset();
    intake_.reset();
    EngineOptions options = EngineOptionsFor(fold_.event);
    options.partitions = partitions_;
    engine_ = *Engine::Open(options);
    if (has_intake_) {
      intake_ = *JsonIntake::Open(*engine_, fold_.event);
      OpenIn(*intake_);
    } else {
      OpenIn(*engine_);
    }
  }
  template <class Place>
  void OpenIn(Place& place) {
    folder_ = *JsonFolder::Open(place, "folder", fold_);
    live_set_ = *JsonLiveSet::Open(place, "live set", live_);
    counter_ = *JsonRollup::Open(place, "counter", rollup_);
  }

  void Look() {
    FoldKind::Look(*engine_, *folder_, SIZE_MAX, out_);
    LiveSetKind::Look(*engine_, *live_set_, SIZE_MAX, changes_);
    RollupKind::Look(*engine_, *counter_, SIZE_MAX, windows_);
  }

  template <class Kind>
  void EndOf(Kind, typename Kind::Collection& collection, std::ostream& out) {
    const LineCounts counts = collection.counts();
    out << "lines " << counts.lines << ", events " << counts.events << ", invalid "
        << counts.invalid << ", excluded " << counts.excluded << ", mismatched "
        << counts.mismatched << ", control " << counts.control << "\n"
        << Kind::Shown(collection.ledger()) << "\n"
        << Kind::Open(*engine_, collection);
    std::string end;
    Kind::End(collection, end);
    out << end;
    std::vector<std::string> absent;
    for (const OptionPath& path : collection.absent_paths()) {
      absent.push_back(path.option + " " + path.path);
    }
    std::ranges::sort(absent);
    for (const std::string& path : absent) out << path << "\n";
    if (!collection.ledger().Balances()) left_.faults += "a ledger does not balance\n";
    const StampCounts stamps = collection.stamps();
    left_.stamps += std::to_string(stamps.out_of_order) + " out of order, by " +
                    FormatDuration(stamps.most_behind) + "\n";
  }

  bool Tell(std::string_view text, const LineResult& result, std::string_view name) {
    const auto number = [](auto value) { return std::to_string(static_cast<int>(value)); };
    const std::string told = std::string(name) + ": kind " + number(result.kind) + ", " +
                             number(result.fold) + " " + number(result.live_set) + " " +
                             number(result.add) + ", " + std::string(result.reason) + " <- " +
                             std::string(text) + "\n";
    if (result.kind == LineResult::Kind::kInvalid) {
      left_.invalid.push_back(told);
    } else {
      left_.unusual += told;
    }
    return true;
  }

  // A line is told of by its place among all that were given.
  void CheckPlace(const UnusualLine& line, const std::vector<std::string>& now) {
    if (has_restarted_) {
      const bool is_new = line.index >= 0;
      if (is_new && now.at(static_cast<size_t>(line.index)) != line.text)
        left_.faults += "told of another line\n";
      return;
    }
    const auto place = static_cast<int64_t>(given_.size()) + line.index;
    const std::string& there = line.index >= 0 ? now.at(static_cast<size_t>(line.index))
                                               : given_.at(static_cast<size_t>(place));
    if (there != line.text) left_.faults += "told of a line that is elsewhere\n";
  }

  FoldSpec fold_;
  LiveSetSpec live_;
  RollupSpec rollup_;
  const int partitions_;
  const bool has_intake_;

  std::unique_ptr<Engine> engine_;
  std::unique_ptr<JsonIntake> intake_;
  std::unique_ptr<JsonFolder> folder_;
  std::unique_ptr<JsonLiveSet> live_set_;
  std::unique_ptr<JsonRollup> counter_;

  std::string out_;
  std::string changes_;
  std::string windows_;
  std::vector<std::string> given_;
  bool has_restarted_ = false;
  LeftOfAll left_;
};

// --- How lines are given

std::vector<std::string> TextsOf(const std::vector<StampedLine>& lines) {
  std::vector<std::string> texts;
  for (const StampedLine& line : lines) texts.push_back(line.text);
  return texts;
}

LeftOfAll OneByOne(const SharedCase& drawn, const std::vector<StampedLine>& lines) {
  Together all(drawn, /*has_intake=*/false);
  for (const StampedLine& line : lines) all.TakeAlone(line.text);
  return all.End();
}

// In texts of up to `most` lines, as the case's way says.
LeftOfAll InTexts(const SharedCase& drawn, const std::vector<StampedLine>& lines, size_t most) {
  JobDraw way(drawn.lines.way);
  Together all(drawn, /*has_intake=*/true);
  const std::vector<std::string> texts = TextsOf(lines);
  for (size_t i = 0; i < texts.size();) {
    const size_t size = std::min(texts.size() - i, 1 + way.Below(most));
    const auto begin = texts.begin() + static_cast<std::ptrdiff_t>(i);
    all.Take({begin, begin + static_cast<std::ptrdiff_t>(size)}, way.Chance(70));
    i += size;
    if (drawn.lines.restarts && way.Chance(20)) all.Restart();
  }
  return all.End();
}

SharedCase DrawnSharedCase(uint64_t seed) {
  JobDraw draw(seed);
  SharedCase drawn;
  drawn.lines.options = FoldKind::Options(draw);
  drawn.live_options = LiveSetKind::Options(draw);
  drawn.rollup_options = RollupKind::Options(draw);
  drawn.lines.partitions =
      PartitionsFor(drawn.lines.options + drawn.live_options + drawn.rollup_options, draw);
  drawn.lines.bound = draw.Bound();
  drawn.lines.way = seed + 1;
  drawn.lines.steps = StepsOf(Disordered(draw.Lines(), drawn.lines.bound, draw));
  return drawn;
}

std::string ShownAll(const SharedCase& drawn) {
  return "live set: " + drawn.live_options + "\ncounter: " + drawn.rollup_options + "\nfolder: ";
}

void ExpectEqual(const SharedCase& drawn,
                 const std::function<std::string(const SharedCase&)>& broken) {
  ExpectUnbroken(drawn.lines, [&](const Case& lines) {
    SharedCase each = drawn;
    each.lines = lines;
    const std::string found = broken(each);
    return found.empty() ? found : found + ShownAll(each);
  });
}

std::string DifferencesOf(const LeftOfAll& got, const LeftOfAll& want) {
  return Difference("output", got.out, want.out) +
         Difference("unusual lines", got.unusual, want.unusual) + got.faults + want.faults;
}

constexpr Shares kIntakeCases{.whole = 33'000, .usual = 1'000, .sanitized = 60};

TEST(JsonIntakeProperty, TextsAreAsLinesInOneCollectionAfterTheOther) {
  uint64_t unusual = 0, invalid = 0;
  ForEachSeed(1, ShareOf(kIntakeCases), [&](uint64_t seed) {
    SharedCase drawn = DrawnSharedCase(seed);
    JobDraw more(seed + 2);
    drawn.lines.bound = Duration{0};
    if (more.Chance(30)) drawn.lines.future_limit = more.Pick<Duration>({0s, 1s, 5s, 60s});
    ExpectEqual(drawn, [&](const SharedCase& each) {
      const std::vector<StampedLine> lines = LinesOf(each.lines.steps);
      const LeftOfAll got = InTexts(each, lines, 20);
      const LeftOfAll want = OneByOne(each, lines);
      unusual += !got.unusual.empty();
      invalid += !got.invalid.empty();
      return DifferencesOf(got, want) +
             Difference("invalid lines", Joined(got.invalid), Joined(want.invalid)) +
             Difference("stamps", got.stamps, want.stamps);
    });
  });
  ExpectSeen({{"unusual", unusual}, {"invalid", invalid}}, {"unusual", "invalid"});
}

TEST(JsonIntakeProperty, DisorderedLinesAreAsSortedOnesInEachCollection) {
  uint64_t waited = 0;
  ForEachSeed(1, ShareOf(kIntakeCases), [&](uint64_t seed) {
    SharedCase drawn = DrawnSharedCase(seed);
    drawn.lines.restarts = seed % 3 == 0;
    ExpectEqual(drawn, [&](const SharedCase& each) {
      const std::vector<StampedLine> lines = LinesOf(each.lines.steps);
      SharedCase plain = each;
      plain.lines.bound = Duration{0};
      plain.lines.restarts = false;
      const LeftOfAll got = InTexts(each, lines, 20);
      waited += got.waited;
      return DifferencesOf(got, InTexts(plain, Sorted(lines), 20)) +
             Difference("stamps", got.stamps, InTexts(plain, lines, 20).stamps);
    });
  });
  ExpectSeen({{"waited", waited}}, {"waited"});
}

TEST(JsonIntakeProperty, TextsBeyondTheBoundAreAsSingleLines) {
  ForEachSeed(1, ShareOf(kIntakeCases), [&](uint64_t seed) {
    SharedCase drawn = DrawnSharedCase(seed);
    JobDraw more(seed + 2);
    drawn.lines.bound = std::max(Duration{1}, drawn.lines.bound / 4);
    if (more.Chance(30)) drawn.lines.future_limit = more.Pick<Duration>({0s, 1s, 5s, 60s});
    if (more.Chance(30)) drawn.lines.max_waiting_bytes = more.Pick<size_t>({0, 200, 1000});
    ExpectEqual(drawn, [&](const SharedCase& each) {
      const std::vector<StampedLine> lines = LinesOf(each.lines.steps);
      const LeftOfAll got = InTexts(each, lines, 20);
      const LeftOfAll want = InTexts(each, lines, 1);
      return DifferencesOf(got, want) +
             Difference("invalid lines", Joined(got.invalid), Joined(want.invalid)) +
             Difference("stamps", got.stamps, want.stamps);
    });
  });
}

}  // namespace
}  // namespace pleat::inline v0_1
