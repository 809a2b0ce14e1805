#include "tools/pleat/unusable_input.h"

#include <algorithm>
#include <optional>
#include <regex>
#include <utility>

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
      {R"(\s*\[\s*(\{|$))", {"a JSON array", "", "json"}},
      {R"(\s*\{.*\n\s*["}])", {"pretty-printed JSON", "", "json"}},
      {R"((?!\s*\{).*\[\d\d/[A-Z][a-z]{2}/\d{4}:\d\d:\d\d:\d\d )",
       {"an access log", "jc --clf-s < FILE"}},
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
      {';', {"CSV with semicolons", "mlr --icsv --ifs ';' --ojsonl cat FILE"}},
  };
  if (first_line.starts_with('{')) return std::nullopt;
  for (const auto& [separator, guess] : kSeparators) {
    const size_t columns = CountUnquoted(first_line, separator);
    if (columns > 0 && columns == CountUnquoted(second_line, separator)) return guess;
  }
  return std::nullopt;
}

bool SameButForCase(std::string_view a, std::string_view b) {
  const auto lower = [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c; };
  return std::ranges::equal(a, b, {}, lower, lower);
}

// How the members of `line` spell `name`, if they do so in another case only; else empty.
std::string_view OtherSpelling(std::string_view line, std::string_view name) {
  std::string_view other;
  for (size_t quote = line.find('"'); quote != line.npos; quote = line.find('"', quote + 1)) {
    const std::string_view spelled = line.substr(quote + 1, name.size());
    const std::string_view behind = line.substr(std::min(quote + 1 + name.size(), line.size()));
    if (!behind.starts_with('"') || !SameButForCase(spelled, name)) continue;
    const size_t next = behind.find_first_not_of(" \t", 1);
    if (next == behind.npos || behind[next] != ':') continue;
    if (spelled == name) return {};
    other = spelled;
  }
  return other;
}

// "has "User" where --key says "user"", or nothing.
std::string MemberInOtherCase(std::string_view line, std::span<const NeededMember> needed) {
  for (const auto& [option, path] : needed) {
    const char separator = path.starts_with('/') ? '/' : '.';
    for (size_t begin = 0; begin < path.size();) {
      const size_t end = std::min(path.find(separator, begin), path.size());
      const std::string_view name = std::string_view(path).substr(begin, end - begin);
      const std::string_view other = OtherSpelling(line, name);
      if (!other.empty()) {
        return "has \"" + std::string(other) + "\" where " + std::string(option) + " says \"" +
               std::string(name) + "\"";
      }
      begin = end + 1;
    }
  }
  return "";
}

std::optional<Guess> GuessFormat(std::span<const std::string> lines) {
  std::optional<Guess> guess = GuessByMagic(lines[0]);
  if (!guess) guess = GuessByShape(lines.size() == 1 ? lines[0] : lines[0] + "\n" + lines[1]);
  if (!guess && lines.size() > 1) guess = GuessByColumns(lines[0], lines[1]);
  return guess;
}

std::string SentenceFor(const Guess& guess, std::string_view input, std::string_view command) {
  std::string sentence = std::string(input) + " looks like " + std::string(guess.looks_like) + ": ";
  if (guess.input.empty()) sentence += std::string(guess.command) + " | ";
  sentence += "pleat " + std::string(command);
  if (!guess.input.empty()) sentence += " --input " + std::string(guess.input);
  return sentence + " ...";
}

}  // namespace

std::vector<NeededMember> NeededBy(const FoldSpec& spec) {
  std::vector<NeededMember> needed;
  needed.reserve(spec.event.key.size() + 2);
  for (const KeyField& field : spec.event.key) needed.push_back({"--key", field.path});
  if (!spec.event.time.empty()) needed.push_back({"--time", spec.event.time});
  if (!spec.marks.id.empty()) needed.push_back({"--id", spec.marks.id});
  return needed;
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

std::string UnusableInput::Sentence(std::string_view command,
                                    std::span<const NeededMember> needed) const {
  const std::string said = "no line was usable; ";
  if (lines_.empty()) return said + "the reasons are above";
  if (const std::optional<Guess> guess = GuessFormat(lines_)) {
    return said + SentenceFor(*guess, input_, command);
  }
  for (const std::string& line : lines_) {
    const std::string member = MemberInOtherCase(line, needed);
    if (!member.empty()) return (said + input_).append(" ").append(member);
  }
  return said + "the reasons are above";
}

}  // namespace pleat::cli
