// What `pleat run` says about the keys of a topic. A group is of the records of one partition, so all
// records of a key have to be in one: as they are where the key that is folded by is the record's.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include <absl/functional/function_ref.h>
#include <pleat/processor.h>

namespace pleat::cli {

class KeyNotes {
 public:
  // What is to be said now; empty: nothing. `partitions`: of the topic; 0: not known yet. `may_hold`:
  // whether producers put a key into a partition. Only keys that are one text or number are looked at,
  // as others are written in many ways.
  std::string Look(std::span<const Message> messages, int partitions,
                   absl::FunctionRef<bool(int partition, std::string_view key)> may_hold);

 private:
  int partitions_ = 0;
  bool elsewhere_said_ = false;
};

}  // namespace pleat::cli
