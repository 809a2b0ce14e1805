// What a Folder answers to calls that would otherwise be "no matching function". An implementation
// detail of folder.h.
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <type_traits>

#include <absl/status/statusor.h>
#include <pleat/batch.h>
#include <pleat/detail/export.h>
#include <pleat/detail/misplaced_options.h>
#include <pleat/engine.h>
#include <pleat/options.h>
#include <pleat/outcome.h>
#include <pleat/time.h>

namespace pleat::inline v0_1 {
namespace detail {

template <>
struct Misplaced<FolderOptions> {
  Duration quiet_period{}, quiet_floor{}, max_wait{};
  uint64_t max_events = 0;
  size_t max_group_bytes = 0;
  Edge edge = {};
  uint64_t leading_events = 0;
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
  Duration deduplication_window{};

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
  bool wait_behind_dead = false;

  bool gap_stats = false;
  size_t max_ghosts = 0, max_trace = 0;
};

// `Derived` is a Folder of this Event.
template <class Derived, class Event>
class FolderMistakes {
 public:
  template <IsMisplaced<FolderOptions> M = Misplaced<FolderOptions>, class... Rules>
  static absl::StatusOr<Derived> Open(Engine&, std::string_view, const M& options, Rules&&...) {
    return SayMisplaced<absl::StatusOr<Derived>>(options);
  }

  // No mistake: a position that leaves out its type, {.source = 7, .offset = 1'000}.
  template <std::same_as<SourcePosition> Position = SourcePosition>
  FoldCounts FoldBatch(std::span<const KeyedEvent<Event>> events, std::span<FoldOutcome> outcomes,
                       PartitionRange only, const Position& position) noexcept {
    return static_cast<Derived*>(this)->FoldBatch(events, outcomes, only, std::optional(position));
  }

  template <class Events>
    requires(!std::is_convertible_v<Events, std::span<const KeyedEvent<Event>>>)
  FoldCounts FoldBatch(Events&&, std::span<FoldOutcome> = {}, PartitionRange = {},
                       std::optional<SourcePosition> = {}) noexcept {
    static_assert(std::is_void_v<Events>, "FoldBatch() takes an array of KeyedEvent<Event>");
    return {};
  }
};

}  // namespace detail
}  // namespace pleat::inline v0_1
