// What the fuzz targets share: the entry point, claims that stop the process when they are broken, and
// text followed by bytes that must not matter.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include <absl/status/status.h>
#include <pleat/json.h>

// What libFuzzer calls with every input it makes up, and replay_main.cc with every file of a corpus.
extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size);

namespace pleat_fuzz {

// Shows the bytes of `text`, all on one line.
inline std::string Shown(std::string_view text) {
  std::string out;
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    char hex[8];
    std::snprintf(hex, sizeof(hex), "\\x%02x", byte);
    byte < 0x20 || byte > 0x7e || c == '\\' ? void(out += hex) : void(out += c);
  }
  return out;
}

[[noreturn]] inline void Broken(const char* file, int line, std::string_view claim,
                                std::string_view about) {
  std::fprintf(stderr, "%s:%d: broken claim: %.*s\n  %s\n", file, line,
               static_cast<int>(claim.size()), claim.data(), Shown(about).c_str());
  std::abort();
}

// Two texts that have to be the same.
inline void ExpectSame(const char* file, int line, std::string_view left, std::string_view right,
                       std::string_view about) {
  if (left == right) return;
  std::fprintf(stderr, "  left:  %s\n  right: %s\n", Shown(left).c_str(), Shown(right).c_str());
  Broken(file, line, "the two are the same", about);
}

// A copy of a text with as many readable bytes behind it as are promised, and not one more, so that
// AddressSanitizer sees who reads further; a parser may easily take them for part of the text.
class PaddedText {
 public:
  explicit PaddedText(std::string_view text)
      : bytes_(std::make_unique<char[]>(text.size() + pleat::kLinePaddingBytes)),
        size_(text.size()) {
    constexpr std::string_view kMisleading = "}]\",:1\\";
    if (!text.empty()) std::memcpy(bytes_.get(), text.data(), text.size());
    for (size_t i = 0; i < pleat::kLinePaddingBytes; ++i) {
      bytes_[size_ + i] = kMisleading[i % kMisleading.size()];
    }
  }

  std::string_view view() const { return {bytes_.get(), size_}; }

 private:
  std::unique_ptr<char[]> bytes_;
  size_t size_;
};

// The lines of `text` without their newlines; the last may lack one.
inline std::vector<std::string_view> LinesOf(std::string_view text) {
  std::vector<std::string_view> lines;
  while (!text.empty()) {
    const size_t end = std::min(text.find('\n'), text.size());
    lines.push_back(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return lines;
}

inline std::string_view TextOf(const uint8_t* data, size_t size) {
  return {reinterpret_cast<const char*>(data), size};
}

// Of the installed Abseil, a message is no std::string_view.
inline std::string MessageOf(const absl::Status& status) { return std::string(status.message()); }

}  // namespace pleat_fuzz

// `about` is the text that broke the claim.
#define FUZZ_EXPECT(condition, about) \
  ((condition) ? (void)0 : ::pleat_fuzz::Broken(__FILE__, __LINE__, #condition, about))
#define FUZZ_EXPECT_SAME(left, right, about) \
  ::pleat_fuzz::ExpectSame(__FILE__, __LINE__, left, right, about)

namespace pleat_fuzz {

// What every refusal has to look like; `about` was refused.
inline void ExpectRefusal(const absl::Status& status, std::string_view about) {
  const std::string message = MessageOf(status);
  FUZZ_EXPECT(absl::IsInvalidArgument(status) && !message.empty(), about);
  FUZZ_EXPECT(message.find('\n') == std::string::npos && message.size() < 2000, about);
}

}  // namespace pleat_fuzz
