// How much memory there is for this process: the machine's, or less where a control group says so,
// as in a container.
#pragma once

#include <cstddef>
#include <string>

namespace pleat::cli {

// Half of it, in bytes: the default for --max-memory.
size_t HalfOfMemory();

// The smallest limit on memory among the control groups that the process is in and those around
// them, of version 1 or 2; SIZE_MAX if there is none. `root` stands for "/" and ends without a
// slash.
size_t CgroupMemoryLimit(const std::string& root);

}  // namespace pleat::cli
