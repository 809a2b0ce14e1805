// What users may leave out, with every compiler: an include, the type of a list in braces, a
// variable for a handle.
#include <pleat/folder.h>
#include <pleat/live_set.h>
#include <pleat/rollup.h>
#include <pleat/stats.h>

struct State {
  void Fold(const int&) noexcept {}
};
using Folder = pleat::Folder<int, State>;

uint64_t Measured(const Folder& folder) {
  const auto stats = folder.gap_stats();
  return stats ? stats->events : 0;
}

bool IsOver(pleat::LeaseTime until, pleat::LeaseTime now) { return until <= now && until != now; }

void Mark(Folder& folder, pleat::LiveSet<>& live_set, pleat::RollupCounter& counter) {
  folder.FoldBatch({}, {}, {}, {.source = 7, .offset = 1'000});
  live_set.AddBatch({}, {}, {}, {.source = 7, .offset = 1'000});
  counter.AddBatch({}, {}, {}, {.source = 7, .offset = 1'000});
  folder.FoldBatch({}, {}, {}, {});
  folder.FoldBatch({}, {}, {}, std::nullopt);
  folder.FoldBatch({}, {}, {}, pleat::SourcePosition{.source = 7, .offset = 1'000});
}

void Listen(const Folder& folder, const pleat::LiveSet<>& live_set,
            pleat::EmissionListener& of_folder, pleat::ChangeListener& of_live_set) {
  folder.any().AddListener(of_folder, {});
  folder.any().Flush("key", folder.any().now());
  live_set.any().AddListener(of_live_set, {});
}
