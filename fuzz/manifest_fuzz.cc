// The MANIFEST of a state directory: any bytes, their checksum put right or not, in a directory
// in memory. Claims:
//   - Open() refuses by name, or the directory works: a first engine recovers, a snapshot is taken,
//     and after a restart it is found.
//   - A refused directory is as it was.
//
// The input: a byte, whether the checksum is put right; the file.
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include <pleat/folder.h>
#include <pleat/state_directory.h>

#include "fuzz/repaired_blocks.h"
#include "fuzz/target.h"
#include "tests/support/faulty_storage.h"
#include "tests/support/start.h"

namespace pleat_fuzz {
namespace {

constexpr std::string_view kPath = "/state";
constexpr const char* kManifest = "/state/MANIFEST";

struct Number {
  int64_t value;
};
struct Sum {
  int64_t sum = 0;
  void Fold(const Number& number) noexcept { sum += number.value; }
  template <class F>
  void Stored(F& f) {
    f(sum);
  }
};

struct Service {
  explicit Service(pleat::FaultyStorage& storage)
      : engine(
            pleat::Engine::Open({.partitions = 1, .huge_pages = pleat::HugePages::kOff}).value()),
        sums(*engine, "sums",
             {.quiet_period = std::chrono::minutes(1), .max_wait = std::chrono::hours(1)}),
        directory(pleat::StateDirectory::Open(kPath, {.storage = &storage})) {}

  std::unique_ptr<pleat::Engine> engine;
  pleat::Folder<Number, Sum> sums;
  absl::StatusOr<std::unique_ptr<pleat::StateDirectory>> directory;
};

}  // namespace
}  // namespace pleat_fuzz

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace pleat_fuzz;
  if (size == 0) return 0;
  const std::string_view text = TextOf(data + 1, size - 1);
  const std::string manifest = (data[0] & 1) != 0 ? RepairedBlocks(text) : std::string(text);

  pleat::FaultyStorage storage;
  FUZZ_EXPECT(storage.OpenDirectory(kPath, pleat::IfMissing::kCreate).ok(), kPath);
  storage.SetContent(kManifest, manifest);
  {
    Service first(storage);
    if (!first.directory.ok()) {
      const absl::Status& refused = first.directory.status();
      const bool is_of_another_version =
          absl::IsUnimplemented(refused) || absl::IsFailedPrecondition(refused);
      FUZZ_EXPECT(absl::IsDataLoss(refused) || is_of_another_version, manifest);
      FUZZ_EXPECT(MessageOf(refused).find("/state/MANIFEST") != std::string::npos, manifest);
      FUZZ_EXPECT_SAME(storage.Content(kManifest), manifest, manifest);
      FUZZ_EXPECT(storage.Paths().size() == 1, manifest);
      return 0;
    }
    FUZZ_EXPECT((*first.directory)->Recover(*first.engine).ok(), manifest);
    first.sums.Fold("key", {2}, pleat::kT0);
    FUZZ_EXPECT((*first.directory)->TakeSnapshot(*first.engine).ok(), manifest);
  }
  Service second(storage);
  FUZZ_EXPECT(second.directory.ok(), MessageOf(second.directory.status()));
  const absl::StatusOr<pleat::Recovered> found = (*second.directory)->Recover(*second.engine);
  FUZZ_EXPECT(found.ok(), MessageOf(found.status()));
  FUZZ_EXPECT(second.sums.Peek("key")->state.sum == 2, manifest);
  return 0;
}
