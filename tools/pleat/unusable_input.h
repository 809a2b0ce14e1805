// Why an input has no usable line: its format, and how to read that; or the paths that lead to no
// member.
//
// The format is guessed at the end of a run, from the beginnings of the first invalid lines. A path gets
// its hint at the first line that lacks it.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include <pleat/json_lines.h>

namespace pleat::cli {

class UnusableInput {
 public:
  // What an invalid line that was read as `read_as` gives away: "; looks like a log of Zeek: pleat fold
  // --input zeek ...", said once, so that nobody waits for the end of a stream. Else nothing.
  std::string HintAtOnce(std::string_view command, std::string_view read_as, std::string_view line);

  // Keeps an invalid line of `input`, if it is one of the first of the first such input.
  void Add(std::string_view input, std::string_view line);

  // Counts a line that is invalid for `reason`, which is about `path`. Returns what helps: `did you mean
  // "user"?`, or if nothing is like it `the line has "user", "time"`; empty but for the first such
  // line.
  std::string AddMissing(const OptionPath& path, std::string_view reason, std::string_view line);

  // "no line was usable; log.csv looks like CSV: pleat fold --input csv ...", of
  // `lines` that there were.
  std::string Sentence(std::string_view command, uint64_t lines) const;

  // "2 of 3 lines were left out: key "a" is missing; --key 'a?' takes null there, and 'a|OTHER' another
  // member", of the lines that there were. Empty if no line lacked a path.
  std::string LeftOutSentence(uint64_t lines) const;

  // The same for a run that had events: of an array with an element a line, the last is one, as no
  // comma follows. Empty if no array begins there.
  std::string ArraySentence(std::string_view command) const;

 private:
  struct Missing {
    std::string reason;
    OptionPath path;
    PathHint hint;  // of the first such line
    uint64_t lines = 0;
  };

  std::string WhatIsMissing(uint64_t lines) const;

  std::string input_;
  std::vector<std::string> lines_;
  bool hinted_ = false;
  std::vector<Missing> missing_;  // a few for each path of the options
};

// What a hint says of the path that is meant, or nothing: `did you mean "user"?`.
std::string Question(const PathHint& hint);

// And of the members there are: `the line has "user", "time"`, for which `whole` is "the line".
std::string Finding(const PathHint& hint, std::string_view whole);

}  // namespace pleat::cli
