// How a command line is cut into flags, their texts, and inputs.
#include "tools/pleat/flags.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace pleat::cli {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

class FlagsTest : public testing::Test {
 protected:
  absl::StatusOr<GivenFlags> Parse(std::vector<const char*> arguments) {
    arguments.insert(arguments.begin(), "command");
    return ParseFlags(flags_, static_cast<int>(arguments.size()), arguments.data());
  }

  std::string ErrorOf(std::vector<const char*> arguments) {
    absl::StatusOr<GivenFlags> given = Parse(std::move(arguments));
    const absl::Status status = given.ok() ? SetGiven(flags_, *given) : given.status();
    return std::string(status.message());
  }

  std::string file_ = "-";
  int threads_ = 1;
  bool strict_ = false;
  bool help_ = false;
  const std::vector<Flag> flags_ = {
      Heading("All"),
      {"output", "FILE", "a file", FileName(file_, Dash::kStandardStream), 'o'},
      {"threads", "N", "a number", Number(threads_, 1, 8), 'j'},
      {"strict", "", "a switch", Switch(strict_), 0, "severe"},
      {"help", "", "this text", Switch(help_), 'h'},
  };
};

TEST_F(FlagsTest, TextFollowsTheFlagOrItsEqualsSign) {
  const auto given = Parse({"--output", "a b", "--threads=2", "--strict", "--output=c=d"});
  ASSERT_TRUE(given.ok());
  EXPECT_THAT(given->texts.at("output"), ElementsAre("a b", "c=d"));
  EXPECT_THAT(given->texts.at("threads"), ElementsAre("2"));
  EXPECT_TRUE(given->IsOn("strict"));
  EXPECT_FALSE(given->Has("help"));
}

TEST_F(FlagsTest, WhatIsNoFlagIsAnInput) {
  const auto given = Parse({"a", "-", "", "[a,b]", "--strict", "b", "--", "--strict", "--", "-h"});
  ASSERT_TRUE(given.ok());
  EXPECT_THAT(given->inputs, ElementsAre("a", "-", "", "[a,b]", "b", "--strict", "--", "-h"));
  EXPECT_THAT(given->texts.at("strict"), ElementsAre("true"));
}

TEST_F(FlagsTest, TextIsTakenAsItStands) {
  const auto given = Parse({"--output", "[a,b]", "--output=--odd", "--output", "-"});
  ASSERT_TRUE(given.ok());
  EXPECT_THAT(given->texts.at("output"), ElementsAre("[a,b]", "--odd", "-"));
  EXPECT_THAT(given->inputs, IsEmpty());
}

TEST_F(FlagsTest, ForgottenTextIsAnError) {
  EXPECT_EQ(ErrorOf({"--output"}), "--output: needs a value");
  EXPECT_EQ(ErrorOf({"--output", "--strict"}), "--output: needs a value");
  EXPECT_EQ(ErrorOf({"--output", "--", "a"}), "--output: needs a value");
  EXPECT_EQ(ErrorOf({"--output=", "a"}), "--output: needs a value");
  EXPECT_EQ(ErrorOf({"--output", ""}), "--output: needs a file name");
}

TEST_F(FlagsTest, UnknownFlagIsAnErrorWithOrWithoutText) {
  EXPECT_EQ(ErrorOf({"--thread=2"}), "unknown option --thread; did you mean --threads?");
  EXPECT_EQ(ErrorOf({"-z", "a"}), "unknown option -z");
  EXPECT_EQ(ErrorOf({"-strict"}), "unknown option -strict; did you mean --strict?");
  EXPECT_EQ(ErrorOf({"---strict"}), "unknown option ---strict; did you mean --strict?");
}

TEST_F(FlagsTest, LetterStandsForItsFlag) {
  const auto given = Parse({"-o", "a b", "-j2", "-o=c=d", "-j", "3", "-h", "-o", "-"});
  ASSERT_TRUE(given.ok());
  EXPECT_THAT(given->texts.at("output"), ElementsAre("a b", "c=d", "-"));
  EXPECT_THAT(given->texts.at("threads"), ElementsAre("2", "3"));
  EXPECT_TRUE(given->IsOn("help"));
}

TEST_F(FlagsTest, TextBehindALetterIsANumberOrLikelyASlip) {
  EXPECT_EQ(ErrorOf({"-output", "a"}), "unknown option -output; did you mean --output?");
  EXPECT_EQ(ErrorOf({"-ofile"}), "unknown option -ofile; did you mean -o file?");
  EXPECT_EQ(ErrorOf({"-oa=b"}), "unknown option -oa; did you mean -o a=b?");
  EXPECT_EQ(ErrorOf({"-o", "-j", "2"}), "--output: needs a value");
  EXPECT_EQ(ErrorOf({"-o="}), "--output: needs a value");
  EXPECT_EQ(ErrorOf({"-j2x"}), "--threads: must be a whole number from 1 to 8");
  EXPECT_EQ(ErrorOf({"--output", "-j"}), "");
  EXPECT_EQ(file_, "-j");
}

TEST_F(FlagsTest, OtherNameIsTheSameFlag) {
  const auto given = Parse({"--severe", "--severe=false"});
  ASSERT_TRUE(given.ok());
  EXPECT_THAT(given->texts.at("strict"), ElementsAre("true", "false"));
  EXPECT_EQ(ErrorOf({"--sever"}), "unknown option --sever; did you mean --severe?");
}

TEST_F(FlagsTest, HelpShowsLettersAndOtherNames) {
  EXPECT_EQ(FlagsHelp(flags_),
            "\nAll:\n"
            "  -o, --output FILE\n      a file\n"
            "  -j, --threads N\n      a number\n"
            "  --strict, --severe\n      a switch\n"
            "  -h, --help\n      this text\n");
}

TEST_F(FlagsTest, HelpFillsLinesOfEightyColumns) {
  const std::string word(36, 'x');
  const std::string help =
      word + " " + word + "y\n" + word + " " + word + " z " + std::string(90, 'w');
  bool on = false;
  const std::vector<Flag> flags = {{"on", "", help, Switch(on)}};
  const std::string first(6, ' ');
  EXPECT_EQ(FlagsHelp(flags), "  --on\n" + first + word + " " + word + "y\n" + first + word + " " +
                                  word + "\n" + first + "z\n" + first + std::string(90, 'w') +
                                  "\n");
}

TEST_F(FlagsTest, ValuesAreSetAndTellTheirText) {
  EXPECT_EQ(ErrorOf({"--output=a", "--threads=2", "--threads", "3", "-h"}), "");
  EXPECT_EQ(file_, "a");
  EXPECT_EQ(threads_, 3);
  EXPECT_TRUE(help_);
  EXPECT_EQ(FindFlag(flags_, "threads")->value.text(), "3");
  EXPECT_EQ(FindFlag(flags_, "strict")->value.text(), "false");
  EXPECT_EQ(ErrorOf({"--threads=9"}), "--threads: must be a whole number from 1 to 8");
  EXPECT_EQ(ErrorOf({"--strict="}), "--strict: must be true or false");
}

}  // namespace
}  // namespace pleat::cli
