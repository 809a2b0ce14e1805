// How an Intake maps its events to those of a collection, and keeps those that wait. An
// implementation detail of intake.h.
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <new>
#include <optional>
#include <span>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include <pleat/batch.h>
#include <pleat/detail/field_types.h>
#include <pleat/detail/stored_ops.h>
#include <pleat/stored.h>
#include <pleat/time.h>
#include <pleat/untyped/any_batch.h>
#include <pleat/untyped/any_intake.h>
#include <pleat/untyped/state_ops.h>

namespace pleat::inline v0_1::detail {

template <class Event, class Collection>
using OnOutcome = std::function<void(const KeyedEvent<Event>&, typename Collection::IntakeOutcome)>;

// The handles without types have Join(), and a counter, which has none.
template <class Collection>
void Join(const Collection& collection, AnyIntake& intake, std::unique_ptr<IntakeTarget> target) {
  if constexpr (requires { collection.Join(intake, std::move(target)); }) {
    collection.Join(intake, std::move(target));
  } else {
    collection.any().Join(intake, std::move(target));
  }
}

template <class Event, class Collection, class Mapping>
class MappedTarget final : public IntakeTarget {
  using Keyed = KeyedEvent<Event>;
  using Taken = KeyedEvent<typename Collection::IntakeEvent>;
  using Outcome = typename Collection::IntakeOutcome;
  using Mapped = std::remove_cvref_t<std::invoke_result_t<Mapping&, const Keyed&>>;
  static constexpr bool kIsSame = std::is_same_v<Mapping, std::identity>;
  static_assert(std::is_same_v<Mapped, Taken> || std::is_same_v<Mapped, std::optional<Taken>>,
                "the map of Feed() gives the collection's KeyedEvent, or an optional one");

 public:
  MappedTarget(Mapping map, OnOutcome<Event, Collection> on_outcome)
      : map_(std::move(map)), on_outcome_(std::move(on_outcome)) {}

  AnyBatch Map(const AnyBatch& piece, std::span<uint16_t> places) override {
    taken_.clear();
    for (size_t i = 0; i < piece.size; ++i) {
      if constexpr (!kIsSame) {
        std::optional<Taken> mapped(map_(KeyedOf(piece, i)));
        if (!mapped) continue;
        mapped->at = piece.AtOf(i);
        places[taken_.size()] = static_cast<uint16_t>(i);
        taken_.push_back(*std::move(mapped));
      } else {
        places[i] = static_cast<uint16_t>(i);
      }
    }
    return kIsSame ? piece : AnyBatch::Of(std::span<const Taken>(taken_));
  }

  void Answer(const AnyBatch& piece, std::span<const uint16_t> places,
              std::span<const uint8_t> outcomes) override {
    if (on_outcome_ == nullptr) return;
    for (size_t i = 0; i < outcomes.size(); ++i)
      on_outcome_(KeyedOf(piece, places[i]), static_cast<Outcome>(outcomes[i]));
  }

 private:
  static const Keyed& KeyedOf(const AnyBatch& piece, size_t i) noexcept {
    return static_cast<const Keyed*>(piece.first)[i];
  }

  [[no_unique_address]] Mapping map_;
  const OnOutcome<Event, Collection> on_outcome_;
  std::vector<Taken> taken_;
};

// How an event is stored while it waits.
template <class Event>
StateOps WaitingOpsFor() noexcept {
  static_assert(
      IsStored<Event>,
      "an event that waits outlives the call that pushed it: give its type Stored(), which "
      "names fields that own their bytes (stored.h)");
  StateOps ops;
  if constexpr (IsStored<Event>) {
    ops.size = sizeof(Event);
    ops.align = alignof(KeyedEvent<Event>);
    ops.destroy = [](void*, void* event) { static_cast<Event*>(event)->~Event(); };
    AddStored<Event>(ops);
  }
  return ops;
}

}  // namespace pleat::inline v0_1::detail
