// An errno as a Status whose message a person can read: "events.ndjson: No such file or directory".
#pragma once

#include <cstring>
#include <string>
#include <string_view>

#include <absl/status/status.h>
#include <pleat/json_lines.h>

namespace pleat::cli {

// One that could rewrite a terminal.
inline bool IsControl(char c) { return static_cast<unsigned char>(c) < 0x20 || c == 0x7f; }

// A name for messages: control characters become '?'.
inline std::string Printable(std::string_view name) {
  std::string out(name);
  for (char& c : out) {
    if (IsControl(c)) c = '?';
  }
  return out;
}

// A name or a path of the user's in quotes, for messages.
inline std::string InQuotes(std::string_view text) {
  std::string quoted;
  AppendJsonString(Printable(text), quoted);
  return quoted;
}

inline absl::Status ErrnoStatus(int error, std::string_view name) {
  return absl::UnavailableError(Printable(name) + ": " + std::strerror(error));
}

}  // namespace pleat::cli
