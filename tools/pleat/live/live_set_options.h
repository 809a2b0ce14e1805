// The options of `pleat live`.
#pragma once

#include <vector>

#include <pleat/json_live_set.h>
#include <pleat/time.h>

#include "tools/pleat/engine_job.h"

namespace pleat::cli {

// The key, the time and --max-memory are in the JobOptions; see SpecOf().
struct LiveSetRunOptions : EngineJobOptions {
  LiveSetSpec live_set;

  bool changes = false;  // said that changes are wanted, as they are in any case without `every`
  bool refreshes = false;
  Duration every{0};  // 0: changes instead of counts
  std::vector<WithinSpan> within;
  int top = 0;  // 0: all series

  bool prints_counts() const { return every > Duration{0}; }
};

// How many lines are added before their changes are taken.
inline constexpr size_t kLinesAtOnce = 512;

// The spec for the library.
inline LiveSetSpec SpecOf(const LiveSetRunOptions& options) {
  // Each line makes three changes at most: one member ends for it, it adds another, and that ends
  // before changes are taken. Where members make room, one line of 1 MiB drops less than 20,000 for its
  // own memory. Kept changes do not count against --max-memory.
  constexpr size_t kOfLines = 3 * kLinesAtOnce;
  constexpr size_t kOfLongLine = 20'000;
  LiveSetSpec spec = options.live_set;
  spec.event = options.event;
  spec.live_set.limits.max_bytes = options.collection_memory();
  const bool drops = spec.live_set.limits.on_limit == OnLiveSetLimit::kDropOldest;
  spec.live_set.max_changes = kOfLines + (drops ? kOfLongLine : 0);
  return spec;
}

}  // namespace pleat::cli
