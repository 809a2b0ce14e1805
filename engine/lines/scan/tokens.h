// Where the tokens of a line start. The scanner (scanner.h) walks over them.
//
// A token is one of { } [ ] : , outside a string, or a string with its quotes, or a run of other
// bytes:
//
//   {"a b":[1, true]}
//   ^^    ^^^^ ^   ^^
//
// Two classes find them. The fast one runs the first of simdjson's two stages by itself, at
// gigabytes a second (fast_tokenizer.cc). The plain one is a loop over the bytes, for builds where
// simdjson is absent or has changed, and for machines where simdjson has no vector instructions to
// use (plain_tokenizer.cc). A test and a fuzz target hold them against each other.
//
// The scanner checks everything about a line except three properties, for which it trusts the
// tokenizer: the line is UTF-8, every string is closed, and no string contains a raw control
// character. It also trusts that the byte before the next token, white space aside, ends the
// present one. So a tokenizer that is wrong here would let invalid lines through. Three checks guard
// the fast one: the version of simdjson and a probe when the build is configured
// (cmake/PleatTokenizer.cmake), and CheckTokenizer() at its first use in a process.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string_view>

namespace pleat::inline v0_1 {

class Tokenizer {
 public:
  Tokenizer() = default;
  Tokenizer(const Tokenizer&) = delete;
  Tokenizer& operator=(const Tokenizer&) = delete;
  virtual ~Tokenizer() = default;

  // Finds the tokens of `text`, one line or several. Returns why it has none (see reasons.h), or
  // nothing. REQUIRES: kLinePaddingBytes readable bytes follow the text, which is below 4 GiB.
  virtual std::string_view Index(std::string_view text) noexcept = 0;

  // After a successful Index(), until the next: the offset of each token, then the size of the
  // text.
  std::span<const uint32_t> tokens() const noexcept { return tokens_; }

 protected:
  std::span<const uint32_t> tokens_;
};

// The fast tokenizer if this build and this machine have it, else the plain one.
std::unique_ptr<Tokenizer> MakeTokenizer();

// Null on a machine without the vector instructions that simdjson knows, such as SSE4.2 or NEON.
// Absent from a library that was configured with PLEAT_PLAIN_TOKENIZER=ON.
std::unique_ptr<Tokenizer> MakeFastTokenizer();
std::unique_ptr<Tokenizer> MakePlainTokenizer();

// Runs a tokenizer on texts whose tokens are known, and on texts that have none. Returns the first
// surprise as a sentence, or nothing.
std::string_view CheckTokenizer(Tokenizer& tokenizer) noexcept;

}  // namespace pleat::inline v0_1
