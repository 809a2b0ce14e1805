// The options of a command are the same in its table, in its help and in docs/command-line.md, and what it
// suggests is one of them.
#include <algorithm>
#include <set>
#include <span>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

#include <gtest/gtest.h>

#include "tests/support/source_dir.h"
#include "tests/support/temporary_directory.h"
#include "tools/pleat/analyze/analyze_options.h"
#include "tools/pleat/flags.h"
#include "tools/pleat/fold/fold_command.h"
#include "tools/pleat/fold/fold_flags.h"
#include "tools/pleat/live/live_set_command.h"
#include "tools/pleat/live/live_set_flags.h"
#include "tools/pleat/rollup/rollup_command.h"
#include "tools/pleat/rollup/rollup_flags.h"

namespace pleat::cli {
namespace {

using OptionNames = std::multiset<std::string>;

// Of all in `text` that looks like an option.
OptionNames OptionsIn(std::string_view text) {
  constexpr std::string_view kLetters = "abcdefghijklmnopqrstuvwxyz-";
  OptionNames names;
  for (size_t at = text.find("--"); at != text.npos; at = text.find("--", at)) {
    const size_t end = std::min(text.find_first_not_of(kLetters, at), text.size());
    names.emplace(text.substr(at + 2, end - at - 2));
    at = end;
  }
  return names;
}

OptionNames OptionsOfTable(std::span<const Flag> flags) {
  OptionNames names;
  for (const Flag& flag : flags) {
    if (!flag.name.empty()) names.emplace(flag.name);
    if (!flag.also.empty()) names.emplace(flag.also);
  }
  return names;
}

// Those lines of a help text that begin with an option, the last one being --help. Placeholders have
// no dashes.
OptionNames OptionsOfHelp(const std::string& help) {
  OptionNames names;
  std::istringstream lines(help);
  for (std::string line; !names.contains("help") && std::getline(lines, line);) {
    if (line.starts_with("  -")) names.merge(OptionsIn(line));
  }
  return names;
}

// The first cells of the tables of options in the part of docs/command-line.md that is about `command`.
OptionNames OptionsOfDocument(const std::string& command) {
  const std::string document = Content(SourceDir() + "/docs/command-line.md");
  const size_t begin = document.find("# `pleat " + command + "`\n");
  EXPECT_NE(begin, std::string::npos);
  OptionNames names;
  std::istringstream lines(document.substr(begin, document.find("\n# `", begin + 1) - begin));
  for (std::string line; std::getline(lines, line);) {
    if (line.starts_with("| `-")) names.merge(OptionsIn(line.substr(0, line.find(" | "))));
  }
  return names;
}

// What it says of an option that it does not know.
std::string ErrorOf(auto parse, const std::string& option) {
  const char* const arguments[] = {"pleat", option.c_str()};
  return std::string(parse(2, arguments).status().message());
}

void ExpectSuggestionsKnown(std::span<const Flag> flags, auto parse) {
  const OptionNames known = OptionsOfTable(flags);
  std::set<std::string> mistyped;
  for (const std::string& name : known) {
    for (size_t i = 0; i < name.size(); ++i) {
      std::string other = name;
      mistyped.insert(other.erase(i, 1));
      mistyped.insert(name.substr(0, i));
      mistyped.insert(name.substr(i));
      other = name;
      mistyped.insert(other.insert(i, 1, 'x'));
      other = name;
      std::swap(other[i], other[name.size() - 1]);
      mistyped.insert(other);
    }
  }
  for (const std::string& name : mistyped) {
    if (known.contains(name) || name.size() < 2) continue;
    const std::string error = ErrorOf(parse, "--" + name);
    const size_t hint = error.find("did you mean ");
    if (hint == std::string::npos) continue;
    const OptionNames suggested = OptionsIn(error.substr(hint));
    ASSERT_EQ(suggested.size(), 1u) << error;
    EXPECT_TRUE(known.contains(*suggested.begin())) << error;
  }
}

TEST(OptionLists, OfFoldAgree) {
  FoldOptions options;
  const OptionNames table = OptionsOfTable(FoldFlags(options));
  EXPECT_GT(table.size(), 40u);
  EXPECT_EQ(OptionsOfHelp(FoldHelp()), table);
  EXPECT_EQ(OptionsOfDocument("fold"), table);
}

TEST(OptionLists, OfAnalyzeAgree) {
  AnalyzeOptions options;
  const OptionNames table = OptionsOfTable(AnalyzeFlags(options));
  EXPECT_GT(table.size(), 15u);
  EXPECT_EQ(OptionsOfHelp(AnalyzeHelp()), table);
  EXPECT_EQ(OptionsOfDocument("analyze"), table);
}

TEST(OptionLists, OfLiveAgree) {
  LiveSetRunOptions options;
  const OptionNames table = OptionsOfTable(LiveSetFlags(options));
  EXPECT_GT(table.size(), 30u);
  EXPECT_EQ(OptionsOfHelp(LiveSetHelp()), table);
  EXPECT_EQ(OptionsOfDocument("live"), table);
}

TEST(OptionLists, OfRollupAgree) {
  RollupRunOptions options;
  const OptionNames table = OptionsOfTable(RollupFlags(options));
  EXPECT_GT(table.size(), 25u);
  EXPECT_EQ(OptionsOfHelp(RollupHelp()), table);
  EXPECT_EQ(OptionsOfDocument("rollup"), table);
}

TEST(OptionLists, SuggestionsAreOptionsOfTheCommand) {
  FoldOptions fold;
  AnalyzeOptions analyze;
  LiveSetRunOptions live;
  RollupRunOptions rollup;
  ExpectSuggestionsKnown(RollupFlags(rollup), ParseRollupOptions);
  ExpectSuggestionsKnown(LiveSetFlags(live), ParseLiveSetOptions);
  ExpectSuggestionsKnown(FoldFlags(fold), ParseFoldOptions);
  ExpectSuggestionsKnown(AnalyzeFlags(analyze), ParseAnalyzeOptions);
}

}  // namespace
}  // namespace pleat::cli
