// CalendarWindows are the windows of a counter that follows a calendar (RollupOptions::calendar): days
// of 23 or 25 hours, months. The calendar says which window lies around an instant. A window that an
// event has opened is *known*, and keeps the start and the end that it had then: also in a program
// with other data about time zones, which a restart may bring.
//
// So windows of one resolution never overlap, and each has an end of its own: a window is named by
// its end, and windows of any lengths close in the order of their ends. A window of the first
// resolution lies in one window of each further resolution, whatever the calendar says: it is cut
// where it would reach beyond.
//
// One for each book, under the partition's lock.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <utility>

#include <absl/functional/function_ref.h>
#include <pleat/rollup_options.h>
#include <pleat/stored.h>
#include <pleat/time.h>

namespace pleat::inline v0_1 {

class CalendarWindows {
 public:
  struct Span {
    EngineTime start;
    EngineTime end;  // kNever if the window reaches beyond kEndOfTime

    bool Contains(EngineTime at) const noexcept { return at >= start && at < end; }
  };

  // REQUIRES: the options have a calendar.
  explicit CalendarWindows(const RollupOptions& options);

  Span Around(EngineTime at, uint8_t resolution) {
    const Span& latest = latest_[resolution];
    return latest.Contains(at) ? latest : Find(at, resolution);
  }

  // The window around `at` is known from now on.
  void Know(EngineTime at, uint8_t resolution);
  // One emission more, or less, shows the known window that begins at `start`.
  void NoteShown(EngineTime start, uint8_t resolution, bool more) noexcept;
  bool Knows(EngineTime start, uint8_t resolution) const {
    return known_[resolution].contains(start);
  }

  // Forgets windows that are over, but for those that an emission shows. Rarely looks at them, so
  // that it costs little for each window.
  using IsOver = absl::FunctionRef<bool(EngineTime end)>;
  void Forget(IsOver is_over) {
    if (size_ >= forget_at_) ForgetNow(is_over);
  }

  void Save(FieldWriter& out) const;
  void Load(FieldReader& in);

 private:
  struct Known {
    EngineTime end;
    uint32_t shown = 0;  // emissions that show it; not saved
  };
  using KnownByStart = std::map<EngineTime, Known>;

  Span Find(EngineTime at, uint8_t resolution);
  Span Ask(EngineTime at, uint8_t resolution) const;
  void ForgetNow(IsOver is_over);

  const std::function<std::pair<EngineTime, EngineTime>(EngineTime at, Duration window)> calendar_;
  const std::string name_;
  const size_t resolutions_;
  std::array<Duration, kResolutionsMax> lengths_{};
  std::array<KnownByStart, kResolutionsMax> known_;
  // Up to here windows were forgotten: none that is new reaches back over it.
  std::array<EngineTime, kResolutionsMax> forgotten_;
  std::array<Span, kResolutionsMax> latest_{};  // of Around()
  size_t size_ = 0;                             // of known windows
  size_t forget_at_;
};

}  // namespace pleat::inline v0_1
