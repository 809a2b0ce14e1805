// What the commands of `pleat state` say: for people, and as one JSON object.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include <pleat/state_directory.h>

namespace pleat::cli {

// The process that has the directory, if one has it.
using Owner = std::optional<int>;

std::string ShowText(const StateDirectoryReport& report, Owner owner);
std::string ShowJson(const StateDirectoryReport& report, Owner owner);

std::string CheckText(const StateDirectoryReport& report, Owner owner);
std::string CheckJson(const StateDirectoryReport& report, Owner owner);

std::string SalvageText(const SalvageReport& report, std::string_view out);
std::string SalvageJson(const SalvageReport& report);

}  // namespace pleat::cli
