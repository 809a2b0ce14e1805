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

#include <chrono>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <memory>
#include <type_traits>
#include <vector>

#include <pleat/detail/export.h>
#include <pleat/live_set_options.h>
#include <pleat/options.h>
#include <pleat/presence_options.h>
#include <pleat/rollup_options.h>
#include <pleat/time.h>

namespace pleat::inline v0_1 {
namespace detail {

// First the members of the options, then those of their groups.
template <class Options>
struct Misplaced;

template <>
struct Misplaced<FolderOptions> {
  Duration quiet_period{}, quiet_floor{}, max_wait{};
  uint64_t max_events = 0;
  size_t max_group_bytes = 0;
  Edge edge = {};
  Duration partial_every{};
  ClosingOptions closing = {};
  LateOptions late = {};
  LimitOptions limits = {};
  LeaseOptions leases = {};
  MeasureOptions measure = {};

  Duration every{}, phase{};
  bool settable = false;

  Duration allowed_lateness{};
  OnLate on_late = {};

  size_t max_groups = 0, max_bytes = 0;
  OnLimit on_limit = {};
  bool count_ready = false;
  size_t max_backlog = 0;
  OnBacklog on_backlog = {};

  uint32_t max_deliveries = 0;
  size_t max_leased = 0;
  Duration max_age{}, max_nack_delay{};
  size_t max_dead_letters = 0;
  OnDeadLimit on_dead_limit = {};

  bool gap_stats = false;
  size_t max_ghosts = 0, max_trace = 0;
};

// Takes one window in place of a list, too.
template <>
struct Misplaced<RollupOptions> {
  struct Windows {
    Windows() = default;
    // NOLINTBEGIN(*-explicit-constructor)
    template <class Rep, class Period>
    Windows(std::chrono::duration<Rep, Period>) {}
    Windows(const std::vector<Duration>&) {}
    Windows(std::initializer_list<Duration>) {}
    // NOLINTEND(*-explicit-constructor)
  };

  Windows windows;
  Duration allowed_lateness{}, margin{};
  OnLateAdd on_late = {};
  Duration deduplication_window{}, retention{}, forget_after{};
  bool clears = false;
  std::shared_ptr<CheckpointStore> store = {};
  RollupLimits limits = {};
  LeaseOptions leases = {};

  size_t max_keys = 0, max_bytes = 0, max_backlog = 0;

  uint32_t max_deliveries = 0;
  size_t max_leased = 0;
  Duration max_age{}, max_nack_delay{};
  size_t max_dead_letters = 0;
  OnDeadLimit on_dead_limit = {};
};

template <>
struct Misplaced<LiveSetOptions> {
  Duration ttl{}, retention{};
  Refresh refresh = {};
  size_t max_changes = 0;
  LiveSetLimits limits = {};

  size_t max_series = 0, max_members = 0, max_per_series = 0, max_bytes = 0;
  OnLiveSetLimit on_limit = {};
};

template <>
struct Misplaced<PresenceOptions> {
  Duration ttl{}, grace{};
  size_t max_changes = 0;
  PresenceLimits limits = {};

  size_t max_per_user = 0, max_per_series = 0, max_series = 0, max_users = 0, max_connections = 0,
         max_bytes = 0;
};

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
