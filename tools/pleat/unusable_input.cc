#include "tools/pleat/unusable_input.h"

#include <algorithm>
#include <functional>
#include <optional>
#include <regex>
#include <span>
#include <utility>

#include <pleat/json_lines.h>

#include "tools/pleat/errno_status.h"
#include "tools/pleat/quantity_text.h"
#include "tools/pleat/records/known_log.h"

namespace pleat::cli {
namespace {

constexpr size_t kLinesKept = 10;
// Of each line. std::regex takes some hundred bytes of stack for each that it looks at.
constexpr size_t kBytesKept = 1024;

struct Guess {
  std::string_view looks_like;
  std::string_view command;     // that makes lines of JSON of it,
  std::string_view input = {};  // or the text of --input, which needs none
};

std::optional<Guess> GuessByMagic(std::string_view first_line) {
  using namespace std::string_view_literals;
  constexpr std::pair<std::string_view, Guess> kMagics[] = {
      {"\xfd\x37\x7a\x58\x5a\0"sv, {"xz", "xzcat FILE"}},
      {"BZh"sv, {"bzip2", "bzcat FILE"}},
      {"\x04\x22\x4d\x18"sv, {"lz4", "lz4cat FILE"}},
      {"PK\x03\x04"sv, {"a zip archive", "unzip -p FILE"}},
      {"\xff\xfe"sv, {"UTF-16", "iconv -f UTF-16 -t UTF-8 FILE"}},
      {"\xfe\xff"sv, {"UTF-16", "iconv -f UTF-16 -t UTF-8 FILE"}},
      {"{\0"sv, {"UTF-16", "iconv -f UTF-16LE -t UTF-8 FILE"}},
      {"\0{"sv, {"UTF-16", "iconv -f UTF-16BE -t UTF-8 FILE"}},
  };
  for (const auto& [magic, guess] : kMagics) {
    if (first_line.starts_with(magic)) return guess;
  }
  return std::nullopt;
}

// `text`: the first line, and behind a newline the second one if there is one.
std::optional<Guess> GuessByShape(const std::string& text) {
  constexpr std::pair<const char*, Guess> kShapes[] = {
      {R"(\x1e\s*\{)", {"a JSON text sequence", "", "json"}},
      {R"(\s*\[\s*(\{|$))", {"a JSON array", "", "json"}},
      {R"(\s*\{.*\n\s*["}])", {"pretty-printed JSON", "", "json"}},
      {R"((?!\s*\{).*\[\d\d/[A-Z][a-z]{2}/\d{4}:\d\d:\d\d:\d\d )", {"an access log", "", "access"}},
      {R"([\w.-]+=.*\s[\w.-]+=)", {"logfmt", "", "logfmt"}},
  };
  for (const auto& [shape, guess] : kShapes) {
    if (std::regex_search(text, std::regex(shape), std::regex_constants::match_continuous))
      return guess;
  }
  return std::nullopt;
}

size_t CountUnquoted(std::string_view line, char separator) {
  bool quoted = false;
  return static_cast<size_t>(std::ranges::count_if(line, [&](char c) {
    if (c == '"') quoted = !quoted;
    return c == separator && !quoted;
  }));
}

// By a separator of which both lines have the same number.
std::optional<Guess> GuessByColumns(std::string_view first_line, std::string_view second_line) {
  constexpr std::pair<char, Guess> kSeparators[] = {
      {'\t', {"TSV", "", "tsv"}},
      {',', {"CSV", "", "csv"}},
      {';', {"CSV with semicolons", "", "csv --separator ';'"}},
  };
  if (first_line.starts_with('{')) return std::nullopt;
  for (const auto& [separator, guess] : kSeparators) {
    const size_t columns = CountUnquoted(first_line, separator);
    if (columns > 0 && columns == CountUnquoted(second_line, separator)) return guess;
  }
  return std::nullopt;
}

std::optional<Guess> GuessFormat(std::span<const std::string> lines) {
  std::optional<Guess> guess = GuessByMagic(lines[0]);
  if (!guess) guess = GuessByShape(lines.size() == 1 ? lines[0] : lines[0] + "\n" + lines[1]);
  if (!guess && lines.size() > 1) guess = GuessByColumns(lines[0], lines[1]);
  return guess;
}

std::string HowToRead(const Guess& guess, std::string_view command) {
  std::string sentence = "looks like " + std::string(guess.looks_like) + ": ";
  if (guess.input.empty()) sentence += std::string(guess.command) + " | ";
  sentence += "pleat " + std::string(command);
  if (!guess.input.empty()) sentence += " --input " + std::string(guess.input);
  return sentence + " ...";
}

std::string SentenceFor(const Guess& guess, std::string_view input, std::string_view command) {
  return std::string(input) + " " + HowToRead(guess, command);
}

std::string AllOf(uint64_t lines) {
  return lines == 1 ? "the one line" : "all " + Counted(lines, "line");
}

}  // namespace

std::string UnusableInput::HintAtOnce(std::string_view command, std::string_view read_as,
                                      std::string_view line) {
  const std::optional<KnownLog> log = hinted_ ? std::nullopt : KnownLogOf(line);
  if (!log || log->input == read_as) return "";
  hinted_ = true;
  return "; " + HowToRead({log->looks_like, "", log->input}, command);
}

void UnusableInput::Add(std::string_view input, std::string_view line) {
  if (lines_.empty()) input_ = input;
  if (lines_.size() == kLinesKept || input != input_) return;
  lines_.emplace_back(line.substr(0, kBytesKept));
}

std::string UnusableInput::ArraySentence(std::string_view command) const {
  if (lines_.empty() || !std::regex_match(lines_.front(), std::regex(R"(\s*\[\s*)"))) return "";
  return SentenceFor({"a JSON array", "", "json"}, input_, command);
}

std::string UnusableInput::AddMissing(const OptionPath& path, std::string_view reason,
                                      std::string_view line) {
  auto missing = std::ranges::find(missing_, reason, &Missing::reason);
  if (missing != missing_.end()) return ++missing->lines, "";
  missing_.push_back({std::string(reason), path, HintFor(line, path.path), 1});
  const PathHint& hint = missing_.back().hint;
  return hint.meant.empty() ? Finding(hint, "the line") : Question(hint);
}

// Reasons by how many lines they are of.
std::string UnusableInput::WhatIsMissing(uint64_t lines) const {
  constexpr size_t kShown = 3;
  std::vector<const Missing*> most;
  most.reserve(missing_.size());
  for (const Missing& missing : missing_) most.push_back(&missing);
  std::ranges::sort(most, [](const Missing* a, const Missing* b) {
    return a->lines != b->lines ? a->lines > b->lines : a < b;
  });
  std::string text;
  for (size_t i = 0; i < std::min(most.size(), kShown); ++i) {
    const Missing& each = *most[i];
    if (i > 0) text += ". ";
    text += each.reason + " in ";
    text +=
        each.lines == lines ? AllOf(lines) : Grouped(each.lines) + " of " + Counted(lines, "line");
    if (each.hint.has.empty()) continue;
    const std::string question = Question(each.hint);
    text += question.empty() ? "; " : "; " + question + " ";
    text += Finding(each.hint, question.empty() ? "the first" : "The first");
  }
  return text;
}

// Of the path that most lines lack.
std::string UnusableInput::LeftOutSentence(uint64_t lines) const {
  const auto is_less = [](const Missing& a, const Missing& b) { return a.lines < b.lines; };
  const auto most = std::ranges::max_element(missing_, is_less);
  // An object in its place is no null.
  if (most == missing_.end() || !most->reason.ends_with("is missing")) return "";
  const std::string path = Printable(most->path.path);
  const std::string before_bar = path.starts_with('/') ? '"' + path + '"' : path;
  const std::string other = "'" + before_bar + "|OTHER'";
  std::string text = Grouped(most->lines) + " of " + Counted(lines, "line") +
                     (most->lines == 1 ? " was" : " were") + " left out: " + most->reason + "; --" +
                     most->path.option + " ";
  if (most->path.option == "time") return text + other + " takes another member there";
  return text + "'" + path + "?' takes null there, and " + other + " another member";
}

std::string UnusableInput::Sentence(std::string_view command, uint64_t lines) const {
  const std::string said = "no line was usable; ";
  if (!lines_.empty() && !hinted_) {
    if (const std::optional<Guess> guess = GuessFormat(lines_)) {
      return said + SentenceFor(*guess, input_, command);
    }
  }
  return said + (missing_.empty() ? "the reasons are above" : WhatIsMissing(lines));
}

std::string Question(const PathHint& hint) {
  if (hint.meant.empty()) return "";
  std::string question = "did you mean ";
  AppendJsonString(Printable(hint.meant), question);
  question += '?';
  if (hint.meant.starts_with('/')) question += " (a name with dots is written as a JSON Pointer)";
  return question;
}

std::string Finding(const PathHint& hint, std::string_view whole) {
  if (hint.has.empty()) return "";
  return (hint.place.empty() ? std::string(whole) : hint.place) + " " + hint.has;
}

}  // namespace pleat::cli
