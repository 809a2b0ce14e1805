#include "tests/structure/const_views.h"

#include <regex>

#include "tests/structure/code_of.h"

namespace pleat_structure {
namespace {

// What comes before the type of a declaration.
const std::regex& Heads() {
  static const std::regex heads(
      R"(\b(?:public|protected|private)\s*:|\btemplate\s*<[^()]*>(?=\s+\w)|\[\[[^\]]*\]\]|)"
      R"(\b(?:virtual|inline|constexpr|friend)\s)");
  return heads;
}

// A type, `&` or `*`, and a const function; or one that gives a span.
const std::regex& ConstFunction() {
  static const std::regex function(
      R"(^\s*([\w:]+(?:<.*>)?(?:::\w+)*\s*[&*]+|(?:std::)?span<.*>)\s*(?:\w+::)*(\w+|operator\W+))"
      R"(\((?:[^()]|\([^()]*\))*\)\s*const\b)");
  return function;
}

bool GivesConst(const std::string& type) {
  static const std::regex const_span(R"(^(?:std::)?span<\s*const\b)");
  return std::regex_search(type, const_span);
}

}  // namespace

std::set<std::string> ConstThatWritesIn(const std::string& text) {
  std::set<std::string> names;
  std::string statement;
  for (const char c : CodeOf(text)) {
    if (c != ';' && c != '{' && c != '}') {
      statement += c == '\n' ? ' ' : c;
      continue;
    }
    if (statement.find(") const") != statement.npos) {
      const std::string declaration = std::regex_replace(statement, Heads(), "");
      std::smatch found;
      if (std::regex_search(declaration, found, ConstFunction()) && !GivesConst(found.str(1))) {
        names.insert(found.str(2));
      }
    }
    statement.clear();
  }
  return names;
}

}  // namespace pleat_structure
