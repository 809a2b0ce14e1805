// Snapshots: any bytes, their checksums put right, restored into an engine with a collection of
// every kind. Claims:
//   - Bytes are refused, or make an engine whose books are whole.
//   - A refused engine is as it was: a snapshot of it has the same bytes as before.
//   - A snapshot that was restored can be taken and restored again: the same bytes come of it.
//   - The engine that was restored stands every kind of call.
//   - Whoever only checks the blocks does not refuse what can be restored.
// The limits of the fuzzer bound its memory and time.
//
// The input: a byte that chooses the engine, the blocks.
#include <algorithm>
#include <cstdint>
#include <cstring>
#include <random>
#include <string>
#include <string_view>
#include <vector>

#include "fuzz/repaired_blocks.h"
#include "fuzz/target.h"
#include "tests/support/every_collection.h"

namespace pleat_fuzz {
namespace {

pleat::LifeChoice ChoiceOf(uint8_t byte) {
  return {.axis = (byte & 1) != 0 ? pleat::Axis::kEvent : pleat::Axis::kArrival,
          .rich = (byte & 2) != 0,
          .distinct = (byte & 2) != 0};
}

void ExpectNamed(const absl::Status& refused, std::string_view bytes) {
  const bool is_named = absl::IsDataLoss(refused) || absl::IsFailedPrecondition(refused) ||
                        absl::IsUnimplemented(refused);
  FUZZ_EXPECT(is_named && !refused.message().empty(), bytes);
}

void CheckHead(std::string_view bytes, bool restored) {
  pleat::StringSource whole(bytes);
  const absl::Status checked = pleat::CheckSnapshot(whole).status();
  pleat::StringSource beginning(bytes);
  const absl::Status read = pleat::ReadSnapshotInfo(beginning).status();
  FUZZ_EXPECT(checked.ok() || !restored, bytes);
  FUZZ_EXPECT(read.ok() || !checked.ok(), bytes);
  if (!checked.ok()) ExpectNamed(checked, bytes);
}

}  // namespace
}  // namespace pleat_fuzz

// Of libFuzzer. The program that replays a corpus has none, and mutates nothing.
extern "C" __attribute__((weak)) size_t LLVMFuzzerMutate(uint8_t* data, size_t size, size_t max);

// Changes one block, mostly one with books: what is wrong in the head is refused before any of them.
extern "C" size_t LLVMFuzzerCustomMutator(uint8_t* data, size_t size, size_t max, unsigned seed);
extern "C" size_t LLVMFuzzerCustomMutator(uint8_t* data, size_t size, size_t max, unsigned seed) {
  using namespace pleat_fuzz;
  std::minstd_rand random(seed);
  const std::vector<RawBlock> blocks = BlocksIn(TextOf(data, size));
  if (size == 0 || blocks.empty() || random() % 16 == 0) return LLVMFuzzerMutate(data, size, max);
  size_t chosen = random() % blocks.size();
  for (int tries = 0; tries < 3 && blocks[chosen].kind != pleat::BlockKind::kPart; ++tries) {
    chosen = random() % blocks.size();
  }
  const std::string_view payload = blocks[chosen].payload;
  const auto begin = static_cast<size_t>(payload.data() - reinterpret_cast<const char*>(data));
  const size_t behind = size - begin - payload.size();
  std::vector<uint8_t> changed(std::min(payload.size() + 64, max - begin - behind));
  if (changed.empty()) return LLVMFuzzerMutate(data, size, max);
  std::memcpy(changed.data(), payload.data(), payload.size());
  const size_t now = LLVMFuzzerMutate(changed.data(), payload.size(), changed.size());
  std::memmove(data + begin + now, data + begin + payload.size(), behind);
  std::memcpy(data + begin, changed.data(), now);
  return begin + now + behind;
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace pleat_fuzz;
  if (size == 0) return 0;
  const pleat::LifeChoice choice = ChoiceOf(data[0]);
  const bool skips = (data[0] & 4) != 0;
  const std::string_view text = TextOf(data + 1, size - 1);
  CheckHead(text, false);
  const std::string bytes = RepairedBlocks(text);

  pleat::EveryCollection all(choice);
  const std::string before = all.Snapshot();
  const absl::Status restored = all.Restore(bytes);
  CheckHead(bytes, restored.ok());
  if (!restored.ok()) {
    ExpectNamed(restored, bytes);
    FUZZ_EXPECT_SAME(all.Snapshot(), before, bytes);
    return 0;
  }
  all.CheckAll();
  const std::string saved = all.Snapshot();
  pleat::EveryCollection again(choice);
  const absl::Status restored_again = again.Restore(saved);
  FUZZ_EXPECT(restored_again.ok(), MessageOf(restored_again));
  FUZZ_EXPECT_SAME(again.Snapshot(), saved, bytes);
  if (skips) {
    pleat::EveryCollection skipping(choice);
    FUZZ_EXPECT(skipping.Restore(saved, uint64_t{1} << 32).ok(), bytes);
    skipping.Survive();
  }
  all.Survive();
  pleat::EveryCollection last(choice);
  const absl::Status restored_last = last.Restore(all.Snapshot());
  FUZZ_EXPECT(restored_last.ok(), MessageOf(restored_last));
  return 0;
}
