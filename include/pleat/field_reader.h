// FieldReader turns the bytes of a FieldWriter into fields again.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include <pleat/detail/field_bytes.h>
#include <pleat/export.h>

namespace pleat::inline v0_1 {
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

}  // namespace pleat::inline v0_1
