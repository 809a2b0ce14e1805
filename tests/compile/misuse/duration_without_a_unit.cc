// The unit is in the type: a bare number is no quiet period.
#include <pleat/folder.h>

using namespace std::chrono_literals;

#ifdef MISUSE
const pleat::FolderOptions kOptions{.quiet_period = 300, .max_wait = 1h};
#else
const pleat::FolderOptions kOptions{.quiet_period = 300s, .max_wait = 1h};
#endif

auto Use() { return kOptions.quiet_period; }
