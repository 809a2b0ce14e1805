// FieldWriter turns fields into bytes, for stored.h, and for authors of adapters whose states are
// laid out at run time (state_ops.h).
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string_view>
#include <utility>
#include <vector>

#include <pleat/detail/field_bytes.h>
#include <pleat/export.h>

namespace pleat::inline v0_1 {

// Writes fields as bytes, one behind the other. Whole numbers take one byte for each 7 bits.
// Thread safety: none. Complexity: O(bytes).
class PLEAT_EXPORT FieldWriter {
 public:
  // The first keeps all bytes in one piece, which doubles as it grows. The second cuts them,
  // between any two bytes, into pieces of at most `piece_bytes`, so that nothing is copied when
  // there are many. REQUIRES: `piece_bytes` is at least 64.
  FieldWriter() = default;
  explicit FieldWriter(size_t piece_bytes) : piece_bytes_(piece_bytes) {}
  ~FieldWriter();
  FieldWriter(const FieldWriter&) = delete;
  FieldWriter& operator=(const FieldWriter&) = delete;

  template <class... Fields>
  void operator()(const Fields&... fields) {
    (detail::WriteField(*this, fields), ...);
  }
  // The version that is written: that of the type.
  uint32_t version() const noexcept { return version_; }
  void set_version(uint32_t version) noexcept { version_ = version; }

  void PutByte(uint8_t byte) {
    Reserve(1);
    *end_++ = static_cast<char>(byte);
  }
  void PutNumber(uint64_t number) {
    Reserve(kNumberBytesMax);
    for (; number >= 0x80; number >>= 7) *end_++ = static_cast<char>(number | 0x80);
    *end_++ = static_cast<char>(number);
  }
  // Eight bytes, the lowest first: for hashes and other numbers that are rarely small.
  void PutWord(uint64_t word) {
    Reserve(8);
    for (int shift = 0; shift < 64; shift += 8) *end_++ = static_cast<char>(word >> shift);
  }
  // A length and the bytes.
  void PutBytes(std::string_view bytes);
  // Fields that another writer has written.
  void PutFields(std::string_view fields);

  // One piece, of whoever holds it.
  struct Piece {
    std::unique_ptr<char[]> data;
    size_t size;

    std::string_view bytes() const noexcept { return {data.get(), size}; }
  };
  // What was written, which the writer forgets. REQUIRES: the writer cuts into pieces.
  std::vector<Piece> TakePieces();
  // The same for those pieces that are full, so that others can be written meanwhile.
  std::vector<Piece> TakeFullPieces() { return std::exchange(pieces_, {}); }

  // What was written since the beginning, or the last Clear(). Valid until the next write.
  // REQUIRES: the writer keeps all in one piece, as for the next two.
  std::string_view bytes() const noexcept { return {begin_, static_cast<size_t>(end_ - begin_)}; }
  size_t size() const noexcept { return static_cast<size_t>(end_ - begin_); }
  // Keeps the memory.
  void Clear() noexcept { end_ = begin_; }

 private:
  static constexpr size_t kNumberBytesMax = 10;

  void Reserve(size_t bytes) {
    if (static_cast<size_t>(limit_ - end_) < bytes) [[unlikely]]
      Grow(bytes);
  }
  void Grow(size_t bytes);
  void BeginPiece();

  char* begin_ = nullptr;
  char* end_ = nullptr;
  char* limit_ = nullptr;
  const size_t piece_bytes_ = 0;  // 0: one piece
  std::vector<Piece> pieces_;     // before the last one
  uint32_t version_ = 1;
};

}  // namespace pleat::inline v0_1
