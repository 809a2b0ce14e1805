// Folds a struct, and calls all of the core that is not a template, so that with shared libraries a
// class or function that lacks PLEAT_EXPORT fails to link here.
#include <cstdint>

#include <pleat/batch.h>
#include <pleat/folder.h>

using namespace std::chrono_literals;

struct Count {
  int64_t n = 0;
  void Fold(const int& by) noexcept { n += by; }
};

int main() {
  const pleat::EngineTime at = pleat::FromUnix(1s);
  auto engine = *pleat::Engine::Open({.partitions = 2});
  pleat::Folder<int, Count> folder(*engine, "counts", {.quiet_period = 5min, .max_wait = 1h});
  for (const char* key : {"popped", "popped", "flushed", "cancelled", "last"}) {
    static_cast<void>(folder.Fold(key, 1, at));
  }
  bool good = folder.Peek("popped")->state.n == 2;
  good = folder.Flush("flushed") && folder.Cancel("cancelled") && good;
  good = engine->NextDeadline().has_value() && engine->Advance(at + 1s, 100) && good;
  folder.CloseAll();
  const int home = pleat::PartitionOf("last", engine->partitions());
  good = !folder.Pop(1, pleat::PartitionRange::One(home)).empty() && good;
  good = folder.PopExpired(at + 6min, 10).size() == 2 && good;
  engine->Stop();
  good = folder.Fold("late", 1, engine->now()) == pleat::FoldOutcome::kStopped && good;
  good = folder.sizes().open_groups == 0 && folder.ledger().popped == 3 && good;
  return good && engine->axis() == pleat::Axis::kArrival ? 0 : 1;
}
