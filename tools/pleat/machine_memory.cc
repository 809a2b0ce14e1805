#include "tools/pleat/machine_memory.h"

#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <fstream>
#include <initializer_list>
#include <string_view>

#include <pleat/json.h>

namespace pleat::cli {
namespace {

// The number in a file; SIZE_MAX if there is none, as in "max".
size_t LimitIn(const std::string& path) {
  std::ifstream file(path);
  size_t limit = SIZE_MAX;
  return file >> limit ? limit : SIZE_MAX;
}

// The smallest limit in `files` of the group `path` below `mount`, and of the groups around it. In
// a container the groups above its own, or the beginning of the path, may be missing.
size_t LimitAround(const std::string& mount, std::string path,
                   std::initializer_list<const char*> files) {
  size_t limit = SIZE_MAX;
  for (;;) {
    for (const char* file : files) limit = std::min(limit, LimitIn(mount + path + "/" + file));
    const size_t slash = path.rfind('/');
    if (slash == std::string::npos) return limit;
    path.resize(slash);
  }
}

// Whether "cpu,memory" has "memory".
bool Has(std::string_view controllers, std::string_view controller) {
  const std::string all = "," + std::string(controllers) + ",";
  return all.find("," + std::string(controller) + ",") != std::string::npos;
}

}  // namespace

size_t CgroupMemoryLimit(const std::string& root) {
  const std::string mount = root + "/sys/fs/cgroup";
  std::ifstream groups(root + "/proc/self/cgroup");
  size_t limit = SIZE_MAX;
  // A line is ID:CONTROLLERS:PATH; of version 2 it begins with 0::
  for (std::string line; std::getline(groups, line);) {
    const size_t first = line.find(':');
    const size_t second = line.find(':', first + 1);
    if (first == std::string::npos || second == std::string::npos) continue;
    const std::string controllers = line.substr(first + 1, second - first - 1);
    const std::string path = line.substr(second + 1);
    if (controllers.empty()) {
      limit = std::min(limit, LimitAround(mount, path, {"memory.max", "memory.high"}));
    } else if (Has(controllers, "memory")) {
      limit = std::min(limit, LimitAround(mount + "/memory", path, {"memory.limit_in_bytes"}));
    }
  }
  return limit;
}

size_t HalfOfMemory() {
  const size_t limit = CgroupMemoryLimit("");
  const long pages = sysconf(_SC_PHYS_PAGES);
  const long page_bytes = sysconf(_SC_PAGESIZE);
  if (pages <= 0 || page_bytes <= 0) return std::min(FoldSpec{}.folder.limits.max_bytes, limit / 2);
  return std::min(static_cast<size_t>(pages) * static_cast<size_t>(page_bytes), limit) / 2;
}

}  // namespace pleat::cli
