#include "tests/structure/class_sizes.h"

#include <cctype>
#include <regex>
#include <vector>

namespace pleat_structure {
namespace {

// Comments, strings and characters may hold braces and semicolons. No regex: it would take a stack as
// deep as a string is long.
std::string WithoutCommentsAndTexts(const std::string& text) {
  std::string code;
  for (size_t at = 0; at < text.size(); ++at) {
    const bool in_word = at > 0 && std::isalnum(static_cast<unsigned char>(text[at - 1])) != 0;
    if (text.compare(at, 2, "//") == 0) {
      at = text.find('\n', at);
    } else if (text.compare(at, 2, "R\"") == 0 && !in_word) {
      const size_t open = text.find('(', at);
      const std::string close = ")" + text.substr(at + 2, open - at - 2) + "\"";
      at = text.find(close, open) + close.size() - 1;
    } else if (text[at] == '"' || (text[at] == '\'' && !in_word)) {
      const char quote = text[at];
      for (++at; at < text.size() && text[at] != quote; ++at) at += text[at] == '\\';
    } else {
      code += text[at];
    }
    if (at >= text.size()) break;
  }
  return code;
}

struct Scope {
  std::string class_name;  // none: a function, a namespace, an initializer
  std::string statement;   // what of one was read
};

}  // namespace

std::map<std::string, int> DataMembersIn(const std::string& text) {
  static const std::regex kClass(
      R"(\b(?:class|struct)\s+(?:\w+\s+|\w+\([^)]*\)\s+)*(?!final\b)(\w+)\s*)"
      R"((?:final\s*)?(?::[^:;=()][^;=()]*)?$)");
  static const std::regex kMember(
      R"([\w>&*\]]\s+\w+_\s*(?:\[[^\]]*\]\s*)?(?:ABSL_\w+\([^)]*\)\s*)?(?:[:=][^]*)?$)");
  std::map<std::string, int> members;
  std::vector<Scope> scopes(1);
  for (const char c : WithoutCommentsAndTexts(text)) {
    std::string& statement = scopes.back().statement;
    const bool in_class = !scopes.back().class_name.empty();
    if (c == '{') {
      std::smatch head;
      std::string name;
      if (std::regex_search(statement, head, kClass)) {
        name = in_class ? scopes.back().class_name + "::" + head.str(1) : head.str(1);
        members[name];
      }
      scopes.push_back({name, ""});
    } else if (c == '}') {
      if (scopes.size() > 1) scopes.pop_back();
      // Behind an initializer the statement goes on.
      std::string& outer = scopes.back().statement;
      if (!std::regex_search(outer, kMember)) outer.clear();
    } else if (c == ';') {
      if (in_class && std::regex_search(statement, kMember)) ++members[scopes.back().class_name];
      statement.clear();
    } else {
      statement += c;
    }
  }
  return members;
}

}  // namespace pleat_structure
