// Texts that a tokenizer has to get right before it may read the lines of a user.
#include <cstddef>
#include <string>

#include "engine/lines/scan/reasons.h"
#include "engine/lines/scan/tokens.h"

namespace pleat::inline v0_1 {
namespace {

// Longer than two of the 64-byte blocks that simdjson works in. Each ^ marks the start of a token.
constexpr std::string_view kLine =
    R"( {"a" : -1.5e3 ,"b":[true,"}]:, \" \\",{ },[ ]], "\\":null,"a string past byte 64: \\\"{":0})"
    R"(, {"even at the end of a block, a quote \\\\\\\"stays escaped":"\u007b","":[ 2 ]} "last one")";
constexpr std::string_view kLineMarks =
    R"( ^^   ^ ^      ^^  ^^^   ^^           ^^ ^^^ ^^^ ^   ^^   ^^                             ^^^)"
    R"(^ ^^                                                          ^^       ^^ ^^ ^ ^^ ^         )";
static_assert(kLine.size() == kLineMarks.size());

struct Refusal {
  std::string_view text;
  std::string_view reason;
  std::string_view surprise;
};
constexpr Refusal kRefusals[] = {
    {"{\"a\":\"\xff\"}", invalid_line::kNotUtf8, "a byte that is not UTF-8 was accepted"},
    {"{\"a\":\"\xed\xa0\x80\"}", invalid_line::kNotUtf8, "an encoded surrogate was accepted"},
    {"{\"a\":\"\x01\"}", invalid_line::kControl, "a control character in a string was accepted"},
    {"{\"a\":\"\n\"}", invalid_line::kControl, "a newline in a string was accepted"},
    {"{\"a\":\"\\\n\"}", invalid_line::kControl, "a newline behind a backslash was accepted"},
    {R"({"a":"b\"})", invalid_line::kUnclosedString, "an unclosed string was accepted"},
    {" ", invalid_line::kNotIndexed, "a text without tokens was accepted"},
};

// As much padding as json.h asks for, so that no tokenizer reads past the end.
std::string Padded(std::string_view text) { return std::string(text) + std::string(64, ' '); }

std::string_view IndexCopy(Tokenizer& tokenizer, std::string_view text) {
  const std::string padded = Padded(text);
  return tokenizer.Index(std::string_view(padded).substr(0, text.size()));
}

bool FindsTheMarks(const Tokenizer& tokenizer) {
  size_t found = 0;
  for (size_t i = kLineMarks.find('^'); i != std::string_view::npos;
       i = kLineMarks.find('^', i + 1)) {
    if (found == tokenizer.tokens().size() || tokenizer.tokens()[found] != i) return false;
    ++found;
  }
  return found + 1 == tokenizer.tokens().size() && tokenizer.tokens()[found] == kLine.size();
}

}  // namespace

std::string_view CheckTokenizer(Tokenizer& tokenizer) noexcept {
  if (!IndexCopy(tokenizer, kLine).empty()) return "a good line was refused";
  if (!FindsTheMarks(tokenizer)) return "the tokens of a good line are not where they should be";
  for (const Refusal& each : kRefusals) {
    if (IndexCopy(tokenizer, each.text) != each.reason) return each.surprise;
  }
  return {};
}

}  // namespace pleat::inline v0_1
