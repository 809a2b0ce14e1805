// Stored: how a type of yours says which of its fields are stored, so that a restart brings them
// back. One function serves both directions, and names every field once:
//
//   struct Edits {
//     int64_t added = 0;
//     std::vector<std::string> pages;
//
//     void Fold(const Edit& edit) noexcept;
//     template <class F>
//     void Stored(F& f) { f(added, pages); }
//   };
//
// A folder whose State has Stored() can be part of a snapshot (state_directory.h).
//
// Types that can be a field: integers, bool, floats, enums, durations, EngineTime and LeaseTime,
// std::string, std::optional, std::pair, std::array; vectors and other sequences; std::map,
// std::set and other ordered containers; and types with a Stored() of their own. Any other type
// does not compile, and the error names it. Why not whatever can be copied as bytes: pointers and
// views can, and mean nothing in another process.
//
// Changing the fields: raise the version, and say since when a field has been there.
//
//   static constexpr uint32_t kStoredVersion = 2;         // 1 without this line
//   template <class F>
//   void Stored(F& f) {
//     f(added, pages);
//     if (f.version() >= 2) f(reverted);                  // else it keeps its default
//   }
//
// Opening what was stored by fields that differ from those of their version is refused: nothing is
// ever read as something else.
//
// REQUIRES: Stored() names the same fields each time, of one version; calls `f` and nothing else;
// does not throw. An element of a container has at least one field.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <pleat/detail/export.h>
#include <pleat/detail/field_bytes.h>
#include <pleat/detail/field_names.h>

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

namespace detail {

// Where a reader gets bytes that were not all there at the beginning.
class FieldSource {
 public:
  // What was given last ends with `left`: that and bytes behind it, so that there are at least
  // `bytes`. Fewer: there are no more. What was given before is gone.
  virtual std::string_view More(std::string_view left, size_t bytes) = 0;

 protected:
  ~FieldSource() = default;
};

}  // namespace detail

// Reads what a FieldWriter has written. Bytes that cannot be read end the reading: ok() is false
// from there on, and every field keeps a value of its type. Any bytes at all are safe to read.
// Thread safety: none. Ownership: the bytes outlive the reader, as does the source.
class PLEAT_EXPORT FieldReader {
 public:
  explicit FieldReader(std::string_view bytes) noexcept
      : at_(bytes.data()), end_(bytes.data() + bytes.size()) {}
  explicit FieldReader(detail::FieldSource& source) noexcept : source_(&source) {}

  template <class... Fields>
  void operator()(Fields&... fields) {
    (detail::ReadField(*this, fields), ...);
  }
  // The version that was written.
  uint32_t version() const noexcept { return version_; }
  void set_version(uint32_t version) noexcept { version_ = version; }

  uint8_t Byte() noexcept {
    if (at_ == end_ && !Fetch(1)) [[unlikely]]
      return Fail(), uint8_t{0};
    return static_cast<uint8_t>(*at_++);
  }
  uint64_t Number() noexcept {
    if (at_ != end_ && static_cast<uint8_t>(*at_) < 0x80) [[likely]]
      return static_cast<uint8_t>(*at_++);
    return LongNumber();
  }
  uint64_t Word() noexcept;
  // Valid while no more than the next kStayBytes are read.
  static constexpr size_t kStayBytes = 128;
  std::string_view Bytes() noexcept;
  // How many elements follow. No more than there are bytes left, so that a wrong number allocates
  // nothing large. So many bytes come into memory: where elements may be more than that can hold,
  // call Number(), and let what they are read into grow with them.
  size_t Count() noexcept {
    const uint64_t count = Number();
    if (!Has(count)) [[unlikely]]
      return Fail(), size_t{0};
    return static_cast<size_t>(count);
  }
  // Whether so many bytes are left. They come into memory.
  bool Has(uint64_t bytes) noexcept { return bytes <= at_hand() || Fetch(bytes); }

  // Bytes that say something impossible: nothing more is read.
  void Fail() noexcept {
    ok_ = false;
    at_ = end_;
  }
  // Fails unless `holds`. Returns ok().
  bool Expect(bool holds) noexcept {
    if (!holds) Fail();
    return ok_;
  }
  bool ok() const noexcept { return ok_; }
  // Whether all bytes were read, and rightly.
  bool done() noexcept { return ok_ && !Has(1); }
  // How many bytes are left in memory: of a reader of bytes all that are left.
  size_t at_hand() const noexcept { return static_cast<size_t>(end_ - at_); }

 private:
  uint64_t LongNumber() noexcept;
  bool Fetch(uint64_t bytes) noexcept;

  const char* at_ = nullptr;
  const char* end_ = nullptr;
  detail::FieldSource* const source_ = nullptr;  // null: all bytes are there
  bool ok_ = true;
  uint32_t version_ = 1;
};

// Writes the types of fields as text, such as "int64 text[]". Two types whose fields are written
// alike have the same shape.
class FieldShape {
 public:
  template <class... Fields>
  void operator()(const Fields&...) {
    (detail::NameField<Fields>(*this), ...);
  }
  uint32_t version() const noexcept { return version_; }
  void set_version(uint32_t version) noexcept { version_ = version; }

  void Add(std::string_view name) {
    if (!text_.empty() && text_.back() != '(' && text_.back() != ' ') text_ += ' ';
    text_ += name;
  }
  // Behind the name that was added last.
  void Append(std::string_view mark) { text_ += mark; }
  const std::string& text() const noexcept { return text_; }

 private:
  std::string text_;
  uint32_t version_ = 1;
};

template <class T>
concept Storable = requires(T value, FieldShape& shape) { value.Stored(shape); };

}  // namespace pleat::inline v0_1
