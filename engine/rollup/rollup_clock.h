// A RollupClock keeps the time of a rollup book, and says what it means: what is late, which windows
// are final or have ended before that, and for how long final windows, counters and ids are kept.
#pragma once

#include <algorithm>

#include <pleat/rollup_options.h>
#include <pleat/stored.h>
#include <pleat/time.h>

#include "engine/base/latest.h"
#include "engine/base/read_fields.h"
#include "engine/rollup/window_lists.h"
#include "engine/rollup/windowing.h"

namespace pleat::inline v0_1 {

class RollupClock : public Latest {
 public:
  explicit RollupClock(const RollupOptions& options)
      : windowing_(options),
        horizon_(HorizonOf(options)),
        retention_(RetentionOf(options)),
        forget_after_(std::max(options.forget_after, retention_)) {}

  const Windowing& windowing() const noexcept { return windowing_; }

  // Whether these keep windows for another time; and whether they forget counters at another time.
  bool KeepsOtherwise(const RollupOptions& options) const noexcept {
    return RetentionOf(options) != retention_ || ForgetsOtherwise(options);
  }
  bool ForgetsOtherwise(const RollupOptions& options) const noexcept {
    return std::max(options.forget_after, RetentionOf(options)) != forget_after_;
  }
  // From now on windows and counters are kept by these. Windows that are not kept any more do not
  // come back.
  void SetOptions(const RollupOptions& options) noexcept {
    gone_up_to_ = std::max(gone_up_to_, OverUpTo());
    retention_ = RetentionOf(options);
    forget_after_ = std::max(options.forget_after, retention_);
  }

  // An event that is stamped before is late.
  EngineTime EarliestAt(EngineTime now) const noexcept {
    return std::max(windowing_.EarliestAt(now), floor_);
  }

  // --- Windows

  // The last end of a window that may be final, and the one up to which all have been.
  // A calendar may have changed over a restart: what was final stays so.
  EngineTime AsOf() const noexcept {
    return std::max(windowing_.AsOf(windowing_.FrontierAt(now())), final_up_to_);
  }
  EngineTime final_up_to() const noexcept { return final_up_to_; }
  void NoteFinal() noexcept { final_up_to_ = AsOf(); }

  // What is stamped before `floor` has ended.
  void EndBefore(EngineTime floor) noexcept { floor_ = std::max(floor_, floor); }
  EngineTime floor() const noexcept { return floor_; }
  // Whether a window that ends then has been handed out though it is not final.
  bool IsEnded(EngineTime end) const noexcept { return end <= floor_; }

  // --- The stages of windows

  // The stage after this one, without the stages in which nothing would happen.
  WindowLists::Stage StageAfter(WindowLists::Stage stage) const noexcept {
    if (stage == WindowLists::kOpen && retention_ > Duration{0}) return WindowLists::kKept;
    // Nothing is kept without a retention, but behind a change of options.
    const bool last = forgets() && (forget_after_ > Duration{0} || stage == WindowLists::kKept);
    return stage != WindowLists::kLast && last ? WindowLists::kLast : WindowLists::kStages;
  }
  // When a stage is over for windows that end at `end`; whether it is.
  EngineTime OverAt(WindowLists::Stage stage, EngineTime end) const noexcept {
    const Duration behind = stage == WindowLists::kOpen   ? Duration{0}
                            : stage == WindowLists::kKept ? retention_
                                                          : forget_after_;
    return windowing_.ReachedAt(end, behind);
  }
  bool IsOver(WindowLists::Stage stage, EngineTime end) const noexcept {
    if (stage == WindowLists::kKept && end <= gone_up_to_) return true;
    return now() >= OverAt(stage, end);
  }

  // Nothing asks about windows any more after their last stage, but for the emissions that show them.
  void ForgetWindows() const {
    if (!windowing_.follows_calendar()) return;
    const WindowLists::Stage last = forgets() ? WindowLists::kLast : WindowLists::kKept;
    windowing_.ForgetKnown([&](EngineTime end) { return IsOver(last, end); });
  }

  bool retains() const noexcept { return retention_ > Duration{0}; }
  // Whether counters are forgotten; and whether as soon as their last window is final.
  bool forgets() const noexcept { return forget_after_ != kForever; }
  bool forgets_at_once() const noexcept { return forget_after_ == Duration{0}; }
  // How long an id is remembered.
  Duration horizon() const noexcept { return horizon_; }

  void Save(FieldWriter& out) const {
    Latest::Save(out);
    if (gone_up_to_ > OverUpTo()) out(kGoneFollows, gone_up_to_);
    out(floor_, final_up_to_);
    if (windowing_.follows_calendar()) windowing_.SaveKnown(out);
  }
  void Load(FieldReader& in) {
    Latest::Load(in);
    in(floor_);
    if (floor_ == kGoneFollows) {
      gone_up_to_ = ReadTime(in);
      in.Expect(gone_up_to_ > OverUpTo());
      in(floor_);
    }
    in.Expect(floor_ >= kBeginningOfTime && floor_ <= kNever);
    final_up_to_ = ReadTime(in);
    const EngineTime frontier = windowing_.FrontierAt(now());
    const bool follows = windowing_.follows_calendar();
    in.Expect(now() <= kEndOfTime && gone_up_to_ <= frontier &&
              final_up_to_ <=
                  (follows ? std::max(frontier, kBeginningOfTime) : windowing_.AsOf(frontier)));
    if (follows) windowing_.LoadKnown(in);
  }

 private:
  // Stands before gone_up_to_, which snapshots have only while it says more than the retention does.
  static constexpr EngineTime kGoneFollows = EngineTime::min();

  // The last end of windows whose retention is over.
  EngineTime OverUpTo() const noexcept {
    return SaturatingSub(windowing_.FrontierAt(now()), retention_);
  }
  static Duration HorizonOf(const RollupOptions& options) noexcept {
    if (options.deduplication_window > Duration{0}) return options.deduplication_window;
    return options.allowed_lateness > kForever / 10 ? kForever : 10 * options.allowed_lateness;
  }
  // Corrections name the emission of a window that is kept.
  static Duration RetentionOf(const RollupOptions& options) noexcept {
    return options.on_late == OnLateAdd::kCorrect ? std::max(options.retention, HorizonOf(options))
                                                  : options.retention;
  }

  EngineTime floor_ = kBeginningOfTime;
  const Windowing windowing_;
  EngineTime final_up_to_ = kBeginningOfTime;
  EngineTime gone_up_to_ = kBeginningOfTime;  // windows that end by it are not kept any more
  const Duration horizon_;
  Duration retention_;     // how long final windows are kept
  Duration forget_after_;  // at least as long
};

}  // namespace pleat::inline v0_1
