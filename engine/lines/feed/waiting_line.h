// Lines that wait in the reorder stage, and the memory that they take.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include <absl/functional/function_ref.h>
#include <pleat/time.h>

namespace pleat::inline v0_1 {

// Its words and its text follow it in memory.
struct WaitingLine {
  EngineTime at;
  uint64_t position;  // of arrival, among all lines
  uint32_t size;      // of the text
  uint32_t words;     // what its owner keeps with it
  bool is_control;

  std::span<const uint32_t> kept() const noexcept {
    return {reinterpret_cast<const uint32_t*>(this + 1), words};
  }
  // kLinePaddingBytes readable bytes follow it.
  std::string_view text() const noexcept {
    return {reinterpret_cast<const char*>(kept().data() + words), size};
  }
  // In memory. The next one begins at a multiple of eight.
  uint32_t bytes() const noexcept {
    const size_t used = sizeof(WaitingLine) + sizeof(uint32_t) * words + size;
    return static_cast<uint32_t>((used + 7) & ~size_t{7});
  }
};

// What lines are sorted by, beside them: looking at each would miss the cache.
struct WaitingEntry {
  EngineTime at;
  uint64_t position;
  const WaitingLine* line;

  static WaitingEntry Of(const WaitingLine& line) noexcept {
    return {line.at, line.position, &line};
  }
  bool operator<(const WaitingEntry& other) const noexcept {
    return at != other.at ? at < other.at : position < other.position;
  }
  // For a heap with the first line at its top.
  bool operator>(const WaitingEntry& other) const noexcept { return other < *this; }
};

// Memory for lines behind one another. The bytes follow it.
struct LineChunk {
  LineChunk* next;
  uint32_t size;
  uint32_t used;

  char* bytes() noexcept { return reinterpret_cast<char*>(this + 1); }
  const char* bytes() const noexcept { return reinterpret_cast<const char*>(this + 1); }
  const WaitingLine& At(uint32_t offset) const noexcept;
};

// Lines in the order in which they were appended.
struct LineList {
  LineChunk* first = nullptr;
  LineChunk* last = nullptr;
  size_t bytes = 0;  // of all chunks
  size_t dead = 0;   // of lines that were taken, and have left holes

  // The lines from that place in the first chunk on.
  void ForEach(uint32_t offset, absl::FunctionRef<void(const WaitingLine&)> see) const;

  // The first line from that place on. Null: there is none.
  const WaitingLine* Front(uint32_t offset) const noexcept;

  // Whether Repack() pays.
  bool has_holes() const noexcept {
    constexpr size_t kWorthIt = size_t{256} << 10;
    return dead > kWorthIt && dead > bytes / 2;
  }
};

// Where chunks come from and go to.
class LineMemory {
 public:
  LineMemory() = default;
  ~LineMemory();
  LineMemory(const LineMemory&) = delete;
  LineMemory& operator=(const LineMemory&) = delete;

  const WaitingLine* Append(LineList& list, const WaitingLine& line, const uint32_t* words,
                            std::string_view text);
  // Writes the lines of `entries` anew, without holes: they are all that is left of `list`.
  void Repack(LineList& list, std::span<WaitingEntry> entries);

  // Lines of what is let go stay valid until FreeTaken().
  void LetGoFirst(LineList& list) noexcept;  // its first chunk
  void LetGo(LineList& list) noexcept;
  void FreeTaken() noexcept;
  // At once.
  void Free(LineList& list) noexcept;

 private:
  LineChunk* NewChunk(size_t size);
  void FreeChunk(LineChunk* chunk) noexcept;
  void FreeChunks(LineChunk* first) noexcept;

  static constexpr size_t kSizes = 8;

  LineChunk* taken_ = nullptr;
  std::array<LineChunk*, kSizes> spare_{};  // for use again, in lists by their sizes
  size_t spare_bytes_ = 0;
};

}  // namespace pleat::inline v0_1
