#include "tests/structure/class_sizes.h"

#include <regex>
#include <vector>

#include "tests/structure/code_of.h"

namespace pleat_structure {
namespace {

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
  for (const char c : CodeOf(text)) {
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
