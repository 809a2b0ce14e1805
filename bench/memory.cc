#include "bench/memory.h"

#include <malloc.h>
#include <sys/mman.h>

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

void WarmPages(size_t bytes) {
  void* pages = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (pages == MAP_FAILED) return;  // what cannot be had will not be needed
  madvise(pages, bytes, MADV_HUGEPAGE);
  for (size_t i = 0; i < bytes; i += 4096) static_cast<volatile char*>(pages)[i] = 0;
  munmap(pages, bytes);
}

}  // namespace pleat::bench
