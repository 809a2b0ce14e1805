#include "tests/support/resident.h"

#include <malloc.h>
#include <unistd.h>

#include <fstream>

namespace pleat::inline v0_1 {

size_t ResidentBytes() {
  malloc_trim(0);
  std::ifstream statm("/proc/self/statm");
  size_t all = 0;
  size_t resident = 0;
  statm >> all >> resident;
  return resident * static_cast<size_t>(sysconf(_SC_PAGESIZE));
}

}  // namespace pleat::inline v0_1
