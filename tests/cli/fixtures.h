// What the tests of the command line share: byte sources and compression.
#pragma once

#include <zlib.h>
#include <zstd.h>

#include <algorithm>
#include <cstring>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "tools/pleat/byte_source.h"

namespace pleat::cli {

// One gzip member.
inline std::string Gzip(std::string_view text) {
  z_stream stream{};
  deflateInit2(&stream, Z_DEFAULT_COMPRESSION, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY);
  std::string out(deflateBound(&stream, text.size()) + 32, '\0');
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(text.data()));
  stream.avail_in = static_cast<uInt>(text.size());
  stream.next_out = reinterpret_cast<Bytef*>(out.data());
  stream.avail_out = static_cast<uInt>(out.size());
  EXPECT_EQ(deflate(&stream, Z_FINISH), Z_STREAM_END);
  out.resize(stream.total_out);
  deflateEnd(&stream);
  return out;
}

// One zstd frame.
inline std::string Zstd(std::string_view text) {
  std::string out(ZSTD_compressBound(text.size()), '\0');
  const size_t size = ZSTD_compress(out.data(), out.size(), text.data(), text.size(), 3);
  EXPECT_FALSE(ZSTD_isError(size));
  out.resize(size);
  return out;
}

// Gives out a text in reads of at most `at_once` bytes, and then an error if there is one.
class TextSource : public ByteSource {
 public:
  explicit TextSource(std::string text, size_t at_once = SIZE_MAX, absl::Status end = {})
      : text_(std::move(text)), at_once_(at_once), end_(std::move(end)) {}

  absl::StatusOr<size_t> Read(char* to, size_t size) override {
    if (given_ == text_.size() && !end_.ok()) return end_;
    const size_t bytes = std::min({size, at_once_, text_.size() - given_});
    std::memcpy(to, text_.data() + given_, bytes);
    given_ += bytes;
    return bytes;
  }

 private:
  std::string text_;
  size_t at_once_;
  absl::Status end_;
  size_t given_ = 0;
};

// Everything a source gives, or what its error says.
inline std::string ReadAll(ByteSource& source, size_t at_once = 4096) {
  std::string all;
  std::vector<char> buffer(at_once);
  for (;;) {
    absl::StatusOr<size_t> got = source.Read(buffer.data(), buffer.size());
    if (!got.ok()) return all + "[" + std::string(got.status().message()) + "]";
    if (*got == 0) return all;
    all.append(buffer.data(), *got);
  }
}

}  // namespace pleat::cli
