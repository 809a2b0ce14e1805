// What JsonLines holds: the events of a text in order, and between them the lines that are none, or
// none to fold.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include <pleat/json.h>

#include "engine/json/event_batch.h"
#include "engine/json/event_reader.h"

namespace pleat::inline v0_1 {

// Aligned, as each may be another thread's.
class alignas(64) [[gnu::visibility("hidden")]] JsonLines::Impl {
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
    ControlEvent control;  // of kControl
  };

  explicit Impl(const FoldPlan& plan) : reader_(plan) {}

  void Read(std::string_view text);

  // Whole lines off the front of a text that is not empty: as many as are best read at once.
  static std::string_view FirstPiece(std::string_view text) noexcept;

  size_t lines() const noexcept { return lines_; }
  EventBatch& batch() noexcept { return batch_; }

  // In order; sources() are the lines of the batch's events.
  const std::vector<Line>& sources() const noexcept { return sources_; }
  const std::vector<NoEvent>& no_events() const noexcept { return no_events_; }

  // In all texts read so far.
  const UnseenPaths& unseen() const noexcept { return reader_.unseen(); }

  // Asks for all the memory that the fold of some events will read. If another thread has read the
  // lines, it is in that processor's cache; to miss it line by line costs more than the fold.
  void Fetch(size_t first_event, size_t count) const noexcept;

  // How far they have been folded.
  size_t next_line = 0;
  size_t next_event = 0;
  size_t next_no_event = 0;

 private:
  void ReadPiece(std::string_view piece);
  void Note(std::string_view line, EventReader::Verdict verdict);

  EventReader reader_;
  EventBatch batch_;
  std::vector<Line> sources_;
  std::vector<NoEvent> no_events_;
  size_t lines_ = 0;
};

}  // namespace pleat::inline v0_1
