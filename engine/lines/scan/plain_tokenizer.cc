// The tokenizer without simdjson: one loop over the bytes of a text.
//
// Tokens and reasons are those of the fast tokenizer on x86-64, also for texts that are
// not JSON, so that an invalid line is reported in the same words. Two habits come from there:
//   - a backslash escapes the next byte wherever it stands, so that \" opens no string;
//   - the control characters 0x0c and 0x1a are tokens outside strings, as , and : are (simdjson
//     compares bytes with one bit masked). No token of JSON looks so, and the scanner refuses them.
#include <vector>

#include "engine/base/check.h"
#include "engine/base/utf8.h"
#include "engine/lines/scan/reasons.h"
#include "engine/lines/scan/text.h"
#include "engine/lines/scan/tokens.h"

namespace pleat::inline v0_1 {
namespace {

constexpr bool IsMark(char c) noexcept {
  return c == '{' || c == '}' || c == '[' || c == ']' || c == ':' || c == ',' || c == '\x0c' ||
         c == '\x1a';
}

class PlainTokenizer final : public Tokenizer {
 public:
  std::string_view Index(std::string_view text) noexcept override;

 private:
  struct End {
    size_t tokens = 0;
    bool in_string = false;
    bool control = false;  // in some string
  };
  End FindTokens(std::string_view text) noexcept;

  std::vector<uint32_t> offsets_;  // only grows
};

std::string_view PlainTokenizer::Index(std::string_view text) noexcept {
  PLEAT_DCHECK(text.size() < UINT32_MAX);
  if (offsets_.size() <= text.size()) offsets_.resize(text.size() + 1);
  const End end = FindTokens(text);
  if (end.in_string) return invalid_line::kUnclosedString;
  if (end.control) return invalid_line::kControl;
  if (end.tokens == 0) return invalid_line::kNotIndexed;
  if (!IsUtf8(text)) return invalid_line::kNotUtf8;
  offsets_[end.tokens] = static_cast<uint32_t>(text.size());
  tokens_ = {offsets_.data(), end.tokens + 1};
  return {};
}

PlainTokenizer::End PlainTokenizer::FindTokens(std::string_view text) noexcept {
  End end;
  bool escaped = false;  // by the byte before
  bool in_word = false;  // the byte before belongs to a token that is neither a mark nor a string
  for (size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    const bool quote = c == '"' && !escaped;
    escaped = c == '\\' && !escaped;
    if (end.in_string) {
      end.control |= static_cast<unsigned char>(c) < ' ';
      end.in_string = !quote;
      continue;
    }
    const bool mark = IsMark(c);
    const bool word = !mark && !IsJsonSpace(c);
    if (mark || (word && !in_word)) offsets_[end.tokens++] = static_cast<uint32_t>(i);
    in_word = word && !quote;
    end.in_string = quote;
  }
  return end;
}

}  // namespace

std::unique_ptr<Tokenizer> MakePlainTokenizer() { return std::make_unique<PlainTokenizer>(); }

}  // namespace pleat::inline v0_1
