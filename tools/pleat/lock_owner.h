// Who has a state directory, told without taking its lock, which would disturb the owner.
#pragma once

#include <optional>
#include <string>

namespace pleat::cli {

// The number of the process that has locked `directory`; nothing if nobody has, or if the system
// does not tell.
std::optional<int> LockOwner(const std::string& directory);

}  // namespace pleat::cli
