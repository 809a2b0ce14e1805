// What a lane goes on from: the metadata of a commit, and the files that they name, which are a
// snapshot, a book of held keys and one of buried messages. Claims:
//   - The lane is parked and says why, or it goes on: it handles the records behind the commit, lends
//     messages, and can be stopped in order; and what it has committed then is gone on from.
//   - Metadata that are read, written and read again are the same, also as a broker of Kafka has them.
//
// The input: a byte of flags; the offset of the commit, a byte; the metadata and three files, each
// behind two bytes of its size.
#include <algorithm>
#include <array>
#include <chrono>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <pleat/folder.h>
#include <pleat/processor.h>
#include <pleat/store_log.h>
#include <pleat/stored.h>

#ifdef PLEAT_WITH_KAFKA
#include "engine/kafka/kafka_metadata.h"
#endif
#include "engine/lanes/lane_checkpoint.h"
#include "engine/lanes/store_commit.h"
#include "fuzz/repaired_blocks.h"
#include "fuzz/target.h"
#include "tests/support/bytes.h"
#include "tests/support/start.h"

namespace pleat_fuzz {
namespace {

using pleat::kT0;
using std::chrono_literals::operator""s;

constexpr uint8_t kRepairs = 1;  // checksums are put right
constexpr uint8_t kParks = 2;    // some records are parked
constexpr uint8_t kOnKafka = 4;  // the metadata are those that a broker has
constexpr size_t kFiles = 3;
constexpr uint64_t kRecords = 12;
const std::string kKeys[] = {"a", "b", "c"};

struct Sum {
  uint64_t sum = 0;
  void Fold(uint64_t offset) noexcept { sum += offset; }
  template <class F>
  void Stored(F& f) {
    f(sum);
  }
};

class Summing final : public pleat::Handler {
 public:
  Summing(pleat::Lane& lane, bool parks)
      : parks_(parks),
        sums_(lane.engine(), "sums", {.quiet_period = 10s, .max_wait = pleat::kForever}) {
    lane.Publish("sums", sums_, [](const auto& e) { return std::to_string(e.state.sum); });
  }

  pleat::Handled Handle(const pleat::LogRecord& record, pleat::Lane& lane) override {
    if (parks_ && record.offset % 5 == 2) return pleat::Handled::Park("bad");
    sums_.Fold(record.key, record.offset, record.logged);
    lane.Emit(record.key, "each");
    return pleat::Handled::Done();
  }

 private:
  const bool parks_;
  pleat::Folder<uint64_t, Sum> sums_;
};

// One partition of a few records, with a commit and files.
class SmallLog final : public pleat::PartitionedLog, private pleat::LaneSnapshots {
 public:
  std::optional<pleat::LogCommit> committed;
  std::map<uint64_t, std::string> files;

  // A next owner has it.
  void AssignAgain() {
    is_new_ = true;
    next_.reset();
    answer_ = is_asked_ = is_paused_ = false;
  }

  absl::StatusOr<bool> Poll(pleat::LogListener& listener) override {
    if (std::exchange(is_new_, false)) listener.OnAssigned(0, committed ? &*committed : nullptr, 0);
    if (std::exchange(answer_, false)) {
      listener.OnCommitted(0, pleat::CommitOutcome::kCommitted);
    }
    if (next_ && std::max(*next_, committed ? committed->offset : 0) > kRecords) {
      next_.reset();
      listener.OnPositionLost(0, 0);
    }
    if (!next_) return false;
    if (!is_paused_ && *next_ < kRecords) {
      const pleat::EngineTime logged = kT0 + 4s * static_cast<int64_t>(*next_);
      const pleat::LogRecord record{
          .offset = (*next_)++, .logged = logged, .stamp = logged, .key = kKeys[*next_ % 3]};
      listener.OnRecords(0, {&record, 1});
    }
    if (is_asked_ && *next_ >= kRecords) {
      is_asked_ = false;
      listener.OnEnd(0);
    }
    return !is_paused_ && *next_ < kRecords;
  }
  void Read(int, uint64_t offset) override { next_ = offset; }
  void Pause(int, bool paused) override { is_paused_ = paused; }
  void AskEnd(int) override { is_asked_ = true; }
  void Commit(const pleat::LogCommit& commit) override {
    committed = commit;
    answer_ = true;
  }
  pleat::LaneSnapshots& snapshots() override { return *this; }

 private:
  absl::StatusOr<uint64_t> Put(int, Write write) override {
    pleat::StringSink sink;
    if (absl::Status written = write(sink); !written.ok()) return written;
    const uint64_t number = files.empty() ? 1 : files.rbegin()->first + 1;
    files[number] = std::move(sink.bytes);
    return number;
  }
  absl::StatusOr<std::unique_ptr<pleat::ByteSource>> Get(int, uint64_t number) override {
    const auto found = files.find(number);
    if (found == files.end()) return absl::NotFoundError("there is no such file");
    return std::make_unique<pleat::StringSource>(found->second);
  }
  absl::StatusOr<bool> HasAny(int) override { return !files.empty(); }
  absl::Status RemoveBefore(int, uint64_t number) override {
    files.erase(files.begin(), files.lower_bound(number));
    return absl::OkStatus();
  }

  std::optional<uint64_t> next_;
  bool is_new_ = true;
  bool is_paused_ = false;
  bool is_asked_ = false;
  bool answer_ = false;
};

pleat::ProcessorOptions Options() {
  pleat::ProcessorOptions options{.commit_every = 1s, .replay_limit = 5, .life = 7};
  options.engine.internals = {.hash_key = {{1, 2}}, .epoch = 3};
  options.engine.huge_pages = pleat::HugePages::kOff;
  return options;
}

// One owner. Returns how its lane stands in the end.
pleat::LaneStatus Own(SmallLog& log, bool parks) {
  pleat::Processor processor(
      log, [parks](pleat::Lane& lane) { return std::make_unique<Summing>(lane, parks); },
      Options());
  pleat::EngineTime clock = kT0 + 60s;
  for (int round = 0; round < 60; ++round, clock += 20s) {
    FUZZ_EXPECT(processor.Run(clock).ok(), "Run()");
    if (processor.lanes()[0].phase == pleat::LanePhase::kParked) return processor.lanes()[0];
    if (round == 20) {
      for (const pleat::BuriedMessage& each : processor.buried()) {
        each.message.id.number % 2 == 0 ? processor.Revive(each.message.id)
                                        : processor.Drop(each.message.id);
      }
      for (const pleat::HeldKey& each : processor.held_keys()) {
        FUZZ_EXPECT(processor.Drop(each.partition, each.key, each.offset), each.key);
      }
    }
    for (const pleat::Message& each : processor.Lease(100, 1s, clock)) {
      const bool buries = round < 20 && each.id.number % 4 == 1;
      if (!buries || !processor.Bury(each.id, "bad")) processor.Ack(each.id);
    }
    if (round == 40) processor.Stop();
  }
  FUZZ_EXPECT(processor.stopped(), "a lane that is live can be stopped");
  return processor.lanes()[0];
}

// The bytes with the checksum that belongs to them.
std::string Repaired(std::string_view bytes) {
  if (bytes.size() < pleat::kLaneChecksumBytes) return std::string(bytes);
  if (bytes.starts_with("PLB")) return RepairedBlocks(bytes);
  pleat::FieldWriter out;
  out.PutFields(bytes.substr(0, bytes.size() - pleat::kLaneChecksumBytes));
  return pleat::WithChecksum(out);
}

void CheckMetadata(std::string_view bytes) {
  const std::optional<pleat::LaneCheckpoint> read = pleat::CheckpointIn(bytes);
  constexpr size_t kOlderFormatLacks = 20;
  if (!read || bytes.size() + kOlderFormatLacks > pleat::kCommitMetadataBytesMax) return;
  const std::string written = pleat::BytesOf(*read);
  FUZZ_EXPECT(pleat::CheckpointIn(written) == read, bytes);
  const std::optional<pleat::LogCommit> kept =
      pleat::CommitIn({.partition = 0, .position = 3, .metadata = std::string(bytes)});
  FUZZ_EXPECT(kept && kept->needed <= kept->offset, bytes);
}

#ifdef PLEAT_WITH_KAFKA
pleat::LogCommit OnKafka(uint64_t offset, const std::string& text) {
  const pleat::LogCommit read = pleat::KafkaCommit(0, offset, text);
  FUZZ_EXPECT(read.offset == offset && read.needed <= offset, text);
  const bool is_lanes = !read.metadata.empty() && read.metadata != text;
  if (is_lanes && read.metadata.size() <= pleat::kCommitMetadataBytesMax) {
    const pleat::LogCommit again = pleat::KafkaCommit(0, offset, pleat::KafkaMetadata(read));
    FUZZ_EXPECT(again.needed == read.needed && again.metadata == read.metadata, text);
  }
  return read;
}
#else
pleat::LogCommit OnKafka(uint64_t offset, const std::string& text) {
  return {.partition = 0, .offset = offset, .needed = 0, .metadata = text};
}
#endif

}  // namespace
}  // namespace pleat_fuzz

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace pleat_fuzz;
  if (size < 2) return 0;
  const uint8_t flags = data[0];
  const uint64_t offset = data[1];
  std::string_view rest = TextOf(data + 2, size - 2);
  const auto next_piece = [&rest] {
    if (rest.size() < 2) return std::string();
    const size_t bytes = static_cast<uint8_t>(rest[0]) | static_cast<uint8_t>(rest[1]) << 8;
    const std::string_view piece = rest.substr(2, bytes);
    rest.remove_prefix(2 + piece.size());
    return std::string(piece);
  };
  SmallLog log;
  log.committed = {.partition = 0, .offset = offset, .needed = 0, .metadata = next_piece()};
  if ((flags & kOnKafka) != 0) log.committed = OnKafka(offset, log.committed->metadata);
  for (uint64_t number = 1; number <= kFiles; ++number) log.files[number] = next_piece();
  if ((flags & kRepairs) != 0) {
    log.committed->metadata = Repaired(log.committed->metadata);
    for (auto& [number, file] : log.files) file = Repaired(file);
  }
  CheckMetadata(log.committed->metadata);
  const bool parks = (flags & kParks) != 0;
  const pleat::LaneStatus first = Own(log, parks);
  if (first.phase == pleat::LanePhase::kParked) {
    FUZZ_EXPECT(!first.why.ok() && !first.why.message().empty(), log.committed->metadata);
    return 0;
  }
  log.AssignAgain();
  const pleat::LaneStatus second = Own(log, parks);
  FUZZ_EXPECT(second.phase == pleat::LanePhase::kLive, MessageOf(second.why));
  return 0;
}
