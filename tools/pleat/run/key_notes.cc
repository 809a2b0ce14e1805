#include "tools/pleat/run/key_notes.h"

#include <utility>

#include "tools/pleat/errno_status.h"
#include "tools/pleat/run/message_output.h"

namespace pleat::cli {

std::string KeyNotes::Look(std::span<const Message> messages, int partitions,
                           absl::FunctionRef<bool(int, std::string_view)> may_hold) {
  if (partitions == 0) return {};
  const int before = std::exchange(partitions_, partitions);
  if (before != 0 && before != partitions) {
    return "the topic has " + std::to_string(partitions) + " partitions, and had " +
           std::to_string(before) +
           ": a key that has moved gets two groups once, and is in one partition from then on";
  }
  if (elsewhere_said_) return {};
  for (const Message& each : messages) {
    const std::string key = PlainKey(each.key);
    const bool is_one = !key.empty() && std::string_view("\"[{").find(key[0]) == std::string::npos;
    if (each.stream == kEmittedStream || !is_one || may_hold(each.id.partition, key)) continue;
    elsewhere_said_ = true;
    return "the key " + Printable(key) + " was in partition " + std::to_string(each.id.partition) +
           " of " + std::to_string(partitions) +
           ", where no producer puts records with that key: if records have other keys, or none, "
           "or partitions were added, a key has a group in each of several partitions. Let "
           "producers use the key that is folded by, or let one run write its lines into a topic, "
           "by --output-topic, and another one fold that; further keys are not told";
  }
  return {};
}

}  // namespace pleat::cli
