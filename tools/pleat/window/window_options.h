// The options of `pleat window`.
#pragma once

#include <vector>

#include <pleat/json_window.h>
#include <pleat/time.h>

#include "tools/pleat/engine_job.h"

namespace pleat::cli {

// The key, the time and --max-memory are in the FoldSpec of the JobOptions; see SpecOf().
struct WindowRunOptions : EngineJobOptions {
  WindowSpec window;

  bool changes = false;  // said that changes are wanted, as they are in any case without `every`
  bool refreshes = false;
  Duration every{0};  // 0: changes instead of counts
  std::vector<WithinSpan> within;
  int top = 0;  // 0: all series

  bool prints_counts() const { return every > Duration{0}; }
};

// How many lines are added before their changes are taken.
inline constexpr size_t kLinesAtOnce = 512;

// All that the library has to know.
inline WindowSpec SpecOf(const WindowRunOptions& options) {
  // Each line makes three changes at most: one member ends for it, it adds another, and that ends
  // before changes are taken. Where members make room, one line of 1 MiB drops less than 20,000 for its
  // own memory. Kept changes do not count against --max-memory.
  constexpr size_t kOfLines = 3 * kLinesAtOnce;
  constexpr size_t kOfLongLine = 20'000;
  WindowSpec spec = options.window;
  spec.event = options.spec.event;
  spec.window.limits.max_bytes = options.spec.folder.limits.max_bytes;
  const bool drops = spec.window.limits.on_limit == OnWindowLimit::kDropOldest;
  spec.window.max_changes = kOfLines + (drops ? kOfLongLine : 0);
  return spec;
}

}  // namespace pleat::cli
