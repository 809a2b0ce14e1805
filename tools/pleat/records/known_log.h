// Logs that a line of theirs gives away, whatever it was read as.
#pragma once

#include <optional>
#include <string_view>

namespace pleat::cli {

struct KnownLog {
  std::string_view looks_like;
  std::string_view input;  // the text of --input
};

std::optional<KnownLog> KnownLogOf(std::string_view line);

}  // namespace pleat::cli
