// The reorder stage of lines: lines wait here until no older one can come, and go on in the order of
// their stamps.
//
// With a bound of disorder D the watermark is the newest stamp less D. A line is due when the
// watermark has reached its stamp, and lines that are due are taken in the order of (stamp, position
// of arrival). So what is behind the stage meets the lines as if they had been sorted, stably, by
// time.
//
//   arrival    40   25   33   60          D = 30
//   watermark  10   10   10   30
//   taken                     25          33, 40 and 60 wait
//
// A line older than the frontier has missed its turn: it waits no more, and is late or not by the
// rules of the collection. The frontier is the watermark; or the stamp of the last line that was
// taken before its time, because there was no room.
//
// Where lines wait:
//   - A line that is not older than all before it goes to the end of the run, which is read as it was
//     written. So an input in order is appended and taken from the front.
//   - Others go to a heap, as long as there are few.
//   - If there are many, time is cut into some 1,000 pieces for a span of D, and each piece has a list
//     of records behind one another, as they came. Its index is sorted when the watermark reaches the
//     piece, and fits a cache; lines that come into the piece after that go to the heap. This is a
//     calendar queue (R. Brown, "Calendar queues: a fast O(1) priority queue implementation for the
//     simulation event set problem", CACM 31(10), 1988) whose calendar is one span long, as no stamp
//     that waits is further away. An arrival costs O(1), and one that is taken O(log n) of the n in
//     its piece.
//
// Thread safety: one thread at a time; the counts are for any thread.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include <absl/functional/function_ref.h>
#include <pleat/stored.h>
#include <pleat/time.h>

#include "engine/lines/feed/counter.h"

namespace pleat::inline v0_1 {

// A line that waits. Its words and its text follow it in memory.
struct WaitingLine {
  EngineTime at;
  uint64_t position;  // of arrival, among all lines
  uint32_t size;      // of the text
  uint16_t words;     // what its owner keeps with it
  bool is_control;

  std::span<const uint32_t> kept() const noexcept {
    return {reinterpret_cast<const uint32_t*>(this + 1), words};
  }
  // kLinePaddingBytes readable bytes follow it.
  std::string_view text() const noexcept {
    return {reinterpret_cast<const char*>(this + 1) + sizeof(uint32_t) * words, size};
  }
};

class ReorderStage {
 public:
  // `bound` is D. Lines that wait take at most `max_bytes`; see BytesOf().
  ReorderStage(Duration bound, Duration future_limit, size_t max_bytes);
  ~ReorderStage();
  ReorderStage(const ReorderStage&) = delete;
  ReorderStage& operator=(const ReorderStage&) = delete;

  // What a line counts against max_bytes: its own bytes, four for each word, and all that is kept
  // beside them, rounded up.
  static constexpr size_t BytesOf(size_t size, size_t words) noexcept {
    return size + sizeof(uint32_t) * words + 48;
  }

  // --- Time

  // Whether the stamp of a line that has just come is further ahead of the newest one than the
  // future limit allows. The first one is not.
  bool IsTooFarAhead(EngineTime at) const noexcept {
    return IsBeyondFuture(at, ahead_, future_limit_);
  }
  // A line with this stamp has come: the watermark moves.
  void NoteStamp(EngineTime at) noexcept {
    if (at <= newest_) return;
    newest_ = at;
    ahead_ = std::max(ahead_, at);
    watermark_ = std::max(watermark_, SaturatingSub(at, bound_));
  }
  // No line older than `now` is waited for any more.
  void Advance(EngineTime now) noexcept;

  EngineTime newest() const noexcept { return newest_; }  // stamp; kBeginningOfTime: none yet
  EngineTime watermark() const noexcept { return watermark_; }
  EngineTime frontier() const noexcept { return std::max(watermark_, taken_early_); }

  // --- Lines in

  // So many lines have come, of whatever kind. Returns the position of the first.
  uint64_t CountArrived(uint64_t lines) noexcept {
    return std::exchange(arrived_, arrived_ + lines);
  }
  uint64_t arrived() const noexcept { return arrived_; }

  // Whether Put() can take the stamp before all that is due was taken.
  bool HasPlaceFor(EngineTime at) const noexcept {
    return PieceOf(at) - lowest_ < kPieces || in_pieces_ == 0;
  }
  // REQUIRES: the stamp was noted, is not before the frontier, and has a place.
  void Put(const WaitingLine& line, const uint32_t* words, std::string_view text);

  // --- Lines out

  // The next line, if it is due; else null. It is gone from the stage, and stays valid until
  // FreeTaken().
  const WaitingLine* TakeDue();
  bool is_over_limit() const noexcept { return bytes_ > max_bytes_; }
  // The next line, due or not, if the stage is over its bytes; else null.
  const WaitingLine* TakeOverLimit();
  void FreeTaken() noexcept;

  // The smallest stamp that waits. Complexity: O(lines of its piece).
  std::optional<EngineTime> next() const;

  // --- Any thread

  uint64_t waiting() const noexcept { return waiting_.value(); }
  uint64_t taken_early() const noexcept { return early_.value(); }

  // --- Snapshots. REQUIRES: nobody puts or takes lines meanwhile.

  // Each line that waits, in no order that means anything.
  void ForEach(absl::FunctionRef<void(const WaitingLine&)> see) const;
  // All but the lines.
  void SaveTimes(FieldWriter& out) const;
  // REQUIRES: no line waits.
  void LoadTimes(FieldReader& in);
  void Clear() noexcept;

 private:
  // Memory for records behind one another. The bytes follow it.
  struct Chunk {
    Chunk* next;
    uint32_t size;
    uint32_t used;

    char* bytes() noexcept { return reinterpret_cast<char*>(this + 1); }
    const char* bytes() const noexcept { return reinterpret_cast<const char*>(this + 1); }
  };
  struct Records {
    Chunk* first = nullptr;
    Chunk* last = nullptr;
    size_t bytes = 0;  // of all chunks
    size_t dead = 0;   // of records that were taken and have left a hole
  };
  // What lines are sorted by, beside them: looking at each would miss the cache.
  struct Entry {
    EngineTime at;
    uint64_t position;
    const WaitingLine* line;

    bool operator<(const Entry& other) const noexcept {
      return at != other.at ? at < other.at : position < other.position;
    }
    // For a heap with the first line at its top.
    bool operator>(const Entry& other) const noexcept { return other < *this; }
  };

  static constexpr int64_t kPieces = 1024;

  int64_t PieceOf(EngineTime at) const noexcept { return at.time_since_epoch().count() >> shift_; }
  Records& At(int64_t piece) noexcept { return pieces_[SlotOf(piece)]; }
  const Records& At(int64_t piece) const noexcept { return pieces_[SlotOf(piece)]; }
  static size_t SlotOf(int64_t piece) noexcept {
    return static_cast<size_t>(piece & (kPieces - 1));
  }

  const WaitingLine* Append(Records& records, const WaitingLine& line, const uint32_t* words,
                            std::string_view text);
  void Repack(Records& records, std::span<Entry> entries);
  Chunk* NewChunk(size_t size);
  void FreeChunk(Chunk* chunk) noexcept;
  void FreeChunks(Chunk* first) noexcept;
  static void ForEachIn(const Chunk* chunk, uint32_t offset,
                        absl::FunctionRef<void(const WaitingLine&)> see);

  void PutInHeap(const WaitingLine& line, const uint32_t* words, std::string_view text);
  void PutInPiece(int64_t piece, const WaitingLine& line, const uint32_t* words,
                  std::string_view text);
  const WaitingLine* RunFront() noexcept;
  bool FindLowest() noexcept;
  void Open(int64_t piece);
  void Close() noexcept;
  const WaitingLine* TakeUpTo(EngineTime limit);

  const Duration bound_;
  const Duration future_limit_;
  const size_t max_bytes_;
  const int shift_;  // a piece has so many microseconds, as a power of two

  EngineTime newest_ = kBeginningOfTime;
  EngineTime ahead_ = kBeginningOfTime;  // the newest, or what Advance() says it may be
  EngineTime watermark_ = kBeginningOfTime;
  EngineTime taken_early_ = kBeginningOfTime;  // the latest
  uint64_t arrived_ = 0;
  size_t bytes_ = 0;  // as BytesOf() counts, of all that wait

  Records run_;
  uint32_t run_offset_ = 0;                // of its next line, in its first chunk
  EngineTime run_end_ = kBeginningOfTime;  // the stamp of its last line, and the position
  uint64_t run_end_position_ = 0;

  std::vector<Entry> heap_;
  Records beside_;  // has the lines of the heap

  std::vector<Records> pieces_;                    // a ring
  std::array<uint64_t, kPieces / 64> occupied_{};  // a bit for each of them that has lines
  int64_t lowest_ = 0;                             // no piece before it has lines
  uint64_t in_pieces_ = 0;                         // lines
  // The piece that is being taken, if there is one, and its lines in order.
  bool is_open_ = false;
  int64_t open_ = 0;
  std::vector<Entry> index_;
  size_t next_in_index_ = 0;

  Chunk* taken_ = nullptr;  // a list of those that FreeTaken() frees
  // Chunks for use again, in lists by their sizes.
  static constexpr size_t kSizes = 8;
  std::array<Chunk*, kSizes> spare_{};
  size_t spare_bytes_ = 0;

  Counter waiting_;
  Counter early_;
};

}  // namespace pleat::inline v0_1
