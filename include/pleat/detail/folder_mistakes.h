// What a Folder answers to calls that would otherwise be "no matching function". An implementation
// detail of folder.h.
#pragma once

#include <concepts>
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

namespace pleat::inline v0_1 {
namespace detail {

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
