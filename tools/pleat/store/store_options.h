// The options of `pleat store`.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include <pleat/event_store.h>
#include <pleat/time.h>

#include "tools/pleat/flag_value.h"
#include "tools/pleat/job_options.h"
#include "tools/pleat/store/store_place.h"

namespace pleat::cli {

struct StoreOptions {
  std::optional<std::string> key;  // of `read`; of `append` the path of it

  std::optional<int> partition;
  StorePlace from;
  StorePlace to;
  bool follow = false;
  std::string output = "-";

  // Of `consumers` and `trim`.
  std::string move;               // a consumer
  std::string remove;             // the same
  Duration keep{0};               // 0: not given
  uint64_t keep_bytes = 0;        // 0: no bound
  bool ignore_consumers = false;  // of `copy` as well

  // Of `append`.
  JobOptions append;
  std::string id;                 // the path; empty: none
  std::optional<int> partitions;  // of `copy` as well
  StoreDurability durability = StoreDurability::kInterval;
  Duration max_forward_jump = EventStoreOptions().max_forward_jump;

  bool json = false;
  bool help = false;
};

}  // namespace pleat::cli
