#include "bench/table_text.h"

#include <array>
#include <utility>

#include "tools/pleat/records/input_format.h"
#include "tools/pleat/records/line_map.h"

namespace pleat::bench {
namespace {

class Text final : public cli::ByteSource {
 public:
  explicit Text(std::string_view text) : text_(text) {}

  absl::StatusOr<size_t> Read(char* to, size_t size) override {
    const size_t got = text_.copy(to, size);
    text_.remove_prefix(got);
    return got;
  }

 private:
  std::string_view text_;
};

class Lines final : public cli::ByteSource {
 public:
  explicit Lines(std::string_view table)
      : lines_(cli::ConvertedInput(cli::InputFormat::kCsv, SourceOf(table), "table", map_)) {}

  absl::StatusOr<size_t> Read(char* to, size_t size) override {
    map_.ForgetBefore(UINT64_MAX);  // nobody asks where a line came from
    return lines_->Read(to, size);
  }

 private:
  cli::LineMap map_;
  std::unique_ptr<cli::ByteSource> lines_;
};

}  // namespace

std::string TableText(size_t rows, std::string_view quote) {
  std::string text = "time,user,path,status,bytes,latency_ms,country,agent,referrer,session\n";
  for (size_t i = 0; i < rows; ++i) {
    const std::array<std::string, 10> fields = {
        std::to_string(1'700'000'000'000 + i),
        "u" + std::to_string(i * 7'919 % 5'000),
        "/posts/" + std::to_string(i % 300) + "/comments",
        i % 9 == 0 ? "404" : "200",
        std::to_string(i * 37 % 100'000),
        std::to_string(i % 300) + ".25",
        "DE",
        i % 3 == 0 ? "curl/8.4.0" : "Mozilla/5.0 (X11; Linux x86_64; rv:120.0) Gecko/20100101",
        i % 2 == 0 ? "" : "https://example.org/a/b",
        "s" + std::to_string(i * 11 % 1'000'003)};
    for (size_t column = 0; column < fields.size(); ++column) {
      if (column > 0) text += ',';
      text.append(quote).append(fields[column]).append(quote);
    }
    text += '\n';
  }
  return text;
}

std::unique_ptr<cli::ByteSource> SourceOf(std::string_view text) {
  return std::make_unique<Text>(text);
}

std::unique_ptr<cli::ByteSource> LinesOfTable(std::string_view table) {
  return std::make_unique<Lines>(table);
}

void ReadAll(cli::ByteSource& source, std::string& to) {
  size_t size = 0;
  while (const size_t got = *source.Read(to.data() + size, to.size() - size)) size += got;
  to.resize(size);
}

}  // namespace pleat::bench
