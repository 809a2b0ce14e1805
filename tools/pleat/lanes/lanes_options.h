// The options of `pleat lanes`.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace pleat::cli {

struct LanesOptions {
  std::string store;     // a directory
  std::string consumer;  // empty: all

  // At most one of them.
  std::optional<std::string> retry;  // a key
  std::optional<std::string> drop;   // a key
  std::string revive;                // the id of a message; empty: not given
  std::string drop_message;          // the same

  std::optional<uint64_t> offset;  // of `drop`
  std::optional<int> partition;

  bool json = false;
  bool metrics = false;
  bool help = false;

  bool acts() const { return retry || drop || !revive.empty() || !drop_message.empty(); }
};

}  // namespace pleat::cli
