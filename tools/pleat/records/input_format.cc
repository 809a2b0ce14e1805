#include "tools/pleat/records/input_format.h"

#include <algorithm>
#include <cassert>
#include <cstring>
#include <string_view>
#include <utility>
#include <vector>

#include "tools/pleat/byte_source.h"
#include "tools/pleat/errno_status.h"
#include "tools/pleat/records/access_log_converter.h"
#include "tools/pleat/records/csv_converter.h"
#include "tools/pleat/records/json_converter.h"
#include "tools/pleat/records/logfmt_converter.h"
#include "tools/pleat/records/record_converter.h"
#include "tools/pleat/records/record_lines.h"
#include "tools/pleat/records/sse_converter.h"
#include "tools/pleat/records/tsv_converter.h"
#include "tools/pleat/records/w3c_converter.h"
#include "tools/pleat/records/zeek_converter.h"

namespace pleat::cli {
namespace {

constexpr size_t kConvertAtOnce = size_t{64} << 10;

constexpr std::string_view kUtf16Marks[] = {"\xff\xfe", "\xfe\xff"};

std::unique_ptr<RecordConverter> NewConverter(InputFormat format, std::string name,
                                              const TableOptions& table) {
  switch (format) {
    case InputFormat::kCsv: return std::make_unique<CsvConverter>(table, std::move(name));
    case InputFormat::kTsv: return std::make_unique<TsvConverter>(table, std::move(name));
    case InputFormat::kLogfmt: return std::make_unique<LogfmtConverter>();
    case InputFormat::kAccess: return std::make_unique<AccessLogConverter>();
    case InputFormat::kZeek: return std::make_unique<ZeekConverter>(std::move(name));
    case InputFormat::kW3c: return std::make_unique<W3cConverter>(std::move(name));
    case InputFormat::kSse: return std::make_unique<SseConverter>();
    case InputFormat::kJson: return std::make_unique<JsonConverter>();
    case InputFormat::kNdjson: break;
  }
  assert(false);
  return nullptr;
}

class ConvertedSource final : public ByteSource {
 public:
  ConvertedSource(InputFormat format, std::unique_ptr<ByteSource> bytes, std::string name,
                  LineMap& map, UnfinishedEnd end, const TableOptions& table)
      : bytes_(std::move(bytes)),
        name_(std::move(name)),
        unfinished_end_(end),
        converter_(NewConverter(format, name_, table)),
        map_(map),
        lines_(map),
        buffer_(kConvertAtOnce) {}

  absl::StatusOr<size_t> Read(char* to, size_t size) override {
    while (lines_.view().empty()) {
      if (!failed_.ok()) return failed_;
      if (finished_) return size_t{0};
      failed_ = More();  // told behind the lines that were made before
    }
    const std::string_view lines = lines_.view().substr(0, size);
    std::memcpy(to, lines.data(), lines.size());
    lines_.Take(lines.size());
    return lines.size();
  }

  bool unfinished() const override { return unfinished_; }

 private:
  // Converts something, or reads something to convert.
  absl::Status More() {
    if (!std::exchange(begun_, true)) return Begin();
    if (begin_ < end_ || converter_->HasMore()) {
      const absl::StatusOr<size_t> taken = converter_->Take(unread(), lines_);
      if (taken.ok()) begin_ += *taken;
      if (!doubled_noted_ && !converter_->doubled().empty()) {
        map_.NoteDoubled(converter_->doubled());
        doubled_noted_ = true;
      }
      return taken.status();
    }
    if (!ended_) return Fill();
    if (!std::exchange(ending_, true)) unfinished_ = converter_->Unfinished();
    const bool left = unfinished_ && unfinished_end_ == UnfinishedEnd::kLeft;
    absl::Status status = left ? absl::OkStatus() : converter_->End(lines_);
    finished_ = left || !converter_->HasMore();
    return status;
  }

  // Reads past a byte order mark. No record is held back by waiting for the rest of one.
  absl::Status Begin() {
    const auto may_be_mark = [this] {
      return !ended_ && unread().size() < kByteOrderMark.size() &&
             (kByteOrderMark.starts_with(unread()) || unread() == kUtf16Marks[0].substr(0, 1) ||
              unread() == kUtf16Marks[1].substr(0, 1));
    };
    while (may_be_mark()) {
      if (absl::Status filled = Fill(); !filled.ok()) return filled;
    }
    if (unread().starts_with(kByteOrderMark)) {
      begin_ += kByteOrderMark.size();
      return absl::OkStatus();
    }
    for (const std::string_view mark : kUtf16Marks) {
      if (!unread().starts_with(mark)) continue;
      return absl::InvalidArgumentError(
          Printable(name_) + ": looks like UTF-16: iconv -f UTF-16 -t UTF-8 FILE | pleat ...");
    }
    return absl::OkStatus();
  }

  std::string_view unread() const { return {buffer_.data() + begin_, end_ - begin_}; }

  absl::Status Fill() {
    if (begin_ == end_) begin_ = end_ = 0;
    const absl::StatusOr<size_t> got = bytes_->Read(buffer_.data() + end_, buffer_.size() - end_);
    if (!got.ok()) return got.status();
    end_ += *got;
    ended_ = *got == 0;
    return absl::OkStatus();
  }

  const std::unique_ptr<ByteSource> bytes_;
  const std::string name_;
  const UnfinishedEnd unfinished_end_;
  const std::unique_ptr<RecordConverter> converter_;
  LineMap& map_;
  RecordLines lines_;
  std::vector<char> buffer_;
  size_t begin_ = 0;  // of what was read and is not converted yet
  size_t end_ = 0;
  absl::Status failed_;
  bool begun_ = false;
  bool doubled_noted_ = false;
  bool ended_ = false;     // nothing more can be read,
  bool ending_ = false;    // the converter was told so,
  bool finished_ = false;  // or converted
  bool unfinished_ = false;
};

}  // namespace

std::unique_ptr<ByteSource> ConvertedInput(InputFormat format, std::unique_ptr<ByteSource> bytes,
                                           std::string name, LineMap& map, UnfinishedEnd end,
                                           const TableOptions& table) {
  return std::make_unique<ConvertedSource>(format, std::move(bytes), std::move(name), map, end,
                                           table);
}

}  // namespace pleat::cli
