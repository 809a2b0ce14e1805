#include "tools/pleat/decompress.h"

#include <zlib.h>
#include <zstd.h>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <string_view>
#include <utility>
#include <vector>

#include "tools/pleat/errno_status.h"

namespace pleat::cli {
namespace {

constexpr size_t kRawBytes = 128 * 1024;
constexpr size_t kMagicBytes = 4;

// The compressed bytes that were read and not yet consumed.
class RawBytes {
 public:
  explicit RawBytes(std::unique_ptr<ByteSource> source)
      : source_(std::move(source)), buffer_(kRawBytes) {}

  std::string_view view() const { return {buffer_.data() + begin_, end_ - begin_}; }
  bool ended() const { return ended_; }
  void Take(size_t bytes) { begin_ += bytes; }

  // Adds the bytes of one read. At the end, sets ended().
  absl::Status More() {
    if (begin_ == end_) begin_ = end_ = 0;
    absl::StatusOr<size_t> got = source_->Read(buffer_.data() + end_, buffer_.size() - end_);
    if (!got.ok()) return got.status();
    end_ += *got;
    if (*got == 0) ended_ = true;
    return absl::OkStatus();
  }

  // Past the buffered bytes, straight from the source.
  absl::StatusOr<size_t> ReadThrough(char* to, size_t size) { return source_->Read(to, size); }

 private:
  std::unique_ptr<ByteSource> source_;
  std::vector<char> buffer_;
  size_t begin_ = 0;
  size_t end_ = 0;
  bool ended_ = false;
};

class PlainSource final : public ByteSource {
 public:
  explicit PlainSource(RawBytes raw) : raw_(std::move(raw)) {}

  absl::StatusOr<size_t> Read(char* to, size_t size) override {
    const std::string_view first = raw_.view();
    if (first.empty()) return raw_.ended() ? size_t{0} : raw_.ReadThrough(to, size);
    const size_t bytes = std::min(size, first.size());
    std::memcpy(to, first.data(), bytes);
    raw_.Take(bytes);
    return bytes;
  }

 private:
  RawBytes raw_;
};

// The part that gzip and zstd share: turn raw bytes into plain ones until there are some to give.
class DecompressingSource : public ByteSource {
 public:
  DecompressingSource(RawBytes raw, std::string name)
      : raw_(std::move(raw)), name_(std::move(name)) {}

  absl::StatusOr<size_t> Read(char* to, size_t size) final {
    for (;;) {
      // A full output buffer means that the decompressor may still hold plain bytes: ask it for
      // them before waiting for more raw ones.
      if (raw_.view().empty() && !output_was_full_) {
        if (!raw_.ended()) {
          if (absl::Status more = raw_.More(); !more.ok()) return more;
          continue;
        }
        if (AtBoundary()) return size_t{0};
        return absl::DataLossError(Printable(name_) + ": truncated " + Format() + " data");
      }
      absl::StatusOr<size_t> got = Step(to, size);
      if (!got.ok()) return got.status();
      output_was_full_ = *got == size;
      if (*got > 0) return got;
    }
  }

 protected:
  // Decompresses from raw_ into `to`; returns how many bytes it made.
  virtual absl::StatusOr<size_t> Step(char* to, size_t size) = 0;
  // Whether the raw bytes consumed so far end with a whole member or frame.
  virtual bool AtBoundary() const = 0;
  virtual const char* Format() const = 0;

  absl::Status Corrupt(std::string_view why) const {
    return absl::DataLossError(Printable(name_) + ": corrupt " + Format() + " data (" +
                               std::string(why) + ")");
  }

  RawBytes raw_;

 private:
  std::string name_;
  bool output_was_full_ = false;
};

class GzipSource final : public DecompressingSource {
 public:
  GzipSource(RawBytes raw, std::string name)
      : DecompressingSource(std::move(raw), std::move(name)) {
    constexpr int kGzipOnly = 15 + 16;  // the largest window; 16 asks for the gzip wrapper
    inflateInit2(&stream_, kGzipOnly);
  }
  ~GzipSource() override { inflateEnd(&stream_); }

 private:
  absl::StatusOr<size_t> Step(char* to, size_t size) override {
    if (between_members_ && !StartMember()) return size_t{0};
    const std::string_view in = raw_.view();
    stream_.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(in.data()));
    stream_.avail_in = static_cast<uInt>(in.size());
    stream_.next_out = reinterpret_cast<Bytef*>(to);
    stream_.avail_out = static_cast<uInt>(size);
    const int result = inflate(&stream_, Z_NO_FLUSH);
    raw_.Take(in.size() - stream_.avail_in);
    // Z_BUF_ERROR is no error: there was nothing to do until more bytes come.
    if (result == Z_STREAM_END) {
      between_members_ = true;
    } else if (result != Z_OK && result != Z_BUF_ERROR) {
      return Corrupt(stream_.msg != nullptr ? stream_.msg : "cannot be decompressed");
    }
    return size - stream_.avail_out;
  }

  // Skips padding; returns whether there is a further member to read.
  bool StartMember() {
    const size_t zeros = std::min(raw_.view().find_first_not_of('\0'), raw_.view().size());
    raw_.Take(zeros);
    if (raw_.view().empty()) return false;
    inflateReset(&stream_);
    between_members_ = false;
    return true;
  }

  bool AtBoundary() const override { return between_members_; }
  const char* Format() const override { return "gzip"; }

  z_stream stream_{};
  bool between_members_ = false;
};

class ZstdSource final : public DecompressingSource {
 public:
  ZstdSource(RawBytes raw, std::string name)
      : DecompressingSource(std::move(raw), std::move(name)), stream_(ZSTD_createDStream()) {}
  ~ZstdSource() override { ZSTD_freeDStream(stream_); }

 private:
  absl::StatusOr<size_t> Step(char* to, size_t size) override {
    ZSTD_inBuffer in{raw_.view().data(), raw_.view().size(), 0};
    ZSTD_outBuffer out{to, size, 0};
    // At a boundary with nothing to read, a call would be taken for the start of a new frame.
    if (in.size == 0 && between_frames_) return size_t{0};
    const size_t result = ZSTD_decompressStream(stream_, &out, &in);
    raw_.Take(in.pos);
    if (ZSTD_isError(result)) return Corrupt(ZSTD_getErrorName(result));
    between_frames_ = result == 0;
    return out.pos;
  }

  bool AtBoundary() const override { return between_frames_; }
  const char* Format() const override { return "zstd"; }

  ZSTD_DStream* stream_;
  bool between_frames_ = false;
};

enum class Kind { kPlain, kGzip, kZstd, kNeedMore };

// No JSON text begins with any of these bytes, so waiting for the rest of a magic number never
// holds back a line.
Kind Recognise(std::string_view first) {
  static constexpr std::string_view kGzip = "\x1f\x8b";
  static constexpr std::string_view kZstd = "\x28\xb5\x2f\xfd";
  static constexpr std::string_view kSkippable = "\x2a\x4d\x18";  // after a byte 0x50 to 0x5f
  if (first.substr(0, kGzip.size()) == kGzip) return Kind::kGzip;
  if (first.substr(0, kZstd.size()) == kZstd) return Kind::kZstd;
  const bool skippable = !first.empty() && (static_cast<uint8_t>(first[0]) & 0xf0) == 0x50;
  if (skippable && first.substr(1, kSkippable.size()) == kSkippable) return Kind::kZstd;
  if (kGzip.substr(0, first.size()) == first || kZstd.substr(0, first.size()) == first ||
      (skippable && kSkippable.substr(0, first.size() - 1) == first.substr(1))) {
    return Kind::kNeedMore;
  }
  return Kind::kPlain;
}

// The kind of an input that ended within a magic number. Bytes that could be text count as text,
// and so as an invalid line.
Kind RecogniseCut(std::string_view all) {
  const auto is_text = [](char c) { return c >= 0x20 && c < 0x7f; };
  if (std::ranges::all_of(all, is_text)) return Kind::kPlain;
  return all.starts_with('\x1f') ? Kind::kGzip : Kind::kZstd;
}

}  // namespace

absl::StatusOr<std::unique_ptr<ByteSource>> Decompressed(std::unique_ptr<ByteSource> source,
                                                         std::string name) {
  RawBytes raw(std::move(source));
  Kind kind = Kind::kNeedMore;
  while (kind == Kind::kNeedMore && !raw.ended()) {
    if (absl::Status more = raw.More(); !more.ok()) return more;
    kind = Recognise(raw.view().substr(0, kMagicBytes));
  }
  if (kind == Kind::kNeedMore) kind = RecogniseCut(raw.view());
  std::unique_ptr<ByteSource> result;
  switch (kind) {
    case Kind::kGzip: result = std::make_unique<GzipSource>(std::move(raw), std::move(name)); break;
    case Kind::kZstd: result = std::make_unique<ZstdSource>(std::move(raw), std::move(name)); break;
    case Kind::kPlain:
    case Kind::kNeedMore:  // empty
      result = std::make_unique<PlainSource>(std::move(raw));
      break;
  }
  return result;
}

}  // namespace pleat::cli
