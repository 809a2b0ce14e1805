// The error for an option out of range, which names the option and says what it must be.
#pragma once

#include <string>
#include <string_view>

#include <absl/status/status.h>

namespace pleat::inline v0_1 {

inline absl::Status OutOfRange(std::string_view option, std::string_view must) {
  return absl::InvalidArgumentError(std::string(option) + ": must be " + std::string(must));
}

}  // namespace pleat::inline v0_1
