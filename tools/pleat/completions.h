// What a shell needs to complete a command line of pleat, made from the tables of flags.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "tools/pleat/flags.h"

namespace pleat::cli {

// What the arguments of a command are that are no flags.
struct Arguments {
  std::span<const std::string_view> words;  // the first argument is one of these; empty: it is not
  std::string_view others = "FILE";         // FILE, DIR or nothing
};

struct CompletedCommand {
  std::string_view name;
  std::string_view what;
  Arguments arguments;
  std::vector<Flag> flags;
};

inline constexpr std::string_view kShells[] = {"bash", "zsh", "fish"};

// The script for `shell`, which is one of kShells.
std::string CompletionScript(std::string_view shell, std::span<const CompletedCommand> commands);

}  // namespace pleat::cli
