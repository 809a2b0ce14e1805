// FieldReader turns the bytes of a FieldWriter into fields again.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include <pleat/detail/field_bytes.h>
#include <pleat/export.h>

namespace pleat::inline v0_1 {

// Reads what a FieldWriter has written. Bytes that cannot be read end the reading: ok() is false
// from there on, and every field keeps a value of its type. Any bytes at all are safe to read.
// Thread safety: none. Ownership: the bytes outlive the reader.
class PLEAT_EXPORT FieldReader {
 public:
  explicit FieldReader(std::string_view bytes) noexcept
      : at_(bytes.data()), end_(bytes.data() + bytes.size()) {}

  template <class... Fields>
  void operator()(Fields&... fields) {
    (detail::ReadField(*this, fields), ...);
  }
  // The version that was written.
  uint32_t version() const noexcept { return version_; }
  void set_version(uint32_t version) noexcept { version_ = version; }

  uint8_t Byte() noexcept {
    if (at_ == end_) [[unlikely]]
      return Fail(), uint8_t{0};
    return static_cast<uint8_t>(*at_++);
  }
  uint64_t Number() noexcept {
    if (at_ != end_ && static_cast<uint8_t>(*at_) < 0x80) [[likely]]
      return static_cast<uint8_t>(*at_++);
    return LongNumber();
  }
  uint64_t Word() noexcept;
  // Of the reader's bytes.
  std::string_view Bytes() noexcept;
  // How many elements follow. No more than there are bytes left, so that a wrong number allocates
  // nothing large.
  size_t Count() noexcept {
    const uint64_t count = Number();
    if (count > left()) [[unlikely]]
      return Fail(), size_t{0};
    return static_cast<size_t>(count);
  }

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
  bool done() const noexcept { return ok_ && at_ == end_; }
  size_t left() const noexcept { return static_cast<size_t>(end_ - at_); }

 private:
  uint64_t LongNumber() noexcept;

  const char* at_;
  const char* end_;
  bool ok_ = true;
  uint32_t version_ = 1;
};

}  // namespace pleat::inline v0_1
