// Records of other formats as texts that a test can compare.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <random>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "tests/cli/fixtures.h"
#include "tools/pleat/records/input_format.h"
#include "tools/pleat/records/refused_record.h"

namespace pleat::cli {

using Lines = std::vector<std::string>;

// A line of JSON, or why there is none and what came, behind the line of the input.
inline std::string Shown(uint64_t input_line, std::string_view line) {
  const std::string at = std::to_string(input_line) + ": ";
  const std::optional<RefusedRecord> refused = ReadRefused(line);
  if (!refused) return at + std::string(line);
  return at + "! " + std::string(refused->reason) + " | " + refused->record;
}

// What the input in `source` becomes; behind its lines, the error in brackets if there is one.
inline Lines ShownLines(InputFormat format, std::unique_ptr<ByteSource> source,
                        UnfinishedEnd end = UnfinishedEnd::kTaken, const TableOptions& table = {}) {
  LineMap map;
  const auto converted = ConvertedInput(format, std::move(source), "in", map, end, table);
  std::string text = ReadAll(*converted, 100);
  Lines lines;
  for (uint64_t number = 1; !text.empty(); ++number) {
    const size_t size = std::min(text.find('\n'), text.size());
    const std::string line = text.substr(0, size);
    const bool error = line.starts_with('[');
    lines.push_back(error ? line : Shown(map.InputLineOf(number), line));
    text.erase(0, size + 1);
  }
  return lines;
}

inline Lines Convert(InputFormat format, std::string text, size_t at_once = SIZE_MAX,
                     const TableOptions& table = {}) {
  return ShownLines(format, std::make_unique<TextSource>(std::move(text), at_once),
                    UnfinishedEnd::kTaken, table);
}

inline Lines Csv(std::string text) { return Convert(InputFormat::kCsv, std::move(text)); }

// A text of pieces that mean something.
template <size_t N>
std::string Draw(std::mt19937_64& random, const char* const (&pieces)[N]) {
  std::string text;
  for (uint64_t i = 0, count = random() % 30; i < count; ++i) text += pieces[random() % N];
  return text;
}

}  // namespace pleat::cli
