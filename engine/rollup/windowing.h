// Windowing is the arithmetic of windows: the window of a stamp, the earliest stamp that is not
// late, and the instant at which a window is final. All of this follows from the book's time and
// the options; with a calendar, from CalendarWindows instead of the lengths of windows.
//
//   frontier = time - allowed_lateness - margin       a window that ends by then is final
//   earliest = time - allowed_lateness                an event stamped before is late
//
// An event that is not late lies in no final window: the frontier is never after the earliest
// stamp, and the window of a stamp ends after the stamp.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>

#include <pleat/rollup_options.h>
#include <pleat/stored.h>
#include <pleat/time.h>

#include "engine/rollup/calendar_windows.h"

namespace pleat::inline v0_1 {

class Windowing {
 public:
  explicit Windowing(const RollupOptions& options)
      : resolutions_(options.windows.size()),
        allowed_lateness_(std::min(options.allowed_lateness, kAllOfTime)),
        behind_(allowed_lateness_ + std::min(options.margin, kAllOfTime)) {
    if (options.calendar) {
      calendar_ = std::make_unique<CalendarWindows>(options);
    } else {
      std::ranges::copy(options.windows, lengths_.begin());
    }
  }

  size_t resolutions() const noexcept { return resolutions_; }
  // Zero with a calendar, whose windows have no length in common.
  Duration first_length() const noexcept { return lengths_[0]; }
  bool follows_calendar() const noexcept { return calendar_ != nullptr; }

  // The start of the window around `at`, which may lie before kBeginningOfTime.
  EngineTime StartOf(EngineTime at, uint8_t resolution = 0) const noexcept {
    if (calendar_ != nullptr) [[unlikely]]
      return calendar_->Around(at, resolution).start;
    return FloorTo(at, lengths_[resolution]);
  }
  // Its end; kNever if that is after kEndOfTime.
  EngineTime EndOf(EngineTime start, uint8_t resolution = 0) const noexcept {
    if (calendar_ != nullptr) [[unlikely]]
      return calendar_->Around(start, resolution).end;
    const Duration length = lengths_[resolution];
    if (start < EngineTime{}) return std::min(start + length, kNever);
    return length > kNever - start ? kNever : start + length;
  }

  // Whether a window of the first resolution ends there, or none has yet: what a checkpoint may say.
  // Any instant may be asked about.
  bool IsEnd(EngineTime at) const noexcept {
    if (at <= kBeginningOfTime || at > kNever) return at == kBeginningOfTime;
    return EndOf(StartOf(at - Duration{1})) == at;
  }

  EngineTime EarliestAt(EngineTime now) const noexcept {
    return SaturatingSub(now, allowed_lateness_);
  }
  EngineTime FrontierAt(EngineTime now) const noexcept { return SaturatingSub(now, behind_); }
  // The last end of a window at or before the frontier.
  EngineTime AsOf(EngineTime frontier) const noexcept {
    return std::max(StartOf(frontier), kBeginningOfTime);
  }
  // The engine's time at which the frontier is `end` + `more`; kNever if that is after kEndOfTime.
  EngineTime ReachedAt(EngineTime end, Duration more = Duration{0}) const noexcept {
    const Duration wait = behind_ + std::min(more, kAllOfTime);
    return wait > kEndOfTime - end ? kNever : end + wait;
  }

  // An event opens the window around `at`, or a correction names it, or a checkpoint ends with it.
  void NoteOpened(EngineTime at, uint8_t resolution = 0) const {
    if (calendar_ != nullptr) [[unlikely]]
      calendar_->Know(at, resolution);
  }
  // One emission more, or less, waits that shows this window.
  void NoteShown(EngineTime start, uint8_t resolution, bool more) const noexcept {
    if (calendar_ != nullptr) [[unlikely]]
      calendar_->NoteShown(start, resolution, more);
  }

  // Of the windows of a calendar; see CalendarWindows. REQUIRES: follows_calendar().
  void ForgetKnown(CalendarWindows::IsOver is_over) const { calendar_->Forget(is_over); }
  void SaveKnown(FieldWriter& out) const { calendar_->Save(out); }
  void LoadKnown(FieldReader& in) const { calendar_->Load(in); }

  // The start of a window, as the number of the window since 1970; with a calendar, the start.
  void SaveStart(FieldWriter& out, EngineTime start, uint8_t resolution) const {
    if (calendar_ != nullptr) return out(start);
    out(start.time_since_epoch() / lengths_[resolution]);
  }
  // REQUIRES: `resolution` is one.
  EngineTime LoadStart(FieldReader& in, uint8_t resolution) const {
    if (calendar_ != nullptr) {
      const EngineTime start = LoadNewest(in);
      return in.Expect(calendar_->Knows(start, resolution)) ? start : EngineTime{};
    }
    const Duration length = lengths_[resolution];
    Duration::rep number = 0;
    in(number);
    const auto number_at = [&](EngineTime at) {
      return StartOf(at, resolution).time_since_epoch() / length;
    };
    const bool known = number >= number_at(kBeginningOfTime) && number <= number_at(kEndOfTime);
    return in.Expect(known) ? EngineTime{number * length} : EngineTime{};
  }

  // The same for a counter's newest window, which may be over.
  EngineTime LoadNewest(FieldReader& in) const {
    if (calendar_ == nullptr) return LoadStart(in, 0);
    EngineTime start{};
    in(start);
    return in.Expect(start > EngineTime::min() && start <= kEndOfTime) ? start : EngineTime{};
  }

 private:
  static constexpr Duration kAllOfTime = kNever - kBeginningOfTime;

  static EngineTime FloorTo(EngineTime at, Duration length) noexcept {
    const Duration into = at.time_since_epoch() % length;
    return at - into - (into < Duration{0} ? length : Duration{0});
  }

  const size_t resolutions_;
  std::array<Duration, kResolutionsMax> lengths_{};
  const Duration allowed_lateness_;
  const Duration behind_;  // allowed_lateness and margin
  std::unique_ptr<CalendarWindows> calendar_;
};

}  // namespace pleat::inline v0_1
