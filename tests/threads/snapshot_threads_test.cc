// Snapshots taken while four threads fold, pop, lease and move time: each belongs to one cut, and
// what its source says again makes it whole.
#include <algorithm>
#include <array>
#include <atomic>
#include <condition_variable>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include <absl/status/status.h>
#include <gtest/gtest.h>
#include <pleat/folder.h>
#include <pleat/snapshot.h>

#include "tests/support/bytes.h"
#include "tests/support/check_whole.h"
#include "tests/support/sanitized.h"
#include "tests/support/start.h"

namespace pleat::inline v0_1 {
namespace {

constexpr int kSources = 4;
constexpr int kPartitions = 5;
constexpr uint64_t kEvents = kSanitized ? 20'000 : 100'000;  // of each source

struct Numbered {
  uint32_t source;
  uint64_t number;
};

// How many events of each source.
struct Counts {
  std::map<uint32_t, uint64_t> of;

  void Fold(const Numbered& event) noexcept { ++of[event.source]; }
  template <class F>
  void Stored(F& f) {
    f(of);
  }
};

using Counting = Folder<Numbered, Counts>;

// So many keys that a partition is saved in several steps.
std::string KeyOf(uint32_t source, uint64_t number) {
  return "key " + std::to_string((number * 7 + source) % 1009);
}

// Folds the events of a source from `from` on, in batches of other sizes each time.
void FoldSource(Counting& folder, uint32_t source, uint64_t from, uint64_t last = kEvents) {
  std::vector<std::string> keys;
  std::vector<KeyedEvent<Numbered>> batch;
  for (uint64_t size = 1 + source; from < last; size = size * 5 % 331 + 1) {
    const uint64_t end = std::min(last, from + size);
    keys.clear();
    for (uint64_t i = from; i < end; ++i) keys.push_back(KeyOf(source, i));
    batch.clear();
    for (uint64_t i = from; i < end; ++i) batch.push_back({keys[i - from], kT0, {source, i}});
    folder.FoldBatch(batch, {}, {}, SourcePosition{.source = source, .offset = from});
    from = end;
  }
}

struct Service {
  explicit Service(const FolderOptions& options)
      : engine(Engine::Open({.partitions = kPartitions}).value()),
        folder(*engine, "counts", options) {}

  // How many events of each source the open groups hold.
  std::array<uint64_t, kSources> Open() const {
    std::array<uint64_t, kSources> sum{};
    std::vector<OpenGroup<Counts>> groups;
    ScanCursor cursor;
    while (folder.Scan(cursor, 1000, groups)) {
    }
    for (const OpenGroup<Counts>& group : groups) {
      for (const auto& [source, events] : group.state.of) sum[source] += events;
    }
    return sum;
  }

  std::unique_ptr<Engine> engine;
  Counting folder;
};

// Takes snapshots for as long as all sources are folded.
std::vector<std::string> FoldUnderSnapshots(Service& service,
                                            const std::function<void(Service&)>& besides) {
  std::atomic<int> folding = kSources;
  std::vector<std::thread> threads;
  for (uint32_t source = 0; source < kSources; ++source) {
    threads.emplace_back([&, source] {
      FoldSource(service.folder, source, 0);
      --folding;
    });
  }
  if (besides) {
    threads.emplace_back([&] {
      while (folding > 0) besides(service);
    });
  }
  std::vector<std::string> snapshots;
  while (folding > 0) {
    StringSink sink;
    EXPECT_TRUE(TakeSnapshot(*service.engine, sink, {.compress = false}).ok());
    // Some from the whole time.
    if (snapshots.size() < 6) {
      snapshots.push_back(std::move(sink.bytes));
    } else {
      snapshots[snapshots.size() / 2] = std::move(sink.bytes);
    }
  }
  for (std::thread& thread : threads) thread.join();
  return snapshots;
}

std::unique_ptr<Service> Restored(const std::string& snapshot, const FolderOptions& options) {
  auto service = std::make_unique<Service>(options);
  StringSource source(snapshot);
  auto restore = Restore::Begin(*service->engine, source).value();
  std::thread other([&] { restore->Work(); });
  restore->Work();
  other.join();
  EXPECT_TRUE(restore->Finish().ok());
  CheckWhole(service->folder.any());
  return service;
}

TEST(SnapshotThreads, EachBelongsToOneCut) {
  const FolderOptions options{.quiet_period = kForever, .max_wait = kForever};
  Service service(options);
  const std::vector<std::string> snapshots = FoldUnderSnapshots(service, nullptr);
  for (const std::string& snapshot : snapshots) {
    const std::unique_ptr<Service> restored = Restored(snapshot, options);
    const std::array<uint64_t, kSources> open = restored->Open();
    for (uint32_t source = 0; source < kSources; ++source) {
      const uint64_t position = restored->engine->SourcePositionOf(source, 0);
      for (int p = 1; p < kPartitions; ++p) {
        EXPECT_EQ(restored->engine->SourcePositionOf(source, p), position);
      }
      EXPECT_EQ(open[source], position) << "all events before the position, and none behind it";
      // From somewhere before the position.
      FoldSource(restored->folder, source, position - std::min<uint64_t>(position, 100 * source));
    }
    for (const uint64_t events : restored->Open()) EXPECT_EQ(events, kEvents);
  }
}

TEST(SnapshotThreads, NothingIsLostOrCountedTwiceWhileEmissionsAreTaken) {
  const FolderOptions options{.quiet_period = kForever, .max_wait = kForever, .max_events = 50};
  Service service(options);
  uint64_t turn = 0;
  const auto consume = [&turn](Service& of) {
    of.engine->Advance(kT0 + Duration{static_cast<int64_t>(++turn)});
    (void)of.folder.Pop(10);
    const LeaseTime now(kT0 + Duration{static_cast<int64_t>(turn)});
    for (Leased<Counts>& lent : of.folder.Lease(10, Duration{50}, now)) {
      if (turn % 3 != 0) lent.Ack();
    }
    of.folder.Flush(KeyOf(0, turn));
  };
  const std::vector<std::string> snapshots = FoldUnderSnapshots(service, consume);
  for (const std::string& snapshot : snapshots) {
    const std::unique_ptr<Service> restored = Restored(snapshot, options);
    uint64_t taken = 0;
    for (uint32_t source = 0; source < kSources; ++source) {
      taken += restored->engine->SourcePositionOf(source, 0);
    }
    const Ledger ledger = restored->folder.ledger();
    EXPECT_TRUE(ledger.Balances());
    EXPECT_EQ(ledger.events, taken);
    EXPECT_EQ(ledger.opened + ledger.folded, taken);
  }
}

// --- Sinks that do not return

// Takes nothing until it is let go.
class BlockedSink final : public ByteSink {
 public:
  absl::Status Append(std::string_view) override {
    std::unique_lock guard(mutex_);
    entered_ = true;
    changed_.notify_all();
    changed_.wait(guard, [&] { return let_go_; });
    return absl::OkStatus();
  }
  void WaitUntilEntered() {
    std::unique_lock guard(mutex_);
    changed_.wait(guard, [&] { return entered_; });
  }
  void LetGo() {
    const std::scoped_lock guard(mutex_);
    let_go_ = true;
    changed_.notify_all();
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  bool entered_ = false;
  bool let_go_ = false;
};

constexpr FolderOptions kNeverClosed{
    .quiet_period = kForever, .max_wait = kForever, .max_events = 50};

// Four threads fold, and a fifth pops in order, which locks all partitions together. Nobody waits for
// the sink: all of them end before it is let go.
absl::Status FoldWhileTheSinkIsBlocked(Service& service, uint64_t max_copy_bytes,
                                       const std::function<void()>& meanwhile) {
  BlockedSink sink;
  absl::Status taken;
  std::thread taker([&] {
    taken =
        TakeSnapshot(*service.engine, sink, {.compress = false, .max_copy_bytes = max_copy_bytes});
  });
  sink.WaitUntilEntered();
  std::vector<std::thread> threads;
  for (uint32_t source = 0; source < kSources; ++source) {
    threads.emplace_back([&, source] {
      const uint64_t from = service.engine->SourcePositionOf(source, 0);
      FoldSource(service.folder, source, from, from + 3000);
    });
  }
  threads.emplace_back([&] {
    for (int i = 0; i < 200; ++i) (void)service.folder.Pop(3);
  });
  meanwhile();
  for (std::thread& thread : threads) thread.join();
  if (max_copy_bytes < 100'000) {
    EXPECT_EQ(SnapshotCopiesOf(*service.engine).bytes, 0u) << "while the sink has the thread";
  }
  StringSink other;
  EXPECT_EQ(TakeSnapshot(*service.engine, other).code(), absl::StatusCode::kUnavailable);
  sink.LetGo();
  taker.join();
  return taken;
}

void ExpectAllFolded(const Service& service, uint64_t events) {
  EXPECT_TRUE(service.folder.ledger().Balances());
  EXPECT_EQ(service.folder.ledger().events, events);
  StringSink sink;
  ASSERT_TRUE(TakeSnapshot(*service.engine, sink).ok());
  const std::unique_ptr<Service> restored = Restored(sink.bytes, kNeverClosed);
  EXPECT_EQ(restored->folder.ledger(), service.folder.ledger());
}

TEST(SnapshotThreads, AtTheBoundOfItsCopiesAStalledSnapshotEndsAndFoldingGoesOn) {
  Service service(kNeverClosed);
  uint64_t events = 3000;  // so that there is something to copy
  FoldSource(service.folder, 0, 0, events);
  for (const uint64_t max : {1u, 500u, 2000u, 8000u}) {
    const absl::Status taken = FoldWhileTheSinkIsBlocked(service, max, [] {});
    EXPECT_EQ(taken.code(), absl::StatusCode::kResourceExhausted) << taken;
    EXPECT_LE(SnapshotCopiesOf(*service.engine).most_bytes, max);
    ExpectAllFolded(service, events += 3000 * kSources);
  }
}

TEST(SnapshotThreads, AStalledSnapshotIsGivenUpByAnotherThread) {
  Service service(kNeverClosed);
  uint64_t events = 0;
  for (int round = 0; round < 6; ++round) {
    // Also at the same time as it gets full.
    const uint64_t max = round % 2 == 0 ? UINT64_MAX : 5000u;
    const absl::Status taken = FoldWhileTheSinkIsBlocked(
        service, max, [&] { EXPECT_TRUE(GiveUpSnapshot(*service.engine)); });
    EXPECT_TRUE(absl::IsCancelled(taken) || (max == 5000 && absl::IsResourceExhausted(taken)))
        << taken;
    EXPECT_EQ(SnapshotCopiesOf(*service.engine).bytes, 0u);
    ExpectAllFolded(service, events += 3000 * kSources);
  }
}

}  // namespace
}  // namespace pleat::inline v0_1
