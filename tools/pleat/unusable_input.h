// Guesses the format of an input without a single usable line, and says with which option it can be
// read, or which command turns it into lines of JSON.
//
// The guess is made at the end of a run, from the beginnings of the first bad lines.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <pleat/json.h>

namespace pleat::cli {

// A member that every event must have, and the option that says so.
struct NeededMember {
  std::string_view option;
  std::string path;
};

std::vector<NeededMember> NeededBy(const FoldSpec& spec);

class UnusableInput {
 public:
  // Keeps a bad line of `input`, if it is one of the first of the first such input.
  void Add(std::string_view input, std::string_view line);

  // "no line was usable; log.csv looks like CSV: pleat fold --input csv ...".
  std::string Sentence(std::string_view command, std::span<const NeededMember> needed) const;

  // The same for a run that had events: of an array with an element a line, the last is one, as no
  // comma follows. Empty if no array begins there.
  std::string ArraySentence(std::string_view command) const;

 private:
  std::string input_;
  std::vector<std::string> lines_;
};

}  // namespace pleat::cli
