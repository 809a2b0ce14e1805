// Each script lists all commands and flags; none of them asks the program. A placeholder says what a
// value is: a FILE, a DIR, one of the words in `a|b|c`, or a text that no shell can know.
#include "tools/pleat/completions.h"

#include <algorithm>
#include <cctype>
#include <utility>

namespace pleat::cli {
namespace {

// Flags that stand alone, in place of a command.
constexpr std::pair<std::string_view, std::string_view> kBareFlags[] = {
    {"help", "what the commands are"},
    {"version", "what this is"},
};

std::vector<std::string_view> Split(std::string_view text, char separator) {
  std::vector<std::string_view> parts;
  for (;;) {
    const size_t end = text.find(separator);
    parts.push_back(text.substr(0, end));
    if (end == text.npos) return parts;
    text.remove_prefix(end + 1);
  }
}

bool IsWord(std::string_view text) {
  return !text.empty() && std::ranges::all_of(text, [](char c) { return c >= 'a' && c <= 'z'; });
}

struct ValueKind {
  bool file = false;
  bool directory = false;
  std::vector<std::string_view> words;
};

ValueKind KindOf(std::string_view placeholder) {
  ValueKind kind;
  for (const std::string_view part : Split(placeholder, '|')) {
    if (part == "FILE") kind.file = true;
    if (part.ends_with("DIR")) kind.directory = true;
    if (IsWord(part)) kind.words.push_back(part);
  }
  return kind;
}

std::string Join(const std::vector<std::string_view>& words) {
  std::string out;
  for (const std::string_view word : words) {
    if (!out.empty()) out += ' ';
    out += word;
  }
  return out;
}

std::string NamesOf(std::span<const CompletedCommand> commands) {
  std::vector<std::string_view> names;
  for (const CompletedCommand& command : commands) names.push_back(command.name);
  return Join(names);
}

std::string WordsOf(const Arguments& arguments) {
  return Join({arguments.words.begin(), arguments.words.end()});
}

// The beginning of a help text, as one line; menus have little room.
std::string Summary(std::string_view help) {
  constexpr size_t kRoom = 76;
  std::string line(help);
  std::ranges::replace(line, '\n', ' ');
  if (line.size() <= kRoom) return line;
  return line.substr(0, line.rfind(' ', kRoom)) + "...";
}

std::string WithBackslashes(std::string_view text, std::string_view letters) {
  std::string out;
  for (const char c : text) {
    if (letters.find(c) != letters.npos) out += '\\';
    out += c;
  }
  return out;
}

// How a command line names the flag; the name of its own first.
std::vector<std::string> SpellingsOf(const Flag& flag) {
  std::vector<std::string> spellings = {"--" + std::string(flag.name)};
  if (!flag.also.empty()) spellings.push_back("--" + std::string(flag.also));
  if (flag.letter != 0) spellings.push_back({'-', flag.letter});
  return spellings;
}

bool IsLong(std::string_view spelling) { return spelling.starts_with("--"); }

// Calls `use` with each flag that is not a heading.
void ForEachFlag(const CompletedCommand& command, auto use) {
  for (const Flag& flag : command.flags) {
    if (!flag.name.empty()) use(flag);
  }
}

// ---- bash, whose words are cut at `=` as well ----

constexpr std::string_view kBashBegin =
    R"(# Completion of pleat for bash, as printed by: pleat completions bash
_pleat_paths() {
  compopt -o filenames 2>/dev/null
  mapfile -t COMPREPLY < <(compgen "$1" -- "$2")
}

_pleat_words() {
  mapfile -t COMPREPLY < <(compgen -W "$1" -- "$2")
}

_pleat() {
  local word=${COMP_WORDS[COMP_CWORD]} option=${COMP_WORDS[COMP_CWORD - 1]} command=${COMP_WORDS[1]}
  COMPREPLY=()
  if [[ $word == '=' ]]; then
    word=
  elif [[ $option == '=' ]]; then
    option=${COMP_WORDS[COMP_CWORD - 2]}
  fi
)";

std::string BashWords(std::string_view words) {
  return "_pleat_words '" + std::string(words) + "' \"$word\"";
}

std::string BashArguments(const Arguments& arguments) {
  std::string others = arguments.others == "FILE"  ? "_pleat_paths -f \"$word\""
                       : arguments.others == "DIR" ? "_pleat_paths -d \"$word\""
                                                   : ":";
  if (arguments.words.empty()) return others;
  return "if ((COMP_CWORD == 2)); then " + BashWords(WordsOf(arguments)) + "; else " + others +
         "; fi";
}

std::string BashScript(std::span<const CompletedCommand> commands) {
  std::string bare = NamesOf(commands) + " help";
  for (const auto& [name, what] : kBareFlags) bare += " --" + std::string(name);
  std::string values;
  std::string names;
  std::string arguments;
  for (const CompletedCommand& command : commands) {
    std::string options;
    ForEachFlag(command, [&](const Flag& flag) {
      std::string patterns;
      for (const std::string& spelling : SpellingsOf(flag)) {
        options += (options.empty() ? "" : " ") + spelling;
        patterns += (patterns.empty() ? "" : "|") + std::string(command.name) + ":" + spelling;
      }
      if (flag.placeholder.empty()) return;
      const ValueKind kind = KindOf(flag.placeholder);
      values += "    " + patterns + ") ";
      if (kind.file) {
        values += "_pleat_paths -f \"$word\"; ";
      } else if (kind.directory) {
        values += "_pleat_paths -d \"$word\"; ";
      } else if (!kind.words.empty()) {
        values += BashWords(Join(kind.words)) + "; ";
      }
      values += "return ;;\n";
    });
    const std::string name = "    " + std::string(command.name);
    names += name + ":-*) " + BashWords(options) + " ;;\n";
    arguments += name + ":*) " + BashArguments(command.arguments) + " ;;\n";
  }
  return std::string(kBashBegin) + "  if ((COMP_CWORD == 1)); then\n    " + BashWords(bare) +
         "\n    return\n  fi\n  case $command:$option in\n" + values +
         "  esac\n  case $command:$word in\n    help:*) " + BashWords(NamesOf(commands)) + " ;;\n" +
         names + arguments + "  esac\n}\n\ncomplete -F _pleat pleat\n";
}

// ---- zsh ----

std::string ZshQuoted(std::string_view text) {
  std::string out = "'";
  for (const char c : text) out += c == '\'' ? "'\\''" : std::string(1, c);
  return out + "'";
}

std::string ZshAction(std::string_view placeholder) {
  const ValueKind kind = KindOf(placeholder);
  if (kind.file) return "_files";
  if (kind.directory) return "_files -/";
  return kind.words.empty() ? "" : "(" + Join(kind.words) + ")";
}

// `before` is what else _arguments is told about the flag.
std::string ZshFlag(std::string_view before, std::string_view spelling,
                    std::string_view placeholder, std::string_view help) {
  std::string spec(before);
  spec += spelling;
  if (!placeholder.empty()) spec += IsLong(spelling) ? '=' : '+';
  spec += "[" + WithBackslashes(Summary(help), "\\[]:") + "]";
  if (!placeholder.empty()) {
    spec += ":" + WithBackslashes(placeholder, "\\:") + ":" + ZshAction(placeholder);
  }
  return " \\\n            " + ZshQuoted(spec);
}

std::string ZshCommand(const CompletedCommand& command) {
  std::string out = "        " + std::string(command.name) + ")\n          _arguments";
  ForEachFlag(command, [&](const Flag& flag) {
    for (const std::string& spelling : SpellingsOf(flag)) {
      out += ZshFlag(flag.placeholder.empty() ? "" : "*", spelling, flag.placeholder, flag.help);
    }
  });
  const Arguments& arguments = command.arguments;
  if (!arguments.words.empty()) out += " \\\n            '1: :(" + WordsOf(arguments) + ")'";
  if (!arguments.others.empty()) {
    out += " \\\n            '*:" + std::string(arguments.others) + ":" +
           ZshAction(arguments.others) + "'";
  }
  return out + " && result=0\n          ;;\n";
}

std::string ZshScript(std::span<const CompletedCommand> commands) {
  std::string out = R"(#compdef pleat
# Completion of pleat for zsh, as printed by: pleat completions zsh
_pleat() {
  local context state state_descr line result=1
  typeset -A opt_args
  local -a commands=(
)";
  for (const CompletedCommand& command : commands) {
    out += "    " +
           ZshQuoted(std::string(command.name) + ":" + WithBackslashes(command.what, "\\:")) + "\n";
  }
  out += "    'help:explains a command'\n  )\n  _arguments -C";
  for (const auto& [name, what] : kBareFlags) {
    out += ZshFlag("(- *)", "--" + std::string(name), "", what);
  }
  out += R"( \
    '1: :->command' '*:: :->arguments' && result=0
  case $state in
    command) _describe command commands && result=0 ;;
    arguments)
      case $words[1] in
        help) ((CURRENT == 2)) && _describe command commands && result=0 ;;
)";
  for (const CompletedCommand& command : commands) out += ZshCommand(command);
  return out + "      esac\n      ;;\n  esac\n  return result\n}\n\n_pleat \"$@\"\n";
}

// ---- fish ----

constexpr std::string_view kFishBegin =
    R"(# Completion of pleat for fish, as printed by: pleat completions fish
function __pleat_command_is
    set -l words (commandline -opc)
    test (count $words) -ge 2; and contains -- $words[2] $argv
end

function __pleat_words_are
    test (count (commandline -opc)) -eq $argv[1]
end

)";

std::string FishQuoted(std::string_view text) { return "'" + WithBackslashes(text, "\\'") + "'"; }

std::string FishValue(std::string_view placeholder) {
  const ValueKind kind = KindOf(placeholder);
  if (kind.file) return " -r -F";
  if (kind.directory) return " -x -a '(__fish_complete_directories)'";
  return kind.words.empty() ? " -x" : " -x -a '" + Join(kind.words) + "'";
}

std::string FishScript(std::span<const CompletedCommand> commands) {
  constexpr std::string_view kBare = "complete -c pleat -n '__pleat_words_are 1' -f";
  std::string out(kFishBegin);
  for (const auto& [name, what] : kBareFlags) {
    out += std::string(kBare) + " -l " + std::string(name) + " -d " + FishQuoted(what) + "\n";
  }
  for (const CompletedCommand& command : commands) {
    out += std::string(kBare) + " -a " + std::string(command.name) + " -d " +
           FishQuoted(command.what) + "\n";
  }
  out += std::string(kBare) + " -a help -d 'explains a command'\n";
  out += "complete -c pleat -n '__pleat_command_is help' -f\n";
  out += "complete -c pleat -n '__pleat_command_is help; and __pleat_words_are 2' -a '" +
         NamesOf(commands) + "'\n";
  for (const CompletedCommand& command : commands) {
    const std::string is = "__pleat_command_is " + std::string(command.name);
    const std::string begin = "\ncomplete -c pleat -n '" + is;
    const Arguments& arguments = command.arguments;
    if (arguments.others != "FILE") out += begin + "' -f";
    if (!arguments.words.empty()) {
      out += begin + "; and __pleat_words_are 2' -a '" + WordsOf(arguments) + "'";
    }
    if (arguments.others == "DIR") {
      out += begin + "; and not __pleat_words_are 2' -a '(__fish_complete_directories)'";
    }
    ForEachFlag(command, [&](const Flag& flag) {
      out += begin + "'";
      for (const std::string& spelling : SpellingsOf(flag)) {
        out += IsLong(spelling) ? " -l " + spelling.substr(2) : " -s " + spelling.substr(1);
      }
      if (!flag.placeholder.empty()) out += FishValue(flag.placeholder);
      out += " -d " + FishQuoted(Summary(flag.help));
    });
    out += "\n";
  }
  return out;
}

}  // namespace

std::string CompletionScript(std::string_view shell, std::span<const CompletedCommand> commands) {
  if (shell == "bash") return BashScript(commands);
  return shell == "zsh" ? ZshScript(commands) : FishScript(commands);
}

}  // namespace pleat::cli
