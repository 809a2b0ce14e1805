// `pleat fold`, `live` and `rollup` with --state over files that grow between runs, in trouble:
// the run is killed, or a call of the system fails, at a drawn point, and the same command is given
// again. In the end all files have the bytes of runs that nothing happened to.
//
//   PLEAT_RUN_TROUBLES=5000   so many kills, and so many faults; 60 by default
//   PLEAT_SEED=17             this episode alone
//   PLEAT_KILL_DIR=DIR        where its files are; in memory by default
//
// An episode is drawn from its seed: a command, a log, the runs in which the log comes, and what
// happens to each. Kills at an instant, and those of runs with several threads, come anywhere.
#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <cstdlib>
#include <fstream>
#include <iostream>
#include <map>
#include <random>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "tests/cli/fixtures.h"
#include "tests/cli/run_pleat.h"
#include "tests/support/seeds.h"
#include "tests/support/share.h"
#include "tests/support/traced_process.h"

namespace pleat::cli {
namespace {

using Random = std::mt19937_64;
using Outputs = std::map<std::string, std::string>;

constexpr const char* kOutputs[] = {"output", "late", "invalid", "open", "stats"};

constexpr const char* kCommands[] = {
    "fold --key k --quiet 20s --reorder 3s --allowed-lateness 5s --merge 'n=count()' "
    "--merge 's=sum(v)' --merge 'who=set(m)' --emission-id",
    "fold --key k,m --quiet 15s --max-wait 60s --edge both --id id --allowed-lateness 6s "
    "--merge 'd=distinct(m)' --raw 3 --rest last",
    "fold --key k --quiet 1h --partial-every 10s --close-every 1m --end-when gone=yes "
    "--allowed-lateness 4s --on-late correct --merge 'p=p90(v)'",
    "fold --key k --quiet 30s --max-events 7 --flush-when gone=yes --allowed-lateness 4s "
    "--merge 'top=top(m)' --merge 'x=mean(v)'",
    "live --key k --member m --ttl 6s --reorder 1s --payload v --remove-when gone=yes "
    "--refreshes",
    "live --key k --member m --ttl 1m --every 20s --within 10s,30s --top 3",
    "rollup --key k --value v --window 10s,1m --allowed-lateness 5s --emission-id",
    "rollup --key k --value v --id id --window 30s --allowed-lateness 4s --on-late correct "
    "--margin 2s",
};

enum class Format { kNdjson, kCsv, kLogfmt };

// Lines of events, some of them late, invalid or there before, as they come.
class LogDraw {
 public:
  LogDraw(Random& random, Format format) : random_(random), format_(format) {}

  // What a file begins with.
  std::string Header() const { return format_ == Format::kCsv ? "k,m,v,t,id,gone,pad\n" : ""; }

  std::string Lines(int count) {
    std::string lines;
    for (int i = 0; i < count; ++i) {
      if (OneIn(100)) lines += Invalid();
      lines += Event();
    }
    return lines;
  }

 private:
  bool OneIn(uint64_t n) { return random_() % n == 0; }
  std::string Numbered(const char* name, uint64_t below) {
    return name + std::to_string(random_() % below);
  }

  std::string Event() {
    now_ms_ += random_() % 400;
    ++events_;
    const uint64_t at = now_ms_ - (OneIn(20) ? random_() % 12'000 : 0);
    const std::pair<const char*, std::string> members[] = {
        {"k", Numbered("k", 20)},
        {"m", Numbered("m", 30)},
        {"v", std::to_string(random_() % 100)},
        {"t", std::to_string(at)},
        {"id", OneIn(50) ? Numbered("e", events_) : "e" + std::to_string(events_)},
        {"gone", OneIn(20) ? "yes" : "no"},
        {"pad", std::string(1 + random_() % 80, 'x')}};
    std::string line;
    for (const auto& [name, value] : members) {
      const bool is_number = name == std::string("v") || name == std::string("t");
      if (!line.empty()) line += format_ == Format::kLogfmt ? ' ' : ',';
      if (format_ == Format::kNdjson) line += '"' + std::string(name) + "\":";
      if (format_ == Format::kLogfmt) line += std::string(name) + "=";
      const bool quoted = format_ == Format::kNdjson && !is_number;
      line += quoted ? '"' + value + '"' : value;
    }
    return (format_ == Format::kNdjson ? "{" + line + "}" : line) + "\n";
  }

  std::string Invalid() {
    if (format_ == Format::kCsv) return "k1,m1,1,2,3,4,5,6,7\n";
    return format_ == Format::kLogfmt ? "k=k1 v=\"\n" : "nonsense\n";
  }

  Random& random_;
  const Format format_;
  uint64_t now_ms_ = 1'442'016'000'000;
  uint64_t events_ = 0;
};

// Bytes that are added to one of the files before a run.
struct Growth {
  size_t file = 0;
  std::string bytes;
};

// What happens, but for the troubles.
struct Plan {
  std::string command;
  std::vector<Growth> runs;
  bool flushes = false;  // what is open, at the end of the last one
};

// The words of a command, but for its files.
std::string CommandOf(const char* command, Format format, uint64_t snapshot_every) {
  static constexpr const char* kInputs[] = {"ndjson", "csv", "logfmt"};
  return std::string(command) + " --time t --time-unit ms --quiet-summary --input " +
         kInputs[static_cast<int>(format)] + " --snapshot-every " + std::to_string(snapshot_every);
}

Plan DrawPlan(Random& random) {
  const Format format = static_cast<Format>(random() % 4 % 3);
  const bool compressed = random() % 4 == 0;
  Plan plan;
  plan.command =
      CommandOf(kCommands[random() % std::size(kCommands)], format, 100 + random() % 2'000);
  const bool keeps = !plan.command.starts_with("live");  // what is open has to be kept by name
  plan.flushes = keeps && random() % 2 == 0;
  LogDraw log(random, format);
  size_t files = 0;
  for (uint64_t left = 1 + random() % 4; left > 0; --left) {
    const bool grows = files > 0 && random() % 2 == 0;
    std::string text = grows ? "" : log.Header();
    text += log.Lines(static_cast<int>(random() % 2'000));
    if (!grows) ++files;
    plan.runs.push_back({.file = files - 1, .bytes = text});
  }
  // A file that goes on growing may end within a line for now.
  for (size_t i = 1; i < plan.runs.size(); ++i) {
    std::string& before = plan.runs[i - 1].bytes;
    if (plan.runs[i].file != plan.runs[i - 1].file || before.empty()) continue;
    const size_t cut = before.size() - random() % std::min<size_t>(before.size(), 200);
    plan.runs[i].bytes.insert(0, before, cut);
    before.resize(cut);
  }
  for (Growth& growth : plan.runs) {
    if (compressed) growth.bytes = Gzip(growth.bytes);
  }
  return plan;
}

// A directory in which a plan is carried out, run by run.
class Site {
 public:
  explicit Site(const Plan& plan) : plan_(plan) {}

  bool ended() const { return next_ == plan_.runs.size(); }
  // Lets the file grow that the next run reads.
  void Grow() {
    const Growth& growth = plan_.runs[next_++];
    std::ofstream(FileName(growth.file), std::ios::binary | std::ios::app) << growth.bytes;
  }

  // The command over all files so far. Without a state directory: at once, what is open as in the
  // last run.
  Words Command(bool with_state, uint64_t threads) const {
    std::string words = PleatProgram() + " " + plan_.command;
    if (!with_state) words.erase(words.find(" --snapshot-every"));
    for (const std::string name : kOutputs) words += " --" + name + " " + (dir_ / name);
    words += " --threads " + std::to_string(threads);
    if (with_state) words += " --state " + (dir_ / "j");
    if (!plan_.command.starts_with("live")) {
      const bool flushes = ended() && plan_.flushes;
      words += std::string(" --at-end ") + (flushes ? "flush" : with_state ? "keep" : "drop");
    }
    for (size_t file = 0; file <= plan_.runs[next_ - 1].file; ++file) words += " " + FileName(file);
    return WordsOf(words);
  }

  std::string errors() const { return dir_ / "err"; }
  Outputs Read() const {
    Outputs outputs;
    for (const std::string name : kOutputs) outputs[name] = Content(dir_ / name);
    return outputs;
  }

 private:
  std::string FileName(size_t file) const { return dir_ / ("in" + std::to_string(file)); }

  const Plan& plan_;
  size_t next_ = 0;  // run
  const TemporaryDirectory dir_{PlaceForKills()};
};

// The outputs after each run, when nothing happens.
std::vector<Outputs> UntroubledRuns(const Plan& plan) {
  std::vector<Outputs> outputs;
  for (Site site(plan); !site.ended();) {
    site.Grow();
    const TroubledEnd end = RunInTrouble(site.Command(true, 1), {}, site.errors());
    EXPECT_EQ(end.code, 0) << Content(site.errors());
    outputs.push_back(site.Read());
  }
  return outputs;
}

// And those of one run over the whole log that keeps nothing.
Outputs OneRun(const Plan& plan) {
  Site site(plan);
  while (!site.ended()) site.Grow();
  const TroubledEnd end = RunInTrouble(site.Command(false, 1), {}, site.errors());
  EXPECT_EQ(end.code, 0) << Content(site.errors());
  return site.Read();
}

struct Tally {
  uint64_t episodes = 0;
  uint64_t runs = 0;  // that came to their end
  uint64_t kills = 0;
  uint64_t kills_at_instants = 0;
  uint64_t faults = 0;
  uint64_t refusals = 0;  // faults that ended the run, by its own word
  std::map<std::string, uint64_t> failed_calls;
  uint64_t lost = 0;     // lines that should be there,
  uint64_t doubled = 0;  // and that should not
  uint64_t stuck = 0;
};

void Compare(const Outputs& is, const Outputs& expected, Tally& tally) {
  for (const auto& [name, bytes] : expected) {
    if (is.at(name) == bytes) continue;
    std::map<std::string, int64_t> difference;
    std::istringstream now(is.at(name));
    std::istringstream before(bytes);
    for (std::string line; std::getline(now, line);) ++difference[line];
    for (std::string line; std::getline(before, line);) --difference[line];
    for (const auto& [line, count] : difference) {
      if (count < 0) tally.lost += static_cast<uint64_t>(-count);
      if (count > 0) tally.doubled += static_cast<uint64_t>(count);
      if (count != 0) std::cerr << name << ": " << count << " of " << line << '\n';
    }
    ADD_FAILURE() << name << " differs";
  }
}

// A fault ends a run by the run's own word. What could not be said, as saying it failed, is not.
void ExpectRefusal(const TroubledEnd& end, const std::string& said) {
  EXPECT_TRUE(!end.failed_call.empty() && end.code > 0) << "exit code " << end.code << ": " << said;
  EXPECT_TRUE(!said.empty() || end.failed_call == "write") << "without a word";
}

// Which troubles an episode draws.
enum class Choice { kKills, kFaults };

Trouble DrawTrouble(Random& random, Choice choice, uint64_t calls) {
  static constexpr int kErrors[] = {EIO, ENOSPC, EINTR, EACCES, EMFILE};
  Trouble trouble;
  trouble.call = 1 + random() % calls;
  if (choice == Choice::kFaults) {
    const uint64_t drawn = random() % (std::size(kErrors) + 1);
    trouble.kind = drawn == 0 ? Trouble::Kind::kShort : Trouble::Kind::kError;
    if (drawn > 0) trouble.error = kErrors[drawn - 1];
    // An interruption that never ends is no trouble that a system has.
    trouble.lasting = drawn > 0 && trouble.error != EINTR && random() % 4 == 0;
  } else if (random() % 2 == 0) {
    trouble.kind = Trouble::Kind::kKillAtCall;
  } else {
    trouble.kind = Trouble::Kind::kKillAtInstant;
    trouble.instant = std::chrono::microseconds((250 << random() % 7) + random() % 500);
  }
  return trouble;
}

class Episode {
 public:
  Episode(uint64_t seed, Choice choice, Tally& tally)
      : random_(seed), choice_(choice), tally_(tally), plan_(DrawPlan(random_)) {}

  void Play() {
    Carry();
    if (testing::Test::HasFailure()) std::cerr << plan_.command << '\n' << history_;
  }

 private:
  void Carry() {
    ++tally_.episodes;
    const std::vector<Outputs> expected = UntroubledRuns(plan_);
    Site site(plan_);
    for (size_t i = 0; i < plan_.runs.size() && !testing::Test::HasFailure(); ++i) {
      site.Grow();
      history_ += "FILE " + std::to_string(plan_.runs[i].file) + " grows\n";
      if (ReachTheEnd(site)) Compare(site.Read(), expected[i], tally_);
    }
    if (testing::Test::HasFailure()) return;
    const Outputs one = OneRun(plan_);
    Compare(one, expected.back(), tally_);
  }

  // Gives the command again and again. Returns false if it was killed and the file grows first.
  bool ReachTheEnd(Site& site) {
    constexpr int kTroublesMost = 12;
    for (int i = 0; !testing::Test::HasFailure(); ++i) {
      const bool calm = i == kTroublesMost || random_() % 6 == 0;
      const Trouble trouble = calm ? Trouble{} : DrawTrouble(random_, choice_, calls_);
      const TroubledEnd end =
          RunInTrouble(site.Command(true, 1 + random_() % 4 % 3), trouble, site.errors());
      if (end.code == 0 && end.calls > 0) calls_ = end.calls;
      Note(trouble, end, Content(site.errors()));
      if (end.code == 0) return true;
      if (!site.ended() && random_() % 8 == 0) return false;
    }
    return true;
  }

  void Note(const Trouble& trouble, const TroubledEnd& end, const std::string& said) {
    history_ += ToText(trouble) + ": " + (end.killed ? "killed" : std::to_string(end.code)) + " " +
                end.failed_call + "\n" + said;
    tally_.kills += end.killed;
    tally_.kills_at_instants += end.killed && trouble.kind == Trouble::Kind::kKillAtInstant;
    tally_.stuck += end.stuck;
    tally_.runs += end.code == 0;
    if (!end.failed_call.empty()) {
      ++tally_.faults;
      ++tally_.failed_calls[end.failed_call];
    }
    if (end.code == 0 || end.killed) return;
    ExpectRefusal(end, said);
    ++tally_.refusals;
  }

  Random random_;
  const Choice choice_;
  Tally& tally_;
  const Plan plan_;
  uint64_t calls_ = 300;  // of a run, about
  std::string history_;
};

uint64_t ChosenTroubles() {
  const char* const text = std::getenv("PLEAT_RUN_TROUBLES");
  return text != nullptr ? std::strtoull(text, nullptr, 10)
                         : ShareOf({.whole = 60, .usual = 20, .sanitized = 5});
}

// Episodes from seed 1 on, until so many troubles have come about.
Tally Play(Choice choice) {
  Tally tally;
  const uint64_t& troubles = choice == Choice::kKills ? tally.kills : tally.faults;
  bool more = true;
  for (uint64_t seed = 1; more && troubles < ChosenTroubles(); ++seed) {
    more = ForEachSeed(seed, 1, [&](uint64_t each) { Episode(each, choice, tally).Play(); }) &&
           !testing::Test::HasFailure();
  }
  return tally;
}

std::string Verdict(const Tally& tally) {
  return std::to_string(tally.episodes) + " episodes, " + std::to_string(tally.runs) +
         " runs to the end: " + std::to_string(tally.lost) + " lines lost, " +
         std::to_string(tally.doubled) + " doubled, " + std::to_string(tally.stuck) + " stuck\n";
}

TEST(RunTrouble, KilledRunsEndWithTheBytesOfOthers) {
  const Tally tally = Play(Choice::kKills);
  std::cout << tally.kills << " kills, " << tally.kills_at_instants
            << " of them at an instant and the others at a call; " << Verdict(tally);
}

TEST(RunTrouble, ACallThatFailsIsSaidOrNotSeen) {
  if (!CanFailCalls()) GTEST_SKIP() << "knows the calls of other processors only";
  const Tally tally = Play(Choice::kFaults);
  std::cout << tally.faults << " faults, of which " << tally.refusals << " ended their run; ";
  for (const auto& [name, count] : tally.failed_calls) std::cout << count << ' ' << name << ", ";
  std::cout << Verdict(tally);
}

// The second of two runs over a file that has grown: it restores, cuts back, reads past, goes on.
TEST(RunTrouble, WhicheverCallFailsInARunThatGoesOnItIsSaidOrNotSeen) {
  if (!CanFailCalls()) GTEST_SKIP() << "knows the calls of other processors only";
  Random random(1);
  LogDraw log(random, Format::kNdjson);
  const Plan plan{.command = CommandOf(kCommands[0], Format::kNdjson, 100),
                  .runs = {{.bytes = log.Lines(300)}, {.bytes = log.Lines(300)}},
                  .flushes = true};
  const Outputs expected = UntroubledRuns(plan).back();
  const uint64_t step = ShareOf({.whole = 1, .usual = 3, .sanitized = 25});
  Tally tally;
  for (Trouble trouble{.kind = Trouble::Kind::kError, .call = 1, .error = EIO}; !HasFailure();) {
    Site site(plan);
    const auto run = [&](const Trouble& with) {
      return RunInTrouble(site.Command(true, 1), with, site.errors());
    };
    site.Grow();
    ASSERT_EQ(run({}).code, 0) << Content(site.errors());
    site.Grow();
    const TroubledEnd end = run(trouble);
    if (end.failed_call.empty()) break;
    SCOPED_TRACE(ToText(trouble) + ", a " + end.failed_call);
    ++tally.faults;
    if (end.code != 0) {
      ExpectRefusal(end, Content(site.errors()));
      ASSERT_EQ(run({}).code, 0) << Content(site.errors());
    }
    Compare(site.Read(), expected, tally);
    trouble.call = end.failed_at + step;
  }
  EXPECT_GT(tally.faults * step, 100u);
  std::cout << tally.faults << " calls that fail\n";
}

}  // namespace
}  // namespace pleat::cli
