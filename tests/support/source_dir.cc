#include "tests/support/source_dir.h"

namespace pleat::inline v0_1 {

std::string SourceDir() { return PLEAT_SOURCE_DIR; }

std::string SharedData() { return PLEAT_SHARED_DATA; }

}  // namespace pleat::inline v0_1
