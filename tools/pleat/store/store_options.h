// The options of `pleat store`.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include <pleat/time.h>

#include "tools/pleat/flag_value.h"

namespace pleat::cli {

// A place in a partition: an offset, or the first record that was appended at an instant or later.
struct StorePlace {
  std::optional<uint64_t> offset;
  std::optional<EngineTime> time;

  bool is_given() const { return offset || time; }
};

struct StoreOptions {
  std::optional<int> partition;
  std::optional<std::string> key;
  StorePlace from;
  StorePlace to;
  bool follow = false;
  std::string output = "-";
  bool json = false;
  bool help = false;
};

}  // namespace pleat::cli
