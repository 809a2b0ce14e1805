// Restarts: a service that is killed and started again loses nothing, and publishes nothing else
// under an id that was seen.
//
//   10_restart DIRECTORY [KILLED_AT]
//
// Reads a log of 10,000 edits, folds the edits of each page, and publishes the results.
// Every 1,000 edits it takes a snapshot. With KILLED_AT it dies at that edit, in the midst of
// everything. Started again, it goes on from the newest snapshot: the log tells it again what came
// after that, and it publishes some emissions again, under the ids that they had.
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <map>
#include <string>
#include <vector>

#include <pleat/engine.h>
#include <pleat/folder.h>
#include <pleat/state_directory.h>

using namespace std::chrono_literals;

constexpr uint64_t kEdits = 10'000;
constexpr uint64_t kTheLog = 1;  // the number of the source, the same in each run
const pleat::EngineTime kNoon = pleat::FromUnix(1'700'049'600s);

struct Edit {
  int64_t added;
};

struct Edits {
  int64_t count = 0;
  int64_t added = 0;

  void Fold(const Edit& edit) noexcept {
    ++count;
    added += edit.added;
  }
  template <class F>
  void Stored(F& f) {
    f(count, added);
  }
};

// One edit a second; some pages are edited more often than others.
std::string PageOf(uint64_t edit) { return "page " + std::to_string(edit * edit % 97); }

// Each line is one emission: its id, and what it says.
void Publish(std::ofstream& out, const pleat::Emission<Edits>& emission) {
  out << emission.id.partition << "-" << emission.id.generation << " " << emission.key << " "
      << emission.state.count << std::endl;
}

// What readers of the published lines have, who know each id once.
int Report(const std::string& published) {
  std::map<std::string, std::string> said;  // by id
  std::ifstream in(published);
  int64_t count = 0;
  for (std::string id, text; in >> id && std::getline(in, text);) {
    const auto [line, is_new] = said.try_emplace(id, text);
    if (!is_new && line->second != text) return std::puts("an id means two things"), 1;
    if (is_new) count += std::stoll(text.substr(text.rfind(' ')));
  }
  std::printf("%lld edits of %llu, each once\n", static_cast<long long>(count),
              static_cast<unsigned long long>(kEdits));
  return count == kEdits ? 0 : 1;
}

int main(int argc, char** argv) {
  if (argc < 2) return std::puts("10_restart DIRECTORY [KILLED_AT]"), 2;
  const std::string path = argv[1];
  const uint64_t killed_at = argc > 2 ? std::strtoull(argv[2], nullptr, 10) : UINT64_MAX;

  // The log is read by one thread and says the same each time: so ids come to mean the same again.
  auto directory = pleat::StateDirectory::Open(path, {.repeats = true});
  if (!directory.ok()) return std::puts(std::string(directory.status().message()).c_str()), 1;
  auto engine = *pleat::Engine::Open({.partitions = 4, .axis = pleat::Axis::kEvent});
  pleat::Folder<Edit, Edits> edits(*engine, "edits", {.quiet_period = 1min, .max_wait = 10min});
  auto found = (*directory)->Recover(*engine);
  if (!found.ok()) return std::puts(std::string(found.status().message()).c_str()), 1;

  std::ofstream out(path + ".published", std::ios::app);
  uint64_t next = engine->SourcePositionOf(kTheLog, 0);
  std::printf("going on at edit %llu\n", static_cast<unsigned long long>(next));
  std::fflush(stdout);
  while (next < kEdits) {
    if (next >= killed_at) std::_Exit(1);
    std::vector<std::string> pages;
    for (uint64_t i = 0; i < 100; ++i) pages.push_back(PageOf(next + i));
    std::vector<pleat::KeyedEvent<Edit>> batch;
    for (uint64_t i = 0; i < 100; ++i) {
      batch.push_back({pages[i], kNoon + std::chrono::seconds(next + i), {.added = 1}});
    }
    edits.FoldBatch(batch, {}, {}, pleat::SourcePosition{.source = kTheLog, .offset = next});
    next += batch.size();
    for (const auto& emission : edits.Pop(SIZE_MAX)) Publish(out, emission);
    if (next % 1000 != 0) continue;
    if (const auto taken = (*directory)->TakeSnapshot(*engine); !taken.ok()) {
      std::puts(std::string(taken.message()).c_str());  // the one before is whole; go on
    }
  }
  edits.CloseAll();
  for (const auto& emission : edits.Pop(SIZE_MAX)) Publish(out, emission);
  return Report(path + ".published");
}
