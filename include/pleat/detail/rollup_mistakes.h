// The options of a rollup counter that stand beside their group, see misplaced_options.h. An
// implementation detail of rollup.h.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <initializer_list>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <pleat/detail/export.h>
#include <pleat/detail/misplaced_options.h>
#include <pleat/options.h>
#include <pleat/rollup_options.h>
#include <pleat/time.h>

namespace pleat::inline v0_1 {
namespace detail {

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
  std::function<std::pair<EngineTime, EngineTime>(EngineTime at, Duration window)> calendar = {};
  std::string calendar_name = {};
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
  bool wait_behind_dead = false;
};

}  // namespace detail
}  // namespace pleat::inline v0_1
