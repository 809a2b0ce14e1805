// Included by every public header: checks the language, C++20, and defines PLEAT_EXPORT.
#pragma once

#if __cplusplus < 202002L
#error "pleat needs C++20: compile with -std=c++20 or later"
#include <pleat/needs_cxx20>  // is not there, which stops the compiler before errors that follow
#endif

// Marks what a shared library of pleat shows to its users; everything else stays hidden. A static
// library shows nothing, so that a plugin that has it inside exports nothing of pleat. The build of
// a shared one defines PLEAT_SHARED, for itself and for its users.
#if defined(PLEAT_SHARED) && defined(__GNUC__)
#define PLEAT_EXPORT __attribute__((visibility("default")))
#else
#define PLEAT_EXPORT
#endif
