// PLEAT_EXPORT marks what the library shows to its users; everything else stays hidden.
#pragma once

#if defined(__GNUC__)
#define PLEAT_EXPORT __attribute__((visibility("default")))
#else
#define PLEAT_EXPORT
#endif
