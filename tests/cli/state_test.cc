// `pleat state`: what it says of a directory, to people and as JSON, and its exit codes.
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <map>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/cli/run_pleat.h"
#include "tests/support/kept_directory.h"
#include "tests/support/source_dir.h"

namespace pleat::cli {
namespace {

using testing::HasSubstr;

class StateCommand : public KeptDirectory {
 protected:
  Finished Run(const std::string& words) { return RunToEnd(Pleat("state " + words)); }
};

TEST_F(StateCommand, ADirectoryOfSomebodyElseIsNotShownAsANewOne) {
  const TemporaryDirectory other;
  other.Write("letter.txt", "dear all\n");
  for (const std::string action : {"show ", "check "}) {
    const auto refused = Run(action + other.path());
    EXPECT_EQ(refused.code, 1) << action;
    EXPECT_THAT(refused.err, HasSubstr("letter.txt")) << action;
  }
}

TEST_F(StateCommand, ShowsWhatIsInADirectory) {
  Fill();
  const auto shown = Run("show " + directory_);
  EXPECT_EQ(shown.code, 0) << shown.err;
  EXPECT_THAT(shown.out, HasSubstr("state        ok\n"));
  EXPECT_THAT(shown.out, HasSubstr("time         1970-01-01T00:01:00"));
  EXPECT_THAT(shown.out, HasSubstr("collection   words: a folder with 20 open groups\n"));
  EXPECT_THAT(shown.out, HasSubstr("source       7: go on at 120\n"));
  const auto json = Run("show --json " + directory_);
  EXPECT_EQ(json.code, 0) << json.err;
  const auto size = std::filesystem::file_size(directory_ + "/snapshot-1");
  EXPECT_EQ(json.out,
            "{\"state\":\"ok\",\"time\":\"1970-01-01T00:01:00.000000Z\",\"partitions\":4,"
            "\"collections\":[{\"name\":\"words\",\"kind\":\"folder\",\"groups\":20}],"
            "\"groups\":20,\"bytes\":" +
                std::to_string(size) +
                ",\"sources\":[{\"collection\":\"words\",\"source\":\"7\",\"offset\":120,"
                "\"highest\":120}]}\n");
}

TEST_F(StateCommand, TellsADirectoryThatIsNewFromOneThatIsNot) {
  {
    const Keeper keeper(directory_);
  }
  EXPECT_THAT(Run("show " + directory_).out, HasSubstr("state        new\n"));
  const auto checked = Run("check --json " + directory_);
  EXPECT_EQ(checked.code, 0);
  EXPECT_EQ(checked.out, "{\"state\":\"new\",\"snapshots\":0,\"damage\":[]}\n");
  const auto none = Run("show " + directory_ + "/none");
  EXPECT_EQ(none.code, 1);
  EXPECT_THAT(none.err, HasSubstr("/none"));
}

TEST_F(StateCommand, TellsWhoHasTheDirectoryAndDisturbsNobody) {
  Keeper keeper(directory_);
  keeper.Fold(20, 5);
  keeper.TakeSnapshot();
  const std::string process = std::to_string(getpid());
  EXPECT_THAT(Run("show " + directory_).out,
              HasSubstr("state        locked (in use by process " + process + ")\n"));
  const auto checked = Run("check " + directory_ + " --json");
  EXPECT_EQ(checked.code, 0);
  EXPECT_EQ(checked.out,
            "{\"state\":\"locked\",\"process\":" + process + ",\"snapshots\":1,\"damage\":[]}\n");
  keeper.TakeSnapshot();
}

TEST_F(StateCommand, SaysWhereTheDamageIs) {
  Fill();
  const size_t block = Blocks().at(3);
  Damage("snapshot-1", block + 30);
  const auto checked = Run("check " + directory_);
  EXPECT_EQ(checked.code, 1);
  EXPECT_EQ(checked.out,
            "snapshot-1: at byte " + std::to_string(block) + ": the checksum is wrong\n");
  EXPECT_EQ(Run("check --json " + directory_).out,
            "{\"state\":\"damaged\",\"snapshots\":1,\"damage\":[{\"file\":\"snapshot-1\","
            "\"offset\":" +
                std::to_string(block) + ",\"why\":\"the checksum is wrong\"}]}\n");
}

TEST_F(StateCommand, SalvageReportsWhatIsLost) {
  Fill();
  const std::string out = scratch_ / "copy";
  const auto whole = Run("salvage " + directory_ + " --out " + out);
  EXPECT_EQ(whole.code, 0) << whole.err;
  EXPECT_EQ(whole.out, "saved 4 of 4 partitions of snapshot-1 to " + out + "\n");
  EXPECT_EQ(Run("salvage " + directory_ + " --out " + out).code, 1) << "it has files";
  Damage("snapshot-1", Blocks().at(2) + 30);
  const std::string other = scratch_ / "other";
  const auto partly = Run("salvage " + directory_ + " --out " + other);
  EXPECT_EQ(partly.code, 1);
  EXPECT_THAT(partly.out, HasSubstr("saved 3 of 4 partitions"));
  EXPECT_THAT(partly.out, HasSubstr("lost partitions: "));
  EXPECT_EQ(Run("check " + other).code, 0);
  Damage("snapshot-1", 40);
  const auto none = Run("salvage " + directory_ + " --out " + (scratch_ / "none"));
  EXPECT_EQ(none.code, 1);
  EXPECT_THAT(none.out, HasSubstr("nothing could be saved"));
}

TEST_F(StateCommand, SalvageSaysThatLinesThatWaitAreLost) {
  const std::string input = scratch_ / "log";
  std::ofstream(input) << "{\"k\":\"a\",\"t\":100}\n{\"k\":\"b\",\"t\":90}\n";
  const Finished kept = RunToEnd(
      Pleat("fold --key k --quiet 1m --time t --time-unit s --reorder 1h --at-end keep --state " +
            directory_ + " --output " + (scratch_ / "out") + " " + input));
  ASSERT_EQ(kept.code, 0) << kept.err;
  const std::vector<size_t> blocks = Blocks();
  Damage("snapshot-1", blocks.at(blocks.size() - 2) + 24);  // the one before the end
  const auto text = Run("salvage " + directory_ + " --out " + (scratch_ / "copy"));
  EXPECT_EQ(text.code, 1);
  EXPECT_THAT(text.out, HasSubstr("lost: all events and lines that waited for their turn"));
  const auto json = Run("salvage " + directory_ + " --json --out " + (scratch_ / "other"));
  EXPECT_THAT(json.out, HasSubstr("\"lost\":[],"));
  EXPECT_THAT(json.out, HasSubstr("\"waiting_lost\":true"));
}

// As a run that is to go on there says it.
TEST_F(StateCommand, OfAnOlderFormatNamesTheFile) {
  const std::string directory = scratch_ / "older";
  std::filesystem::create_directory(directory);
  for (const std::string name : {"/MANIFEST", "/snapshot-1"}) {
    std::filesystem::copy(SourceDir() + "/tests/state/golden/format_2" + name, directory + name);
  }
  const std::string runs[] = {
      "state show " + directory, "state check " + directory,
      "state salvage " + directory + " --out " + (scratch_ / "copy"),
      "fold --key k --quiet 1m --state " + directory + " --output " + (scratch_ / "out")};
  for (const std::string& words : runs) {
    const Finished refused = RunToEnd(Pleat(words));
    EXPECT_EQ(refused.code, 1) << words;
    EXPECT_THAT(refused.err, HasSubstr(": " + directory + "/snapshot-1: format 2 is of an older "));
  }
}

TEST_F(StateCommand, WrongUsageIsToldWithExitCode2) {
  const std::map<std::string, std::string> said = {
      {"", "say what to do: show, check or salvage"},
      {"shwo d", "did you mean \"show\"?"},
      {"show", "show: takes one directory"},
      {"check a b", "check: takes one directory"},
      {"salvage d", "--out: required"},
      {"check d --out e", "--out: is for salvage only"},
      {"show d --jsno", "json"},
  };
  for (const auto& [words, message] : said) {
    const auto run = Run(words);
    EXPECT_EQ(run.code, 2) << words;
    EXPECT_THAT(run.err, HasSubstr(message)) << words;
  }
  const auto help = Run("--help");
  EXPECT_EQ(help.code, 0);
  EXPECT_THAT(help.out, HasSubstr("pleat state salvage"));
}

}  // namespace
}  // namespace pleat::cli
