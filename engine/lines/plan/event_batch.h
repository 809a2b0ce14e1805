// Events read from lines and not folded yet, side by side as Folder::FoldBatch wants them.
//
// Events refer to texts in their lines and in the batch (event.h), so the lines have to stay as
// long as the events are needed. Filling a batch again allocates nothing in the steady state.
#pragma once

#include <algorithm>
#include <cstddef>
#include <memory>
#include <string_view>
#include <vector>

#include <pleat/untyped/any_folder.h>

#include "engine/base/check.h"
#include "engine/lines/scan/event.h"

namespace pleat::inline v0_1 {

// Texts that stay in place until all are cleared.
class TextArena {
 public:
  // Room for `bytes` more, contiguous. Take() keeps the part that is used.
  char* Reserve(size_t bytes) {
    while (current_ < chunks_.size() && chunks_[current_].bytes - used_ < bytes) {
      ++current_;
      used_ = 0;
    }
    if (current_ == chunks_.size()) {
      const size_t size = std::max(bytes, kChunkBytes);
      chunks_.push_back({std::make_unique_for_overwrite<char[]>(size), size});
    }
    return chunks_[current_].data.get() + used_;
  }

  // The text from where Reserve() pointed up to `end`.
  std::string_view Take(char* end) noexcept {
    const char* const begin = chunks_[current_].data.get() + used_;
    const auto size = static_cast<size_t>(end - begin);
    used_ += size;
    return {begin, size};
  }

  std::string_view Copy(std::string_view text) {
    return Take(std::copy(text.begin(), text.end(), Reserve(text.size())));
  }

  void Clear() noexcept {
    current_ = 0;
    used_ = 0;
  }

 private:
  static constexpr size_t kChunkBytes = 16 * 1024;

  struct Chunk {
    std::unique_ptr<char[]> data;
    size_t bytes;
  };

  std::vector<Chunk> chunks_;
  size_t current_ = 0;
  size_t used_ = 0;  // of the current one
};

struct EventBatch {
  std::vector<KeyedEvent<LineEvent>> events;
  std::vector<EventValue> values;          // of all events, as many for each
  std::vector<std::string_view> elements;  // of all values
  std::vector<EventMarks> marks;           // of all events, or of none
  std::vector<MemberMarks> members;        // of all events, or of none
  TextArena texts;
  uint64_t not_numbers = 0;  // of all valid lines

  void Clear() noexcept {
    events.clear();
    values.clear();
    elements.clear();
    marks.clear();
    members.clear();
    texts.Clear();
    not_numbers = 0;
  }

  size_t values_an_event() const noexcept {
    return events.empty() ? 0 : values.size() / events.size();
  }

  // Makes the events refer to their values and marks, which move as long as more events are read.
  void Link() noexcept {
    const size_t wanted = values_an_event();
    PLEAT_DCHECK(values.size() == wanted * events.size());
    PLEAT_DCHECK(marks.empty() || marks.size() == events.size());
    PLEAT_DCHECK(members.empty() || members.size() == events.size());
    for (size_t i = 0; i < events.size(); ++i) {
      events[i].event.values = values.data() + i * wanted;
      events[i].event.elements = elements.data();
      events[i].event.marks = marks.empty() ? nullptr : &marks[i];
    }
  }
};

}  // namespace pleat::inline v0_1
