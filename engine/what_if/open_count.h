// OpenCount knows for every point, which is a quiet period of a grid, how many groups are open, and
// how many were at most: those of the keys whose latest stamp is less than a quiet period old.
//
// Keys are counted by their latest stamp, in a queue of stamps. As time goes on a cursor per point
// moves along the queue and takes off the keys there; a key that a cursor has passed opens a group
// again when the key moves to a newer stamp. So each point costs a step per stamp, whatever the
// number of keys. Stamps at which no key is any more go when they are half of the queue, so that
// the queue is never longer than twice the number of keys.
//
// A stamp that is not the newest when it comes takes its place if that is not far back; else the
// key joins the stamp before, and its groups close that much too early.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include <pleat/time.h>

namespace pleat::inline v0_1 {

class OpenCount {
 public:
  // `points` ascending; they stay.
  explicit OpenCount(std::span<const Duration> points);

  // Closes groups that are due by `now`, which never goes back.
  void MoveTo(EngineTime now) {
    now_ = now;
    if (now >= earliest_due_) Close(now);
  }

  // A key with its first event, stamped `to`.
  void Add(EngineTime to) { Arrive(Join(to), points_.size()); }

  // A key whose latest stamp was `from` has a later one.
  void Move(EngineTime from, EngineTime to);

  uint64_t peak(size_t point) const noexcept { return peak_[point]; }

  // How many stamps are in the queue, those without keys included.
  size_t stamps() const noexcept { return stamps_.size(); }

 private:
  struct Stamp {
    EngineTime at;
    uint64_t keys;
  };
  static constexpr size_t kNowhere = SIZE_MAX;

  size_t Find(EngineTime at) const noexcept;
  size_t Join(EngineTime at);
  size_t InsertAt(size_t place, EngineTime at);
  EngineTime DueAt(EngineTime stamp, size_t point) const noexcept {
    return std::min(stamp + points_[point], kEndOfTime);
  }
  void Arrive(size_t place, size_t passed);
  size_t PointsPast(size_t place) const noexcept;
  void Close(EngineTime now);
  void Shorten();

  const std::span<const Duration> points_;
  std::vector<Stamp> stamps_;  // ascending; all cursors have passed those before `begin_`
  size_t begin_ = 0;
  size_t live_ = 0;              // stamps with keys
  std::vector<size_t> cursors_;  // of each point the first stamp that is not passed; descending
  std::vector<uint64_t> open_;
  std::vector<uint64_t> peak_;
  EngineTime now_ = kBeginningOfTime;
  EngineTime earliest_due_ = kNever;
};

}  // namespace pleat::inline v0_1
