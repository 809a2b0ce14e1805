#include "bench/memory.h"

#include <malloc.h>

#include <fstream>
#include <limits>
#include <string>

namespace pleat::bench {

ResidentMemory MeasureMemory() {
  malloc_trim(0);
  ResidentMemory memory;
  std::ifstream file("/proc/self/smaps_rollup");
  file.ignore(std::numeric_limits<std::streamsize>::max(), '\n');  // the range of addresses
  std::string name;
  for (size_t kib = 0; file >> name >> kib;) {
    if (name == "Rss:") memory.bytes = kib * 1024;
    if (name == "AnonHugePages:") memory.huge_bytes = kib * 1024;
    file.ignore(std::numeric_limits<std::streamsize>::max(), '\n');
  }
  return memory;
}

}  // namespace pleat::bench
