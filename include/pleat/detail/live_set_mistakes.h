// The options of a live set that stand beside their group, see misplaced_options.h. An
// implementation detail of live_set.h.
#pragma once

#include <cstddef>

#include <pleat/detail/export.h>
#include <pleat/detail/misplaced_options.h>
#include <pleat/live_set_options.h>
#include <pleat/time.h>

namespace pleat::inline v0_1 {
namespace detail {

template <>
struct Misplaced<LiveSetOptions> {
  Duration ttl{}, retention{};
  Refresh refresh = {};
  size_t max_changes = 0;
  LiveSetLimits limits = {};

  size_t max_series = 0, max_members = 0, max_per_series = 0, max_bytes = 0;
  OnLiveSetLimit on_limit = {};
};

}  // namespace detail
}  // namespace pleat::inline v0_1
