// What a folder comes to at its limit on bytes, if what waits to be popped does not count against
// that: the same whenever somebody looks or pops, and however the lines are cut into texts.
#include <random>
#include <string>
#include <vector>

#include <gtest/gtest.h>
#include <pleat/json.h>

namespace pleat {
namespace {

using namespace std::chrono_literals;
using Random = std::mt19937_64;

uint64_t Below(Random& random, uint64_t end) { return random() % end; }

// Keys that come and go, with values of all sizes; now and then nothing happens for a while.
std::vector<std::string> RandomLines(Random& random) {
  std::vector<std::string> lines;
  int64_t time = 1'000;
  for (int i = 0; i < 1'500; ++i) {
    time += Below(random, 40) == 0 ? 100 : Below(random, 3) == 0 ? 1 : 0;
    const int64_t late = Below(random, 10) == 0 ? static_cast<int64_t>(Below(random, 30)) : 0;
    lines.push_back(R"({"k":)" + std::to_string(Below(random, 60)) + R"(,"t":)" +
                    std::to_string(time - late) + R"(,"id":)" + std::to_string(Below(random, 900)) +
                    R"(,"end":)" + (Below(random, 20) == 0 ? "1" : "0") + R"(,"v":")" +
                    std::string(1 << Below(random, 11), 'v') + "\"}\n");
  }
  return lines;
}

FoldSpec RandomSpec(Random& random) {
  FoldSpec spec;
  spec.folder.limits.count_ready = false;
  spec.event.key = {{.name = "k", .path = "k"}};
  spec.event.time = "t";
  spec.event.time_unit = TimeUnit::kSeconds;
  spec.folder.quiet_period = 20s;
  spec.raw = 1 + Below(random, 50);
  spec.merges = {{.name = "d", .reducer = Reducer::kDistinct, .path = "v"}};
  spec.emission_id = true;
  spec.folder.limits.max_bytes = 2'000 << Below(random, 6);
  if (Below(random, 2) == 0) spec.folder.limits.on_limit = OnLimit::kEmitOldest;
  if (Below(random, 3) == 0) spec.folder.limits.max_groups = 1 + Below(random, 40);
  if (Below(random, 3) == 0) spec.folder.quiet_floor = 2s;
  if (Below(random, 3) == 0) spec.folder.max_hold = 25s;
  if (Below(random, 3) == 0) spec.folder.max_events = 2 + Below(random, 5);
  if (Below(random, 3) == 0) {
    spec.marks.end_when = {
        .kind = Condition::Kind::kEqual, .path = "end", .value = "1", .parts = {}};
  }
  switch (Below(random, 4)) {
    case 0: spec.folder.edge = Edge::kLeading; break;
    case 1: spec.folder.edge = Edge::kBoth; [[fallthrough]];
    case 2: spec.folder.partial_every = 7s; break;
    default: break;
  }
  switch (Below(random, 4)) {
    case 0:
      spec.folder.late.accept_limit = 10s;
      spec.marks.id = "id";
      break;
    case 1:
      spec.folder.late.accept_limit = 10s;
      spec.folder.late.on_late = OnLate::kCorrect;
      break;
    default: break;
  }
  return spec;
}

struct Outcome {
  std::string out;
  std::vector<std::string> unusual;
  Ledger ledger;

  friend bool operator==(const Outcome&, const Outcome&) = default;
};

// Folds `lines` in texts of up to `at_once`, and in a third of the places between them somebody
// looks, and pops.
Outcome Fold(const FoldSpec& spec, const std::vector<std::string>& lines, size_t at_once,
             uint64_t seed) {
  Random random(seed);
  Outcome outcome;
  auto engine = *Engine::Open(EngineOptionsFor(spec.event));
  auto folder = *JsonFolder::Open(*engine, "f", spec);
  for (size_t line = 0; line < lines.size();) {
    const size_t end = std::min(lines.size(), line + 1 + Below(random, at_once));
    const size_t begin = line;
    std::string text;
    for (; line < end; ++line) text += lines[line];
    const size_t bytes = text.size();
    text.append(kLinePaddingBytes, ' ');
    folder->FoldLines(
        std::string_view(text).substr(0, bytes), kBeginningOfTime, [&](const UnusualLine& unusual) {
          outcome.unusual.push_back(std::to_string(begin + unusual.index) + " " +
                                    std::to_string(static_cast<int>(unusual.result.fold)));
          return true;
        });
    if (Below(random, 3) == 0) engine->Advance(engine->now());
    if (Below(random, 3) == 0) folder->Pop(1 + Below(random, 100), outcome.out);
  }
  folder->CloseAll();
  folder->Pop(SIZE_MAX, outcome.out);
  outcome.ledger = folder->ledger();
  return outcome;
}

TEST(JsonMemoryLimit, NeitherTextsNorPopsShow) {
  uint64_t refused = 0;
  uint64_t emitted = 0;
  for (uint64_t seed = 1; seed <= 80; ++seed) {
    Random random(seed);
    const std::vector<std::string> lines = RandomLines(random);
    const FoldSpec spec = RandomSpec(random);
    const Outcome one_by_one = Fold(spec, lines, 1, seed);
    for (const size_t at_once : {10, 2'000}) {
      const Outcome other = Fold(spec, lines, at_once, seed + 1);
      ASSERT_TRUE(other == one_by_one)
          << "seed " << seed << ", " << at_once << " lines at once: refused "
          << other.ledger.refused << " and " << one_by_one.ledger.refused << ", partial "
          << other.ledger.partial << " and " << one_by_one.ledger.partial;
    }
    refused += one_by_one.ledger.refused_for_bytes;
    emitted += one_by_one.ledger.emissions[IndexOf(Reason::kLimit)];
    if (spec.folder.limits.on_limit == OnLimit::kEmitOldest && spec.marks.id.empty()) {
      ASSERT_EQ(one_by_one.ledger.refused, 0u) << "seed " << seed;
    }
  }
  EXPECT_GT(refused, 500u);
  EXPECT_GT(emitted, 500u);
}

}  // namespace
}  // namespace pleat
