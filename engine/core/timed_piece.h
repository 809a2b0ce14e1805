// A TimedPiece is a piece of an intake on its way into one collection: events with the time that the
// intake has given to each.
#pragma once

#include <cstddef>
#include <cstdint>

#include <pleat/time.h>
#include <pleat/untyped/any_batch.h>

#include "engine/core/batch_piece.h"

namespace pleat::inline v0_1 {

struct TimedPiece {
  AnyBatch events;  // 1 to BatchPlan::kEventsMax
  const EngineTime*
      times;            // the engine's, with each event and all before it, of whatever collection
  const bool* futures;  // whether each is beyond the future limit
};

// The times of a piece, one event after the other.
class GivenTimes {
 public:
  using Source = TimedPiece;
  static constexpr bool kMovesEngine = false;

  explicit GivenTimes(const TimedPiece& piece) noexcept
      : next_(piece.times), next_future_(piece.futures) {}

  EngineTime now() const noexcept { return next_[-1]; }
  bool Observe(EngineTime& at) noexcept {
    PassOver(at);
    return !next_future_[-1];
  }
  void PassOver(EngineTime& at) noexcept {
    at = Clamp(at);
    ++next_;
    ++next_future_;
  }

 private:
  const EngineTime* next_;
  const bool* next_future_;
};

// The IntakeCore::TakePiece of collections that derive from `Keyed`.
template <class Keyed>
void TakePiece(Collection& collection, const TimedPiece& piece, uint8_t* outcomes) {
  using Outcome = typename Keyed::Outcome;
  static_assert(sizeof(Outcome) == sizeof(uint8_t));
  auto& keyed = static_cast<Keyed&>(collection);
  const PartitionRange all{0, keyed.engine().partition_count()};
  typename Keyed::Counts counts;
  BatchPiece<Keyed, GivenTimes>(keyed, piece.events, reinterpret_cast<Outcome*>(outcomes), all,
                                piece)
      .Fold(counts);
}

}  // namespace pleat::inline v0_1
