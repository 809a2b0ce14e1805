#include "engine/lines/scan/reasons.h"

#include <pleat/json_lines.h>

namespace pleat::inline v0_1::invalid_line {
namespace {

constexpr size_t kShownBytes = 60;

// The length of the UTF-8 sequence at the start of `text`, or 0 if there is no whole one. Overlong
// forms and surrogates pass: they are harmless in a message.
size_t SequenceLength(std::string_view text) {
  const auto lead = static_cast<unsigned char>(text[0]);
  const size_t size = lead < 0x80 ? 1 : lead < 0xc2 ? 0 : lead < 0xe0 ? 2 : lead < 0xf0 ? 3 : 4;
  if (lead > 0xf4 || size > text.size()) return 0;
  for (size_t i = 1; i < size; ++i) {
    if ((static_cast<unsigned char>(text[i]) & 0xc0) != 0x80) return 0;
  }
  return size;
}

// DEL and the C1 controls: legal in JSON strings, but a terminal may obey them.
bool IsTerminalControl(std::string_view sequence) {
  const auto first = static_cast<unsigned char>(sequence[0]);
  return first == 0x7f ||
         (first == 0xc2 && sequence.size() == 2 && static_cast<unsigned char>(sequence[1]) < 0xa0);
}

}  // namespace

std::string Shown(std::string_view text) {
  std::string shown;
  size_t used = 0;
  while (used < text.size() && used < kShownBytes) {
    const size_t size = SequenceLength(text.substr(used));
    const std::string_view sequence = text.substr(used, size);
    if (size == 0 || IsTerminalControl(sequence)) {
      shown += '?';
    } else {
      shown += sequence;
    }
    used += size == 0 ? 1 : size;
  }
  if (used < text.size()) shown += "...";
  return shown;
}

std::string Quoted(std::string_view text) {
  std::string out;
  AppendJsonString(Shown(text), out);
  return out;
}

}  // namespace pleat::inline v0_1::invalid_line
