// The lines that JsonLines holds: the events of a text in order, and between them the lines that
// are no events, or are not to be folded. Of excluded lines it is known where they are.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include <absl/functional/function_ref.h>
#include <pleat/json_lines.h>

#include "engine/lines/plan/event_batch.h"
#include "engine/lines/plan/event_reader.h"

namespace pleat::inline v0_1 {

// Aligned to a cache line, since each may belong to another thread.
class alignas(64) ReadLines {
 public:
  struct Line {
    const char* data;
    uint32_t size;
    uint32_t index;  // among the lines of the text

    std::string_view text() const noexcept { return {data, size}; }
  };
  struct NoEvent {
    Line line;
    LineResult result;
    ControlEvent control;    // of kControl
    size_t first_place = 0;  // likewise
  };

  // Borrows `plan`.
  explicit ReadLines(const EventPlan& plan)
      : reader_(plan),
        waits_(plan.waits),
        words_(plan.waits ? static_cast<size_t>(plan.paths.slots()) : 0),
        may_be_open_(plan.has_open_times()) {}

  void Read(std::string_view text);

  // The first lines of a text that is not empty: as many whole lines as are best read at once.
  static std::string_view FirstPiece(std::string_view text) noexcept;

  // The text up to its first newline, with it; or all. REQUIRES: it is not empty.
  static std::string_view FirstLine(std::string_view text) noexcept {
    return text.substr(0, std::min(text.find('\n'), text.size() - 1) + 1);
  }

  size_t lines() const noexcept { return lines_; }
  bool any_usable() const noexcept;
  EventBatch& batch() noexcept { return batch_; }

  // If events wait for their turn: the places of the values (EventReader), of event `i`, and of
  // `no_event`, which is a control line.
  const uint32_t* places(size_t i) const noexcept { return places_.data() + i * words_; }
  const uint32_t* places(const NoEvent& no_event) const noexcept {
    return control_places_.data() + no_event.first_place;
  }

  // In order; sources() are the lines of the batch's events.
  const std::vector<Line>& sources() const noexcept { return sources_; }
  const std::vector<NoEvent>& no_events() const noexcept { return no_events_; }

  // Counts over all texts read so far.
  const EventReader& reader() const noexcept { return reader_; }

  // Walks over up to `max` lines that nobody has taken yet, in order. `take_events(end)` takes the
  // events before `end`, and notes in next_event and next_line how far it has come; `take_other`
  // takes a line that is no event. Each returns whether to go on. Returns how many lines were
  // taken.
  size_t Take(size_t max, absl::FunctionRef<bool(size_t end)> take_events,
              absl::FunctionRef<bool(const NoEvent& other)> take_other);

  // How many excluded lines there are among those that were taken since the last call. They do not
  // interrupt a batch of events, because there may be many of them.
  size_t TakeExcluded() noexcept {
    const size_t first = next_excluded_;
    while (next_excluded_ < excluded_.size() && excluded_[next_excluded_] < next_line) {
      ++next_excluded_;
    }
    return next_excluded_ - first;
  }

  // Notes that the events before `end` were taken.
  void TakenUpTo(size_t end) noexcept {
    next_event = end;
    next_line = sources_[end - 1].index + 1;
  }

  // Lines whose time may mean several instants are kWaiting among no_events(), unless it was said by which
  // instant to decide.
  bool has_open() const noexcept { return has_open_; }
  void DecideBy(std::optional<EngineTime> near) noexcept { reader_.DecideBy(near); }
  void LeaveOpen() noexcept { reader_.LeaveOpen(); }
  // The newest stamp of the excluded lines before this one.
  EngineTime NewestExcludedBefore(size_t index) const noexcept;

  // Prefetches all memory that the fold of some events will read. If another thread has read the
  // lines, that memory is in another processor's cache; misses line by line would cost more than
  // the fold.
  void Fetch(size_t first_event, size_t count) const noexcept;

  // How far the lines have been folded.
  size_t next_line = 0;
  size_t next_event = 0;
  size_t next_no_event = 0;

 private:
  void ReadPiece(std::string_view piece);
  void Note(std::string_view text, LineResult::Kind kind);
  void NotePlaces();
  void NoteOther(const Line& line, LineResult::Kind kind);

  EventReader reader_;
  const bool waits_;
  const size_t words_;  // places of a line
  EventBatch batch_;
  std::vector<Line> sources_;
  std::vector<NoEvent> no_events_;
  std::vector<uint32_t> places_;  // some more words than are used
  std::vector<uint32_t> control_places_;
  std::vector<uint32_t> excluded_;  // their indices
  // If times may be open: of each the newest stamp of excluded lines up to there.
  std::vector<EngineTime> newest_excluded_;
  const bool may_be_open_;
  bool has_open_ = false;
  size_t next_excluded_ = 0;
  size_t lines_ = 0;
};

}  // namespace pleat::inline v0_1
