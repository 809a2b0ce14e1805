#include "engine/fold/observer.h"

#include <optional>

namespace pleat::inline v0_1 {

FoldObserver::FoldObserver(Pages& pool, const FolderOptions& options, const HashKey& name_key,
                           const Measure& measure, Memory* memory)
    : pool_(pool),
      name_key_(name_key),
      measure_(measure),
      quiet_period_(std::min(options.quiet_period, GroupClock::kAllOfTime)),
      memory_(memory) {
  SetMeasure(options.measure, EngineTime{});
  if (options.quiet_floor > Duration{0}) {
    PLEAT_DCHECK(memory_ != nullptr);
    learner_ = std::make_unique<QuietLearner>(options.quiet_floor, quiet_period_);
  }
}

void FoldObserver::SetMeasure(const MeasureOptions& options, EngineTime now) {
  if (!options.gap_stats) {
    gaps_.reset();
  } else if (gaps_ == nullptr) {
    gaps_ = std::make_unique<Gaps>(pool_, options.max_ghosts, measure_.exact, *measure_.whole);
  } else {
    gaps_->SetMaxGhosts(options.max_ghosts, now);
  }
}

QuietLearner::Answer FoldObserver::AskToFold(const EventMarks& marks, Duration gap,
                                             QuietLearner::Memo memo) {
  if (learner_ == nullptr) return {.quiet = quiet_period_, .memo = memo};
  return learner_->Ask(marks.key_class, gap, memo);
}

QuietLearner::Answer FoldObserver::AskToOpen(const EventMarks& marks, const PackedKey& key,
                                             EngineTime edge) {
  if (learner_ == nullptr) return {.quiet = quiet_period_, .memo = {}};
  const std::optional<Memory::Pause> pause = memory_->TakePause(key, edge);
  if (!pause) return AskToFold(marks, Duration{0}, {});
  return AskToFold(marks, edge - (pause->expires - quiet_period_), pause->memo);
}

void FoldObserver::NoteLeft(const GroupTable& groups, uint32_t number, EngineTime now,
                            size_t used) {
  const GroupTable::Group& group = groups.at(number);
  if (learner_ != nullptr) {
    // If the key comes back before the ceiling, that is a gap to learn from.
    const EngineTime ceiling = group.last + quiet_period_;
    if (ceiling <= kEndOfTime && ceiling > now) {
      memory_->RememberPause(group.key, groups.extra(number).memo(), ceiling, now, used);
    }
  }
  if (gaps_ != nullptr) gaps_->NoteLeft(group.key.HashWith(name_key_), group.last, now);
}

}  // namespace pleat::inline v0_1
