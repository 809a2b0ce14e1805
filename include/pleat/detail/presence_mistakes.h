// The options of a Presence that stand beside their group, see misplaced_options.h. An
// implementation detail of presence.h.
#pragma once

#include <cstddef>

#include <pleat/detail/export.h>
#include <pleat/detail/misplaced_options.h>
#include <pleat/presence_options.h>
#include <pleat/time.h>

namespace pleat::inline v0_1 {
namespace detail {

template <>
struct Misplaced<PresenceOptions> {
  Duration ttl{}, grace{};
  size_t max_changes = 0;
  PresenceLimits limits = {};

  size_t max_per_user = 0, max_per_series = 0, max_series = 0, max_users = 0, max_connections = 0,
         max_bytes = 0;
};

}  // namespace detail
}  // namespace pleat::inline v0_1
