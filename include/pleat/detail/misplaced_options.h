// Names a mistake in options: an option of a group that stands beside its group.
//
//   pleat::Folder<Edit, Edits> edits(*engine, "edits",
//                                    {.quiet_period = 5min, .max_wait = 1h, .max_bytes = 1 << 20});
//
// Such a list is of no options, and a compiler says no more than that no function matches. So
// beside each function that takes options stands one that takes Misplaced of them, with all options
// on one level. It does not compile, and says why. A list without the mistake fits both functions,
// and then the one that is no template is called. An implementation detail.
#pragma once

#include <concepts>
#include <type_traits>

#include <pleat/detail/export.h>

namespace pleat::inline v0_1 {

struct RollupOptions;

namespace detail {

// First the members of the options, then those of their groups. Each kind of collection has its
// own: folder_mistakes.h, live_set_mistakes.h, presence_mistakes.h and rollup_mistakes.h.
template <class Options>
struct Misplaced;

// For the type of such a parameter, with Misplaced<Options> as its default: a list in braces has no
// type by itself.
template <class M, class Options>
concept IsMisplaced = std::same_as<M, Misplaced<Options>>;

// Stands for what the function beside would give.
template <class Result, class Options>
Result SayMisplaced(const Misplaced<Options>&) noexcept {
  constexpr bool rolls_up = std::same_as<Options, RollupOptions>;
  static_assert(std::is_void_v<Result> || rolls_up,
                "an option of a group is written inside the group, as in "
                "`.limits = {.max_bytes = 1'000'000}`");
  static_assert(
      std::is_void_v<Result> || !rolls_up,
      "windows are a list, as in `.windows = {1min}`, and an option of a group is written "
      "inside the group, as in `.limits = {.max_keys = 1'000'000}`");
  __builtin_unreachable();
}

}  // namespace detail
}  // namespace pleat::inline v0_1
