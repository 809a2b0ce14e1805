#include "tests/structure/named_tests.h"

#include <cctype>
#include <iterator>

// With a sanitizer on, g++ 12 sees uninitialized memory inside of <regex>, which is none.
#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"
#endif
#include <regex>

namespace pleat_structure {
namespace {

// Calls `see` with every match of `pattern` in `text`.
template <class See>
void ForEachMatch(std::string_view text, const char* pattern, See see) {
  const std::regex regex(pattern, std::regex::ECMAScript | std::regex::multiline);
  using Matches = std::regex_iterator<std::string_view::const_iterator>;
  for (Matches it(text.begin(), text.end(), regex), end; it != end; ++it) see(*it);
}

}  // namespace

std::set<std::string> TestsIn(std::string_view source) {
  std::set<std::string> tests;
  ForEachMatch(source, R"(^TEST(?:_[FP])?\(\s*(\w+),\s*(\w+)\))",
               [&](const auto& match) { tests.insert(match.str(1) + "." + match.str(2)); });
  return tests;
}

std::set<std::string> StoriesIn(std::string_view text) {
  std::set<std::string> stories;
  ForEachMatch(text, R"(^=== (\w+\.\w+)$)",
               [&](const auto& match) { stories.insert(match.str(1)); });
  return stories;
}

std::vector<std::string> TestsNamedIn(std::string_view document) {
  std::vector<std::string> tests;
  ForEachMatch(document, R"(^\|.*$)", [&](const auto& row) {
    ForEachMatch(std::string_view(&*row[0].first, static_cast<size_t>(row.length())),
                 R"(`([A-Z]\w*\.[A-Z]\w*)`)",
                 [&](const auto& match) { tests.push_back(match.str(1)); });
  });
  return tests;
}

std::vector<std::string> PathsNamedIn(std::string_view document) {
  std::vector<std::string> paths;
  ForEachMatch(document, R"(`((?:bench|engine|examples|fuzz|include|tests|tools)/[\w./-]+)`)",
               [&](const auto& match) { paths.push_back(match.str(1)); });
  return paths;
}

std::vector<std::string> SectionsLinkedIn(std::string_view document) {
  std::vector<std::string> links;
  ForEachMatch(document, R"(\]\(((?:[\w.][\w./-]*\.md)?#[\w-]+)\))",
               [&](const auto& match) { links.push_back(match.str(1)); });
  return links;
}

std::vector<std::string> FilesLinkedIn(std::string_view document) {
  std::vector<std::string> files;
  ForEachMatch(document, R"(\]\(([\w.][\w./-]*)(?:#[\w-]+)?\))",
               [&](const auto& match) { files.push_back(match.str(1)); });
  return files;
}

// A heading in lower case, its blanks as dashes, without punctuation.
std::set<std::string> SectionsOf(std::string_view document, size_t level) {
  std::set<std::string> sections;
  ForEachMatch(document, R"(^(#+) (.*)$)", [&](const auto& match) {
    if (level != 0 && level != static_cast<size_t>(match.length(1))) return;
    std::string name;
    for (const char c : match.str(2)) {
      const auto byte = static_cast<unsigned char>(c);
      if (c == ' ') name += '-';
      if (std::isalnum(byte) != 0 || c == '-' || c == '_')
        name += static_cast<char>(std::tolower(byte));
    }
    sections.insert(name);
  });
  return sections;
}

}  // namespace pleat_structure
