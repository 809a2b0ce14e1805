#include "engine/what_if/open_count.h"

#include <algorithm>

namespace pleat::inline v0_1 {

OpenCount::OpenCount(std::span<const Duration> points)
    : points_(points), cursors_(points.size()), open_(points.size()), peak_(points.size()) {}

void OpenCount::Move(EngineTime from, EngineTime to) {
  if (from == to) return;
  size_t passed = points_.size();
  if (const size_t place = Find(from); place != kNowhere) {
    passed = PointsPast(place);
    if (--stamps_[place].keys == 0) --live_;
  }
  Arrive(Join(to), passed);
}

// The last stamp up to `at`, of those that are left. Most are among the newest.
size_t OpenCount::Find(EngineTime at) const noexcept {
  size_t end = stamps_.size();
  size_t step = 1;
  while (end > begin_ && stamps_[end - 1].at > at) {
    const size_t back = std::min(step, end - begin_);
    if (stamps_[end - back].at <= at) {
      const auto first = stamps_.begin() + static_cast<ptrdiff_t>(end - back);
      const auto last = stamps_.begin() + static_cast<ptrdiff_t>(end);
      const auto later = std::upper_bound(
          first, last, at, [](EngineTime t, const Stamp& stamp) { return t < stamp.at; });
      return static_cast<size_t>(later - stamps_.begin()) - 1;
    }
    end -= back;
    step *= 2;
  }
  return end == begin_ ? kNowhere : end - 1;
}

// Where a key with this stamp is counted.
size_t OpenCount::Join(EngineTime at) {
  constexpr size_t kMovedMost = 256;
  if (stamps_.size() == stamps_.capacity()) Shorten();
  if (begin_ == stamps_.size() || stamps_.back().at < at) {
    stamps_.push_back({at, 0});
    earliest_due_ = std::min(earliest_due_, DueAt(at, 0));
  }
  size_t place = stamps_.back().at == at ? stamps_.size() - 1 : Find(at);
  if (place == kNowhere || stamps_[place].at != at) {
    const size_t behind = place == kNowhere ? begin_ : place + 1;
    if (stamps_.size() - behind <= kMovedMost) place = InsertAt(behind, at);
  }
  if (place != kNowhere && stamps_[place].keys++ == 0) ++live_;
  return place;
}

// A stamp that came late. A point that would have passed it by now has.
size_t OpenCount::InsertAt(size_t place, EngineTime at) {
  stamps_.insert(stamps_.begin() + static_cast<ptrdiff_t>(place), {at, 0});
  for (size_t point = 0; point < points_.size() && cursors_[point] >= place; ++point) {
    const EngineTime due = DueAt(at, point);
    if (cursors_[point] > place || due <= now_) {
      ++cursors_[point];
    } else {
      earliest_due_ = std::min(earliest_due_, due);
    }
  }
  return place;
}

// A key opens a group at the points that had `passed` it, unless they have passed its new place as
// well.
void OpenCount::Arrive(size_t place, size_t passed) {
  if (now_ == kEndOfTime) return;  // at which all is due
  const size_t overdue = place == kNowhere ? passed : PointsPast(place);
  for (size_t point = overdue; point < passed; ++point) {
    peak_[point] = std::max(peak_[point], ++open_[point]);
  }
}

size_t OpenCount::PointsPast(size_t place) const noexcept {
  size_t point = 0;
  while (point < cursors_.size() && cursors_[point] > place) ++point;
  return point;
}

void OpenCount::Close(EngineTime now) {
  earliest_due_ = kNever;
  for (size_t point = 0; point < points_.size(); ++point) {
    size_t& cursor = cursors_[point];
    for (; cursor < stamps_.size(); ++cursor) {
      const EngineTime due = DueAt(stamps_[cursor].at, point);
      if (due > now) {
        earliest_due_ = std::min(earliest_due_, due);
        break;
      }
      open_[point] -= stamps_[cursor].keys;
    }
  }
  while (begin_ < cursors_.back()) live_ -= static_cast<size_t>(stamps_[begin_++].keys != 0);
}

// Drops stamps that all cursors have passed and that no key is at, if those are half of the queue.
void OpenCount::Shorten() {
  if (2 * live_ > stamps_.size()) return;
  size_t kept = 0;
  std::vector<size_t> places(stamps_.size() + 1);
  for (size_t i = 0; i < stamps_.size(); ++i) {
    places[i] = kept;
    if (i >= begin_ && stamps_[i].keys != 0) stamps_[kept++] = stamps_[i];
  }
  places.back() = kept;
  for (size_t& cursor : cursors_) cursor = places[cursor];
  begin_ = 0;
  stamps_.resize(kept);
}

}  // namespace pleat::inline v0_1
