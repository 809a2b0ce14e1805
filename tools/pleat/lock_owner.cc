#include "tools/pleat/lock_owner.h"

#include <sys/stat.h>
#include <sys/sysmacros.h>

#include <array>
#include <cstdio>
#include <fstream>
#include <sstream>

namespace pleat::cli {

// /proc/locks lists all locks of the system, a line each, with the device and the number of the
// file: "1: FLOCK  ADVISORY  WRITE 4711 08:02:1049 0 EOF".
std::optional<int> LockOwner(const std::string& directory) {
  struct stat file{};
  if (lstat((directory + "/LOCK").c_str(), &file) != 0 || !S_ISREG(file.st_mode)) {
    return std::nullopt;
  }
  std::array<char, 64> place{};
  std::snprintf(place.data(), place.size(), "%02x:%02x:%llu", major(file.st_dev),
                minor(file.st_dev), static_cast<unsigned long long>(file.st_ino));
  std::ifstream locks("/proc/locks");
  for (std::string line; std::getline(locks, line);) {
    std::istringstream words(line);
    std::string number, kind, advisory, access, where;
    int process = 0;
    words >> number >> kind >> advisory >> access >> process >> where;
    if (words && kind == "FLOCK" && where == place.data()) return process;
  }
  return std::nullopt;
}

}  // namespace pleat::cli
