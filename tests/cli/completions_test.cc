// The completions of the shells list the commands and options that the help lists, each in its place.
// bash is asked for real; `./dev check package` asks the other two as well.
#include <algorithm>
#include <map>
#include <set>
#include <sstream>
#include <string>

#include "tests/cli/run_pleat.h"

namespace pleat::cli {
namespace {

using Offers = std::set<std::string>;

std::string Says(const std::string& words) {
  const Finished r = RunToEnd(Pleat(words), "");
  EXPECT_EQ(r.code, 0) << words;
  EXPECT_EQ(r.err, "") << words;
  return r.out;
}

Offers Commands() {
  const std::string help = Says("--help");
  std::istringstream lines(help.substr(help.find("Commands:\n")));
  Offers names;
  for (std::string line; std::getline(lines, line);) {
    if (line.starts_with("  ")) names.insert(line.substr(2, line.find(' ', 2) - 2));
  }
  return names;
}

// Of `pleat COMMAND --help`, of whose options --help is the last; with their dashes.
Offers Options(const std::string& command) {
  std::istringstream lines(Says(command + " --help"));
  Offers names;
  for (std::string line; !names.contains("--help") && std::getline(lines, line);) {
    if (!line.starts_with("  -")) continue;
    std::istringstream words(line);
    for (std::string word; words >> word && word.starts_with("-");) {
      names.insert(word.substr(0, word.find(',')));
    }
  }
  return names;
}

// What `bash` offers at the end of a command line of these words, of which the last may be empty.
Offers OffersOfBash(const std::string& words) {
  TemporaryDirectory dir;
  dir.Write("pleat", Says("completions bash"));
  const std::string ask = "cd " + dir.path() + "; . ./pleat; compopt() { :; }; COMP_WORDS=(" +
                          words +
                          "); COMP_CWORD=$((${#COMP_WORDS[@]} - 1)); _pleat; "
                          "printf '%s\\n' \"${COMPREPLY[@]}\"";
  const Finished r = RunToEnd({"/bin/bash", "-c", ask}, "");
  EXPECT_EQ(r.err, "") << words;
  Offers offers;
  std::istringstream lines(r.out);
  for (std::string line; std::getline(lines, line);) {
    if (!line.empty()) offers.insert(line);
  }
  return offers;
}

TEST(Completions, OfBashAreTheCommandsAndTheirOptions) {
  const Offers commands = Commands();
  EXPECT_GE(commands.size(), 6u);
  Offers first = commands;
  first.merge(Offers{"help", "--help", "--version"});
  EXPECT_EQ(OffersOfBash("pleat ''"), first);
  EXPECT_EQ(OffersOfBash("pleat help ''"), commands);
  for (const std::string& command : commands) {
    EXPECT_EQ(OffersOfBash("pleat " + command + " -"), Options(command)) << command;
  }
}

TEST(Completions, OfBashKnowWhatAValueIs) {
  EXPECT_EQ(OffersOfBash("pleat fold --edge ''"), (Offers{"trailing", "leading", "both"}));
  EXPECT_EQ(OffersOfBash("pleat fold --edge = tr"), Offers{"trailing"});
  EXPECT_EQ(OffersOfBash("pleat fold --edge ="), (Offers{"trailing", "leading", "both"}));
  EXPECT_EQ(OffersOfBash("pleat fold --output ''"), Offers{"pleat"});
  EXPECT_EQ(OffersOfBash("pleat fold --stats ''"), Offers{"pleat"});
  EXPECT_EQ(OffersOfBash("pleat fold ''"), Offers{"pleat"});
  EXPECT_EQ(OffersOfBash("pleat fold --key ''"), Offers{});
  EXPECT_EQ(OffersOfBash("pleat fold --strict ''"), Offers{"pleat"});
  EXPECT_EQ(OffersOfBash("pleat fold --state ''"), Offers{});
  EXPECT_EQ(OffersOfBash("pleat state ''"), (Offers{"show", "check", "salvage"}));
  EXPECT_EQ(OffersOfBash("pleat completions ''"), (Offers{"bash", "zsh", "fish"}));
}

TEST(Completions, OfZshAndFishHaveEachOptionInItsCommand) {
  const std::string zsh = Says("completions zsh");
  const std::string fish = Says("completions fish");
  for (const std::string& command : Commands()) {
    const size_t begin = zsh.find("\n        " + command + ")\n");
    ASSERT_NE(begin, std::string::npos) << command;
    const std::string part = zsh.substr(begin, zsh.find(";;", begin) - begin);
    const Offers options = Options(command);
    Offers in_zsh;
    std::istringstream lines(part);
    for (std::string line; std::getline(lines, line);) {
      const size_t at = line.find('-');
      const bool is_option = line.find("'-") != line.npos || line.find("'*-") != line.npos;
      if (is_option) in_zsh.insert(line.substr(at, line.find_first_of("=+[", at) - at));
    }
    EXPECT_EQ(in_zsh, options) << command;

    Offers in_fish;
    const std::string of = "complete -c pleat -n '__pleat_command_is " + command + "' -";
    for (size_t at = fish.find(of); at != fish.npos; at = fish.find(of, at)) {
      at += of.size() - 1;
      std::istringstream words(fish.substr(at, fish.find('\n', at) - at));
      for (std::string kind, name; words >> kind >> name && (kind == "-l" || kind == "-s");) {
        in_fish.insert((kind == "-l" ? "--" : "-") + name);
      }
    }
    EXPECT_EQ(in_fish, options) << command;
  }
}

TEST(Completions, AreForShellsThatAreKnown) {
  for (const char* words : {"completions", "completions tcsh", "completions bash zsh"}) {
    const Finished r = RunToEnd(Pleat(words), "");
    EXPECT_EQ(r.code, 2) << words;
    EXPECT_EQ(r.out, "") << words;
    EXPECT_NE(r.err.find("say for which shell: bash, zsh or fish"), std::string::npos) << r.err;
  }
}

}  // namespace
}  // namespace pleat::cli
