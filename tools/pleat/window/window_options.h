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

// All that the library has to know.
inline WindowSpec SpecOf(const WindowRunOptions& options) {
  // Changes are taken every thousand lines, each of which makes two at most. A line of 1 MiB drops less
  // than 20,000 members for its own memory. None of them counts against --max-memory.
  constexpr size_t kChangesKept = 24 * 1024;
  WindowSpec spec = options.window;
  spec.event = options.spec.event;
  spec.window.limits.max_bytes = options.spec.folder.limits.max_bytes;
  spec.window.max_changes = kChangesKept;
  return spec;
}

}  // namespace pleat::cli
