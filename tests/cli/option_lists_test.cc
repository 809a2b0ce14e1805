// The options of a command are the same in its table, in its help and in docs/command-line.md, there
// also their arguments and defaults; and what it suggests is one of them.
#include <algorithm>
#include <functional>
#include <set>
#include <span>
#include <sstream>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "tests/support/source_dir.h"
#include "tests/support/temporary_directory.h"
#include "tools/pleat/analyze/analyze_options.h"
#include "tools/pleat/flags.h"
#include "tools/pleat/fold/fold_command.h"
#include "tools/pleat/lanes/lanes_command.h"
#include "tools/pleat/live/live_set_command.h"
#include "tools/pleat/rollup/rollup_command.h"
#include "tools/pleat/run/run_command.h"
#include "tools/pleat/state/state_command.h"
#include "tools/pleat/store/store_command.h"

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

// A row of a table of options in docs/command-line.md.
struct Row {
  std::string options;  // as they are written
  std::string usual;    // their default
};

// The cells of a line, cut at each | that has no backslash before it.
std::vector<std::string> CellsOf(std::string_view line) {
  std::vector<std::string> cells;
  for (size_t begin = 1, end = begin; end < line.size(); ++end) {
    if (line[end] != '|' || line[end - 1] == '\\') continue;
    std::string_view cell = line.substr(begin, end - begin);
    while (cell.starts_with(' ')) cell.remove_prefix(1);
    while (cell.ends_with(' ')) cell.remove_suffix(1);
    cells.emplace_back(cell);
    begin = end + 1;
  }
  return cells;
}

// Those in the part that is about `command`.
std::vector<Row> RowsOfDocument(const std::string& command) {
  const std::string document = Content(SourceDir() + "/docs/command-line.md");
  const size_t begin = document.find("# `pleat " + command + "`\n");
  EXPECT_NE(begin, std::string::npos);
  std::vector<Row> rows;
  std::istringstream lines(document.substr(begin, document.find("\n# `", begin + 1) - begin));
  for (std::string line; std::getline(lines, line);) {
    if (!line.starts_with("| `-")) continue;
    const std::vector<std::string> cells = CellsOf(line);
    EXPECT_EQ(cells.size(), 3u) << line;
    rows.push_back({cells[0], cells[1]});
  }
  return rows;
}

// How the document writes an option: "`-o`, `--output FILE`".
std::string Written(const Flag& flag) {
  std::string out;
  if (flag.letter != 0) out += std::string("`-") + flag.letter + "`, ";
  out += "`--" + std::string(flag.name) + (flag.placeholder.empty() ? "" : " ");
  for (const char c : flag.placeholder) out += (c == '|' ? "\\" : "") + std::string(1, c);
  out += '`';
  if (!flag.also.empty()) out += ", `--" + std::string(flag.also) + '`';
  return out;
}

// What the help says in "(default X)", without "or" and the like behind it; empty: nothing.
std::string DefaultInHelp(std::string help) {
  constexpr std::string_view kBegin = "(default ";
  std::ranges::replace(help, '\n', ' ');
  const size_t begin = help.find(kBegin);
  if (begin == help.npos) return {};
  const size_t first = begin + kBegin.size();
  return help.substr(first, help.find_first_of(",)", first) - first);
}

// A command, with its table on default options.
struct Command {
  std::string name;
  std::vector<Flag> flags;
  std::string help;
  std::function<std::vector<OptionText>()> spec_texts;  // of the options that `flags` sets
  std::function<void()> reset;                          // sets them to their defaults

  // The texts of all options that the table knows.
  std::vector<std::string> Texts() const {
    std::vector<std::string> texts;
    for (const auto& [option, text] : spec_texts()) texts.push_back(option + ' ' + text);
    for (const Flag& flag : flags) texts.push_back(flag.value.text ? flag.value.text() : "");
    return texts;
  }

  // Whether an option is by itself what `text` makes of it.
  bool IsUsual(const Flag& flag, std::string_view text) const {
    reset();
    const std::vector<std::string> usual = Texts();
    const bool taken = flag.value.set(flag.name, text).ok();
    const bool same = taken && Texts() == usual;
    reset();
    return same;
  }
};

// Whether a row may say of `flag` that it is `usual` by default: a value, a number or in words.
void ExpectDefault(const Command& command, const Flag& flag, std::string usual) {
  SCOPED_TRACE("by default: " + usual);
  if (usual.empty() || usual.starts_with("as for ")) return;
  const bool is_number = usual.find_first_not_of("0123456789,") == usual.npos;
  const bool is_value = is_number || (usual.starts_with('`') && usual.ends_with('`'));
  std::erase(usual, is_number ? ',' : '`');
  const std::string in_help = DefaultInHelp(std::string(flag.help));
  EXPECT_EQ(usual.substr(0, in_help.size()), in_help);
  EXPECT_EQ(flag.placeholder.empty(), usual == "off" || usual == "on");
  EXPECT_EQ(flag.help.find("(required") != flag.help.npos, usual.starts_with("required"));
  EXPECT_TRUE(!is_value || command.IsUsual(flag, usual));
}

// A row names each option as the table does, in the order of the table.
void ExpectRowsOfTheTable(const Command& command) {
  OptionNames documented;
  for (const Row& row : RowsOfDocument(command.name)) {
    const OptionNames names = OptionsIn(row.options);
    std::string wanted;
    for (const Flag& flag : command.flags) {
      if (!names.contains(std::string(flag.name))) continue;
      wanted += (wanted.empty() ? "" : ", ") + Written(flag);
      SCOPED_TRACE(flag.name);
      ExpectDefault(command, flag, row.usual);
    }
    EXPECT_EQ(row.options, wanted) << "is the row in docs/command-line.md, and the wanted one";
    documented.insert(names.begin(), names.end());
  }
  for (const Flag& flag : command.flags) {
    if (flag.name.empty() || documented.contains(std::string(flag.name))) continue;
    ADD_FAILURE() << "docs/command-line.md wants a row:\n| " << Written(flag) << " | DEFAULT | "
                  << flag.help << " |";
  }
  EXPECT_EQ(documented, OptionsOfTable(command.flags));
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

template <class Options>
Command CommandOf(const EngineCommand<Options>& command, Options& options) {
  return {std::string(command.name), command.flags(options), command.Help(),
          [&options] { return OptionsOf(SpecOf(options)); }, [&options] { options = Options(); }};
}

template <class Options>
Command CommandOf(const std::string& name, std::vector<Flag> flags, const std::string& help,
                  Options& options) {
  return {name, std::move(flags), help, [] { return std::vector<OptionText>(); },
          [&options] { options = Options(); }};
}

TEST(OptionLists, OfEveryCommandAgree) {
  FoldOptions fold;
  LiveSetRunOptions live;
  RollupRunOptions rollup;
  AnalyzeOptions analyze;
  StateOptionsGiven state;
  StoreOptions store;
  RunOptions run;
  LanesOptions lanes;
  for (const Command& command :
       {CommandOf(kFoldCommand, fold), CommandOf(kLiveSetCommand, live),
        CommandOf(kRollupCommand, rollup),
        CommandOf("analyze", AnalyzeFlags(analyze), AnalyzeHelp(), analyze),
        CommandOf("state", StateFlags(state), StateHelp(), state),
        CommandOf("store", StoreFlags(store), StoreHelp(), store),
        CommandOf("run", RunFlags(run), RunHelp(), run),
        CommandOf("lanes", LanesFlags(lanes), LanesHelp(), lanes)}) {
    SCOPED_TRACE(command.name);
    EXPECT_EQ(OptionsOfHelp(command.help), OptionsOfTable(command.flags));
    ExpectRowsOfTheTable(command);
  }
}

// A flag without a value of its own is an option of the command's spec.
TEST(OptionLists, EveryFlagHasWhatItSets) {
  const auto expect_set = [](const auto& flags) {
    for (const Flag& flag : flags) {
      if (flag.name.empty()) continue;
      ASSERT_TRUE(flag.value.set) << flag.name;
      EXPECT_FALSE(absl::IsNotFound(flag.value.set(flag.name, ""))) << flag.name;
    }
  };
  FoldOptions fold;
  LiveSetRunOptions live;
  RollupRunOptions rollup;
  AnalyzeOptions analyze;
  expect_set(kFoldCommand.flags(fold));
  expect_set(kLiveSetCommand.flags(live));
  expect_set(kRollupCommand.flags(rollup));
  expect_set(AnalyzeFlags(analyze));
}

TEST(OptionLists, SuggestionsAreOptionsOfTheCommand) {
  const auto expect_known = [](const auto& command) {
    ExpectSuggestionsKnown(command.Flags(),
                           [&](int argc, auto argv) { return command.Parse(argc, argv); });
  };
  expect_known(kFoldCommand);
  expect_known(kLiveSetCommand);
  expect_known(kRollupCommand);
  ExpectSuggestionsKnown(FlagsToRead(AnalyzeFlags), ParseAnalyzeOptions);
}

}  // namespace
}  // namespace pleat::cli
