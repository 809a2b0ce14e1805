// Where the tokens of a line start: the door to simdjson.
//
// simdjson works in two stages. The first finds the start of every token (brackets, colons, commas,
// and the first byte of each string, number or word) at gigabytes a second, and checks that the line
// is UTF-8, that every string is closed and that none holds a raw control character. On-Demand then
// reads values lazily: what nobody asks for is not checked, and what is asked for is converted. We
// need the opposite, everything checked and nothing converted, so we run the first stage by itself
// and walk its tokens once (scanner.h). The tokens are the whole interface: nothing else of simdjson
// is used for a line, and a mistake in them can make a good line bad but never lets a bad one through, because
// the scanner looks at every byte between two tokens.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string_view>

namespace pleat::inline v0_1 {

class Tokenizer {
 public:
  Tokenizer();
  ~Tokenizer();

  // Finds the tokens of `line`, of at most kLineBytesMax bytes. Returns why there are none, or
  // nothing. `tokens()` holds offsets into the line, and after the last one the line's size.
  std::string_view Index(std::string_view line) noexcept;

  // Offsets of the tokens, then the size of the line.
  std::span<const uint32_t> tokens() const noexcept { return tokens_; }

 private:
  struct Stage;

  void Reserve(size_t line_bytes) noexcept;

  std::unique_ptr<Stage> stage_;
  size_t capacity_ = 0;
  std::span<const uint32_t> tokens_;
};

// Whether `text` is valid UTF-8.
bool IsUtf8(std::string_view text) noexcept;

}  // namespace pleat::inline v0_1
