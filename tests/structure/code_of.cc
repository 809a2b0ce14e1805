#include "tests/structure/code_of.h"

#include <algorithm>
#include <cctype>

namespace pleat_structure {

// No regex: it would take a stack as deep as a string is long.
std::string CodeOf(std::string_view text) {
  std::string code;
  for (size_t at = 0; at < text.size();) {
    const std::string_view rest = text.substr(at);
    const bool in_word = at > 0 && std::isalnum(static_cast<unsigned char>(text[at - 1])) != 0;
    size_t end = at;
    if (rest.starts_with("//")) {
      end = text.find('\n', at);
    } else if (rest.starts_with("R\"") && !in_word) {
      const size_t open = text.find('(', at);
      std::string close(")");
      close.append(text.substr(at + 2, open - at - 2)).append("\"");
      end = text.find(close, open);
      if (end != text.npos) end += close.size();
    } else if (rest[0] == '"' || (rest[0] == '\'' && !in_word)) {
      for (++end; end < text.size() && text[end] != rest[0]; ++end) end += text[end] == '\\';
      ++end;
    } else {
      code += text[at++];
      continue;
    }
    end = std::min(end, text.size());
    code.append(std::ranges::count(text.substr(at, end - at), '\n'), '\n');
    at = end;
  }
  return code;
}

}  // namespace pleat_structure
