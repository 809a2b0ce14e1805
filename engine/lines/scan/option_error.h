// Errors of options: the message says what is wrong with the value, and OptionError() names the option.
#pragma once

#include <string>
#include <string_view>

#include <absl/status/status.h>

namespace pleat::inline v0_1 {

inline absl::Status Wrong(std::string_view message) {
  return absl::InvalidArgumentError(std::string(message));
}

// "--option: message"
inline absl::Status OptionError(std::string_view option, std::string_view message) {
  return Wrong("--" + std::string(option) + ": " + std::string(message));
}
inline absl::Status OptionError(std::string_view option, const absl::Status& error) {
  return OptionError(option, std::string(error.message()));
}

}  // namespace pleat::inline v0_1
