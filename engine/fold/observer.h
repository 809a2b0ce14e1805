// A FoldObserver watches the events of a book: to measure gaps (FolderOptions::measure), and to
// learn quiet periods (FolderOptions::quiet_floor). A book of a folder that asks for neither has no
// observer.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

#include <pleat/stats.h>
#include <pleat/time.h>
#include <pleat/untyped/any_folder.h>

#include "engine/base/hash.h"
#include "engine/base/page_pool.h"
#include "engine/fold/gaps.h"
#include "engine/fold/group_table.h"
#include "engine/fold/memory.h"
#include "engine/fold/quiet_learner.h"

namespace pleat::inline v0_1 {

class FoldObserver {
 public:
  // How a folder measures: the first `exact` gaps within groups are counted one by one; all books
  // of the folder share `whole`, which outlives them.
  struct Measure {
    uint64_t exact = 0;
    MeasuredWhole* whole = nullptr;
  };

  static bool IsNeeded(const FolderOptions& options) noexcept {
    return options.measure.gap_stats || options.quiet_floor > Duration{0};
  }

  // `memory` may be null in a folder that does not learn. All arguments outlive the observer.
  FoldObserver(Pages& pool, const FolderOptions& options, const HashKey& name_key,
               const Measure& measure, Memory* memory);

  // The learner's answer to an event that folds, `gap` after the event that left `memo`; without
  // a learner the folder's quiet period.
  QuietLearner::Answer AskToFold(const EventMarks& marks, Duration gap, QuietLearner::Memo memo);
  // The same for an event that opens a group of `key`.
  QuietLearner::Answer AskToOpen(const EventMarks& marks, const PackedKey& key, EngineTime edge);

  // An event stamped `at` folds into a group whose latest stamp is `last`.
  void NoteFolded(EngineTime edge, EngineTime last, EngineTime at) {
    if (gaps_ != nullptr) gaps_->NoteFolded(edge, last, at);
  }
  void NoteOpened(const PackedKey& key, EngineTime edge, EngineTime at) {
    if (gaps_ != nullptr) gaps_->NoteOpened(key.HashWith(name_key_), edge, at);
  }
  // The key's next event will not go to this group. `used`: the bytes that count against the
  // limit, beside the memory.
  void NoteLeft(const GroupTable& groups, uint32_t number, EngineTime now, size_t used);
  void NoteClosed(const GroupTable::Group& group) {
    if (gaps_ != nullptr) gaps_->NoteClosed(group.last - group.opened);
  }
  void NoteCancelled() noexcept {
    if (gaps_ != nullptr) gaps_->NoteCancelled();
  }
  void NoteEmission(uint64_t events) {
    if (gaps_ != nullptr) gaps_->NoteEmission(events);
  }

  void Prefetch(const PackedKey& key) const noexcept {
    if (gaps_ != nullptr) gaps_->Prefetch(key.HashWith(name_key_));
  }

  // REQUIRES: it is the same if something is learned.
  void SetQuietPeriod(Duration quiet_period) noexcept {
    PLEAT_DCHECK(learner_ == nullptr || quiet_period == quiet_period_);
    quiet_period_ = quiet_period;
  }

  // From now on as `options` say. What begins to be measured begins empty.
  void SetMeasure(const MeasureOptions& options, EngineTime now);

  // See Book.
  void Save(FieldWriter& out) const;
  void Load(FieldReader& in);
  // Whether the learner knows the class of this memo.
  bool Knows(QuietLearner::Memo memo) const noexcept {
    return learner_ == nullptr || memo.row < learner_->rows();
  }

  // Adds the measurements. REQUIRES: the folder measures.
  void AddTo(GapStats& stats) {
    PLEAT_DCHECK(gaps_ != nullptr);
    gaps_->AddTo(stats);
  }

 private:
  Pages& pool_;
  const HashKey& name_key_;
  const Measure measure_;
  Duration quiet_period_;  // of a folder that learns the ceiling
  Memory* const memory_;
  std::unique_ptr<Gaps> gaps_;             // null: nothing is measured
  std::unique_ptr<QuietLearner> learner_;  // null: nothing is learned
};

}  // namespace pleat::inline v0_1
