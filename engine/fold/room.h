// Room says whether more bytes fit a book's limit. Three things count: the groups, the memory,
// and, unless the folder says otherwise, the emissions that wait.
//
// With OnLimit::kEmitOldest the last eighth of the limit is kept for emissions that wait: open
// groups are emitted early from 7/8 on.
#pragma once

#include <cstddef>

#include <pleat/untyped/any_folder.h>

#include "engine/fold/group_table.h"
#include "engine/fold/memory.h"

namespace pleat::inline v0_1 {

class Room {
 public:
  // `groups` and `memory`, which may be null, outlive the room.
  Room(const LimitOptions& limits, const GroupTable& groups, const Memory* memory)
      : groups_(groups), memory_(memory) {
    SetLimits(limits, 0);
  }

  // `ready_bytes`: those of all emissions that wait, if such limits track them; see TracksReady().
  void SetLimits(const LimitOptions& limits, size_t ready_bytes) noexcept {
    limit_ = limits.max_bytes;
    full_ = FullFrom(limits);
    count_ready_ = limits.count_ready;
    tracks_ready_ = TracksReady(limits);
    ready_bytes_ = tracks_ready_ ? ready_bytes : 0;
  }
  static bool TracksReady(const LimitOptions& limits) noexcept {
    return !limits.count_ready || limits.on_limit == OnLimit::kEmitOldest;
  }

  // From this many bytes on the folder's OnLimit has something to say.
  static size_t FullFrom(const LimitOptions& limits) noexcept {
    const bool emits = limits.on_limit == OnLimit::kEmitOldest;
    return emits ? limits.max_bytes - limits.max_bytes / 8 : limits.max_bytes;
  }

  // Everything that is held.
  size_t bytes() const noexcept { return groups_.bytes() + memory_bytes(); }

  // Whether `need` more bytes fit without making room.
  bool Fits(size_t need) const noexcept { return Fits(need, used(), full_); }
  // The same after room was made: up to the limit itself.
  bool FitsAtAll(size_t need) const noexcept { return Fits(need, used(), limit_); }
  // The same if every emission that waits were gone.
  bool FitsWithoutReady(size_t need) const noexcept {
    return Fits(need, bytes() - ready_bytes_, full_);
  }
  // The same if all groups were gone, too.
  bool FitsBesideMemory(size_t need) const noexcept { return Fits(need, memory_bytes(), limit_); }
  // Whether a cut of `need` bytes fits, which soon counts as waiting.
  bool FitsCut(size_t need) const noexcept { return !count_ready_ || Fits(need, bytes(), limit_); }

  // Whether emissions that wait matter, so that they have to be noted.
  bool tracks_ready() const noexcept { return tracks_ready_; }
  size_t ready_bytes() const noexcept { return ready_bytes_; }
  void NoteReady(size_t bytes) noexcept { ready_bytes_ += bytes; }
  void NoteGone(size_t bytes) noexcept {
    if (bytes > ready_bytes_) [[unlikely]]
      GroupTable::FailHeapBytes();
    ready_bytes_ -= bytes;
  }
  // Whether emissions wait that count against the limit.
  bool has_counted_ready() const noexcept { return count_ready_ && ready_bytes_ > 0; }

 private:
  static bool Fits(size_t need, size_t used, size_t limit) noexcept {
    return need == 0 || used + need <= limit;
  }
  size_t memory_bytes() const noexcept { return memory_ == nullptr ? 0 : memory_->bytes(); }
  size_t used() const noexcept { return count_ready_ ? bytes() : bytes() - ready_bytes_; }

  size_t limit_;
  size_t full_;
  bool count_ready_;
  bool tracks_ready_;
  const GroupTable& groups_;
  const Memory* const memory_;
  size_t ready_bytes_;
};

}  // namespace pleat::inline v0_1
