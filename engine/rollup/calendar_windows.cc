#include "engine/rollup/calendar_windows.h"

#include <algorithm>
#include <iterator>

#include "engine/base/check.h"
#include "engine/base/concat.h"
#include "engine/base/read_fields.h"

namespace pleat::inline v0_1 {
namespace {

// How many known windows there are at least before a look at those that are over.
constexpr size_t kForgetAtLeast = 16;

}  // namespace

CalendarWindows::CalendarWindows(const RollupOptions& options)
    : calendar_(options.calendar),
      name_(options.calendar_name),
      resolutions_(options.windows.size()),
      forget_at_(kForgetAtLeast) {
  std::ranges::copy(options.windows, lengths_.begin());
  forgotten_.fill(kBeginningOfTime);
}

CalendarWindows::Span CalendarWindows::Ask(EngineTime at, uint8_t resolution) const {
  const EngineTime asked = Clamp(at);
  const auto [start, end] = calendar_(asked, lengths_[resolution]);
  const Span span{start, end > kEndOfTime ? kNever : end};
  if (!span.Contains(asked) || start == EngineTime::min()) {
    Fail(Concat("the calendar \"", name_,
                "\" gave a window that does not contain the instant that was asked about"));
  }
  return span;
}

CalendarWindows::Span CalendarWindows::Find(EngineTime at, uint8_t resolution) {
  const KnownByStart& known = known_[resolution];
  const auto next = known.upper_bound(at);
  const auto before = next == known.begin() ? known.end() : std::prev(next);
  Span span;
  if (before != known.end() && at < before->second.end) {
    span = {before->first, before->second.end};
  } else {
    span = Ask(at, resolution);
    if (next != known.end()) span.end = std::min(span.end, next->first);
    if (before != known.end()) span.start = std::max(span.start, before->second.end);
    if (at >= forgotten_[resolution]) {
      span.start = std::max(span.start, forgotten_[resolution]);
    }
    for (uint8_t i = 1; resolution == 0 && i < resolutions_; ++i) {
      const Span around = Around(at, i);
      span = {std::max(span.start, around.start), std::min(span.end, around.end)};
    }
  }
  return latest_[resolution] = span;
}

void CalendarWindows::Know(EngineTime at, uint8_t resolution) {
  const Span span = Around(at, resolution);
  if (!known_[resolution].try_emplace(span.start, Known{span.end}).second) return;
  ++size_;
  // Others that were found before may reach into it, if the calendar says what is not so.
  latest_ = {};
}

void CalendarWindows::NoteShown(EngineTime start, uint8_t resolution, bool more) noexcept {
  const auto known = known_[resolution].find(start);
  PLEAT_CHECK(known != known_[resolution].end() && (more || known->second.shown > 0));
  known->second.shown += more ? 1 : -1;
}

void CalendarWindows::ForgetNow(IsOver is_over) {
  for (size_t i = 0; i < resolutions_; ++i) {
    KnownByStart& known = known_[i];
    for (auto at = known.begin(); at != known.end() && is_over(at->second.end);) {
      if (at->second.shown > 0) {
        ++at;
        continue;
      }
      forgotten_[i] = std::max(forgotten_[i], at->second.end);
      at = known.erase(at);
      --size_;
    }
  }
  forget_at_ = std::max(2 * size_, kForgetAtLeast);
  latest_ = {};
}

void CalendarWindows::Save(FieldWriter& out) const {
  out(forget_at_);
  for (size_t i = 0; i < resolutions_; ++i) {
    out(forgotten_[i], known_[i].size());
    for (const auto& [start, known] : known_[i]) out(start, known.end);
  }
}

void CalendarWindows::Load(FieldReader& in) {
  in(forget_at_);
  if (!in.Expect(forget_at_ >= kForgetAtLeast)) return;
  for (size_t i = 0; i < resolutions_; ++i) {
    forgotten_[i] = ReadTime(in);
    EngineTime before = EngineTime::min();
    for (size_t left = in.Count(); left > 0 && in.ok(); --left) {
      EngineTime start{};
      in(start);
      const EngineTime end = ReadTime(in);
      if (!in.Expect(start > EngineTime::min() && start >= before && end > start)) return;
      known_[i].emplace_hint(known_[i].end(), start, Known{end});
      ++size_;
      before = end;
    }
  }
}

}  // namespace pleat::inline v0_1
