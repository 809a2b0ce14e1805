// What the commands of `pleat journal` say: for people, and as one JSON object.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include <pleat/journal_care.h>

namespace pleat::cli {

// The process that has the directory, if one has it.
using Owner = std::optional<int>;

std::string ShowText(const JournalReport& report, Owner owner);
std::string ShowJson(const JournalReport& report, Owner owner);

std::string CheckText(const JournalReport& report, Owner owner);
std::string CheckJson(const JournalReport& report, Owner owner);

std::string SalvageText(const SalvageReport& report, std::string_view out);
std::string SalvageJson(const SalvageReport& report);

}  // namespace pleat::cli
