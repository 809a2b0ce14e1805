#include "tools/pleat/flag_value.h"

#include <charconv>

namespace pleat::cli {

absl::Status WrongFlag(std::string_view name, std::string_view why) {
  return absl::InvalidArgumentError("--" + std::string(name) + ": " + std::string(why));
}

FlagValue Switch(bool& on) {
  const auto set = [&on](std::string_view name, std::string_view text) {
    if (text != "true" && text != "false") return WrongFlag(name, "must be true or false");
    on = text == "true";
    return absl::OkStatus();
  };
  return {set, [&on] { return std::string(on ? "true" : "false"); }};
}

FlagValue Number(int& number, int low, int high) {
  const auto set = [&number, low, high](std::string_view name, std::string_view text) {
    int value = 0;
    const char* const end = text.data() + text.size();
    const auto [stop, error] = std::from_chars(text.data(), end, value);
    if (error != std::errc() || stop != end || value < low || value > high) {
      return WrongFlag(name, "must be a whole number from " + std::to_string(low) + " to " +
                                 std::to_string(high));
    }
    number = value;
    return absl::OkStatus();
  };
  return {set, [&number] { return std::to_string(number); }};
}

FlagValue AboveZero(Duration& duration) {
  const auto set = [&duration](std::string_view name, std::string_view text) {
    absl::StatusOr<Duration> value = ParseDuration(text);
    if (!value.ok()) return WrongFlag(name, std::string(value.status().message()));
    if (*value <= Duration{0}) return WrongFlag(name, "must be above 0");
    duration = *value;
    return absl::OkStatus();
  };
  return {set, [&duration] { return FormatDuration(duration); }};
}

FlagValue MaybeNumber(std::optional<int>& number, int low, int high) {
  const auto set = [&number, low, high](std::string_view name, std::string_view text) {
    int read = 0;
    const absl::Status status = Number(read, low, high).set(name, text);
    if (status.ok()) number = read;
    return status;
  };
  return {set, [] { return std::string(); }};
}

FlagValue Text(std::string& to) {
  const auto set = [&to](std::string_view, std::string_view text) {
    to = text;
    return absl::OkStatus();
  };
  return {set, [&to] { return to; }};
}

std::string Alternatives(std::span<const std::string_view> names) {
  std::string text;
  for (size_t i = 0; i < names.size(); ++i) {
    if (i > 0) text += i + 1 == names.size() ? " or " : ", ";
    text += names[i];
  }
  return text;
}

FlagValue FileName(std::string& file, Dash dash) {
  const auto set = [&file, dash](std::string_view name, std::string_view text) {
    if (text.empty()) return WrongFlag(name, "needs a file name");
    if (text == "-" && dash == Dash::kRefused) {
      return WrongFlag(name, "needs a file of its own, not -");
    }
    if (text.find('\0') != std::string_view::npos) {
      return WrongFlag(name, "a file name cannot hold NUL");
    }
    file = text;
    return absl::OkStatus();
  };
  return {set, [&file] { return file; }};
}

}  // namespace pleat::cli
