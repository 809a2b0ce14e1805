// The options of `pleat store`.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include <pleat/time.h>

#include "tools/pleat/flag_value.h"
#include "tools/pleat/store/store_place.h"

namespace pleat::cli {

struct StoreOptions {
  std::optional<int> partition;
  std::optional<std::string> key;
  StorePlace from;
  StorePlace to;
  bool follow = false;
  std::string output = "-";
  std::string move;         // a consumer
  std::string remove;       // the same
  Duration keep{0};         // 0: not given
  uint64_t keep_bytes = 0;  // 0: no bound
  bool ignore_consumers = false;

  bool json = false;
  bool help = false;
};

}  // namespace pleat::cli
