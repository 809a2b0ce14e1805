// A record that cannot be an event, on its way through lines of JSON.
//
// It becomes a line that no reader of JSON takes, so that it is counted, reported and kept like any
// other invalid line, at its place: a NUL, the reason, a NUL, the record with its newlines escaped.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace pleat::cli {

struct RefusedRecord {
  std::string_view reason;
  std::string record;  // as it came, but no more of it than kRefusedBytesKept
};

inline constexpr size_t kRefusedBytesKept = size_t{256} << 10;

// Appends the line, without a newline behind it. REQUIRES: the reason is plain text.
void AppendRefused(std::string_view reason, std::string_view record, std::string& out);

// What such a line says; nothing if it is another line.
std::optional<RefusedRecord> ReadRefused(std::string_view line);

}  // namespace pleat::cli
