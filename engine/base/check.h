// Assertions. A broken one is a bug, ours or the caller's: it says where and stops the program. It
// never becomes a Status, and nothing else in the library prints or exits.
//
// PLEAT_CHECK stays on in release builds: use it where it costs nothing next to the work around it.
// PLEAT_DCHECK vanishes there: use it on hot paths. Fail() is for a mistake of the caller's that a
// sentence explains better than a condition does.
#pragma once

#include <string_view>

#include <pleat/detail/export.h>

namespace pleat::inline v0_1 {

[[noreturn]] PLEAT_EXPORT void CheckFailed(const char* file, int line,
                                           const char* condition) noexcept;

// Prints "pleat: <sentence>" and stops the program.
[[noreturn]] PLEAT_EXPORT void Fail(std::string_view sentence) noexcept;

}  // namespace pleat::inline v0_1

#define PLEAT_CHECK(condition)                       \
  (__builtin_expect(static_cast<bool>(condition), 1) \
       ? (void)0                                     \
       : ::pleat::CheckFailed(__FILE__, __LINE__, #condition))

#ifdef NDEBUG
#define PLEAT_DCHECK(condition) ((void)sizeof(static_cast<bool>(condition)))
#else
#define PLEAT_DCHECK(condition) PLEAT_CHECK(condition)
#endif
