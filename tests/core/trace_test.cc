// Traces, story by story. That the steps are those of the model, in every order of calls, is tested in
// fold_property_test; readers beside threads that fold in trace_threads_test.
#include <pleat/trace.h>

#include <algorithm>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <pleat/folder.h>
#include <pleat/snapshot.h>

#include "tests/support/bytes.h"
#include "tests/support/start.h"

namespace pleat::inline v0_1 {
namespace {

using namespace std::chrono_literals;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

struct Edit {
  int added;
};

struct Edits {
  int added = 0;
  void Fold(const Edit& edit) noexcept { added += edit.added; }
  template <class F>
  void Stored(F& f) {
    f(added);
  }
};

constexpr size_t kRoom = 10'000;

LeaseTime LeaseAt(Duration after) { return LeaseTime(kT0 + after); }

class Trace : public testing::Test {
 protected:
  void Open(FolderOptions options = {}, int partitions = 1) {
    options.quiet_period = 10s;
    if (options.max_wait == Duration{0}) options.max_wait = kForever;
    engine_ = *Engine::Open({.partitions = partitions});
    engine_->Advance(kT0);
    folder_ = *Folder<Edit, Edits>::Open(*engine_, "edits", options);
  }
  void OpenTraced(FolderOptions options = {}, int partitions = 1) {
    if (options.measure.max_trace == 0) options.measure.max_trace = kRoom;
    Open(options, partitions);
  }
  FoldOutcome Fold(std::string_view key, Duration after = 0s) {
    return folder_->Fold(key, {1}, kT0 + after);
  }
  static std::vector<TraceRecord> ReadAll(TraceReader& reader, size_t max = SIZE_MAX) {
    std::vector<TraceRecord> all;
    reader.Read(max, [&](std::span<const TraceRecord> records) {
      all.insert(all.end(), records.begin(), records.end());
    });
    return all;
  }
  // "closed ann 2 quiet at 10": step, key, count, reason of an emission, and seconds from kT0.
  static std::string Line(const TraceRecord& r) {
    std::string line = std::string(StepName(r.step)) + " " + r.key + " " + std::to_string(r.count);
    if (r.emission) line += " " + std::string(ReasonName(r.reason));
    return line + " at " + std::to_string((r.at - kT0) / 1s);
  }
  static std::vector<std::string> Lines(TraceReader& reader) {
    std::vector<std::string> lines;
    for (const TraceRecord& record : ReadAll(reader)) lines.push_back(Line(record));
    return lines;
  }
  std::vector<std::string> Lines() {
    TraceReader reader(*folder_);
    return Lines(reader);
  }

  std::unique_ptr<Engine> engine_;
  std::optional<Folder<Edit, Edits>> folder_;
};

TEST_F(Trace, FollowsAGroupFromItsOpeningToItsAck) {
  OpenTraced({.leases = {.max_deliveries = 3}});
  Fold("ann");
  Fold("ann", 4s);
  engine_->Advance(kT0 + 20s);
  std::ignore = folder_->Lease(1, 30s, kLease0);
  ASSERT_TRUE(engine_->AdvanceLeases(LeaseAt(40s)));
  auto second = folder_->Lease(1, 30s, LeaseAt(41s));
  second[0].Nack();
  auto third = folder_->Lease(1, 30s, LeaseAt(42s));
  third[0].Ack();

  TraceReader reader(*folder_);
  EXPECT_EQ(reader.collection(), "edits");
  const std::vector<TraceRecord> records = ReadAll(reader);
  std::vector<std::string> lines;
  for (const TraceRecord& record : records) {
    lines.push_back(Line(record) + ", delivery " + std::to_string(record.deliveries) + " at " +
                    std::to_string((EngineTime(record.lease_at) - kT0) / 1s));
    EXPECT_EQ(record.number, lines.size() - 1);
    EXPECT_EQ(record.partition, 0u);
    EXPECT_EQ(record.group, records.front().group);
    EXPECT_EQ(record.first, kT0);
    EXPECT_EQ(record.emission.has_value(), record.step != TraceStep::kOpened);
    EXPECT_EQ(record.emission.value_or(third[0].id), third[0].id);
  }
  lines.erase(lines.begin(), lines.begin() + 2);  // leases have no time yet
  EXPECT_THAT(lines, ElementsAre("lent ann 2 quiet at 20, delivery 1 at 0",
                                 "ran_out ann 2 quiet at 20, delivery 1 at 30",
                                 "lent ann 2 quiet at 20, delivery 2 at 41",
                                 "nacked ann 2 quiet at 20, delivery 2 at 41",
                                 "lent ann 2 quiet at 20, delivery 3 at 42",
                                 "acked ann 2 quiet at 20, delivery 3 at 42"));
  EXPECT_EQ(Line(records[0]), "opened ann 1 at 0");
  EXPECT_EQ(Line(records[1]), "closed ann 2 quiet at 14");
  EXPECT_EQ(reader.lost(), 0u);
}

TEST_F(Trace, TellsOfGroupsThatLeaveNoEmission) {
  OpenTraced({.edge = Edge::kLeading});
  Fold("ann");
  Fold("ben");
  folder_->Cancel("ben");
  engine_->Advance(kT0 + 20s);
  EXPECT_THAT(Lines(), ElementsAre("opened ann 1 at 0", "partial ann 1 leading at 0",
                                   "opened ben 1 at 0", "partial ben 1 leading at 0",
                                   "cancelled ben 1 at 0", "silent ann 1 at 10"));
}

TEST_F(Trace, TellsOfDeadLettersAndWhatBecomesOfThem) {
  OpenTraced({.leases = {.max_deliveries = 1}});
  Fold("ann");
  Fold("ben");
  engine_->Advance(kT0 + 20s);
  auto leases = folder_->Lease(2, 30s, kLease0);
  leases[0].Nack();
  ASSERT_TRUE(engine_->AdvanceLeases(LeaseAt(30s)));
  folder_->RetryDeadLetter(leases[0].delivery.token);
  folder_->DropDeadLetter(leases[1].delivery.token);
  EXPECT_EQ(folder_->Pop(1).size(), 1u);
  std::vector<std::string> lines = Lines();
  lines.erase(lines.begin(), lines.begin() + 4);
  EXPECT_THAT(lines, ElementsAre("lent ann 1 quiet at 20", "lent ben 1 quiet at 20",
                                 "nacked ann 1 quiet at 20", "dead ann 1 quiet at 20",
                                 "ran_out ben 1 quiet at 20", "dead ben 1 quiet at 20",
                                 "retried ann 1 quiet at 20", "dropped ben 1 quiet at 20",
                                 "popped ann 1 quiet at 20"));
}

TEST_F(Trace, TellsWhatTheBacklogDrops) {
  OpenTraced({.max_events = 1, .limits = {.max_backlog = 1, .on_backlog = OnBacklog::kDropOldest}});
  Fold("ann");
  Fold("ben");
  EXPECT_THAT(Lines(),
              ElementsAre("opened ann 1 at 0", "closed ann 1 max_events at 0", "opened ben 1 at 0",
                          "closed ben 1 max_events at 0", "dropped ann 1 max_events at 0"));
}

// The engine's time has not come to the deadline of the first group when the second opens.
TEST_F(Trace, TellsGroupsOfOneKeyApart) {
  OpenTraced();
  Fold("ann");
  Fold("ann", 15s);
  engine_->Advance(kT0 + 30s);
  TraceReader reader(*folder_);
  const std::vector<TraceRecord> records = ReadAll(reader);
  std::vector<std::string> lines;
  for (const TraceRecord& record : records) lines.push_back(Line(record));
  ASSERT_THAT(lines, ElementsAre("opened ann 1 at 0", "opened ann 1 at 15",
                                 "closed ann 1 quiet at 10", "closed ann 1 quiet at 25"));
  EXPECT_EQ(records[0].group, records[2].group);
  EXPECT_EQ(records[1].group, records[3].group);
  EXPECT_NE(records[0].group, records[1].group);
}

TEST_F(Trace, HasARecordForEachCountOfTheLedger) {
  OpenTraced({.max_events = 3,
              .edge = Edge::kBoth,
              .partial_every = 3s,
              .late = {.allowed_lateness = 20s, .on_late = OnLate::kCorrect},
              .leases = {.max_deliveries = 2}},
             4);
  TraceReader reader(*folder_);
  std::map<TraceStep, uint64_t> counts;
  for (int i = 0; i < 2000; ++i) {
    Fold("key " + std::to_string(i * i % 61), Duration(i * 400ms) - (i % 97 == 0 ? 30s : 0s));
    if (i % 5 == 0) engine_->Advance(kT0 + Duration(i * 400ms));
    if (i % 50 == 0) folder_->Cancel("key " + std::to_string(i % 61));
    const LeaseTime now = LeaseAt(i * 1s);
    for (auto& lease : folder_->Lease(static_cast<size_t>(i % 3), 20s, now)) {
      if (i % 7 < 3) lease.Ack();
      if (i % 7 == 3) lease.Nack();
    }
    if (i % 11 == 0) std::ignore = folder_->Pop(1);
    for (const TraceRecord& record : ReadAll(reader, 100)) ++counts[record.step];
  }
  for (const TraceRecord& record : ReadAll(reader)) ++counts[record.step];
  const Ledger ledger = folder_->ledger();
  EXPECT_EQ(counts[TraceStep::kOpened], ledger.opened);
  EXPECT_EQ(counts[TraceStep::kCancelled], ledger.cancelled);
  EXPECT_EQ(counts[TraceStep::kSilent], ledger.silent);
  EXPECT_EQ(counts[TraceStep::kClosed] + counts[TraceStep::kSilent], ledger.closed);
  EXPECT_EQ(counts[TraceStep::kPartial], ledger.partial);
  EXPECT_EQ(counts[TraceStep::kCorrected], ledger.corrected);
  EXPECT_EQ(counts[TraceStep::kPopped], ledger.popped);
  EXPECT_EQ(counts[TraceStep::kLent], ledger.deliveries);
  EXPECT_EQ(counts[TraceStep::kNacked], ledger.nacked);
  EXPECT_EQ(counts[TraceStep::kRanOut], ledger.ran_out);
  EXPECT_EQ(counts[TraceStep::kAcked], ledger.acked);
  EXPECT_EQ(counts[TraceStep::kDead], ledger.dead);
  for (const TraceStep step : {TraceStep::kCancelled, TraceStep::kSilent, TraceStep::kCorrected,
                               TraceStep::kPopped, TraceStep::kRanOut, TraceStep::kDead}) {
    EXPECT_GT(counts[step], 0u) << StepName(step);
  }
  EXPECT_EQ(reader.lost(), 0u);
}

// Also with long keys, whose memory is not kept.
TEST_F(Trace, AtItsBoundTheOldestRecordsGoAndAreCounted) {
  OpenTraced({.max_events = 1, .measure = {.max_trace = 600}}, 2);
  TraceReader early(*folder_);
  EXPECT_THAT(ReadAll(early), IsEmpty());
  for (int i = 0; i < 1000; ++i) Fold(std::to_string(i) + std::string(i % 2 == 0 ? 500 : 0, 'x'));
  TraceReader late(*folder_);
  for (TraceReader* reader : {&early, &late}) {
    const std::vector<TraceRecord> records = ReadAll(*reader);
    EXPECT_EQ(records.size(), 600u);
    EXPECT_EQ(reader->lost(), 1400u);
    EXPECT_THAT(records.back().key, HasSubstr("99"));
    EXPECT_THAT(ReadAll(*reader), IsEmpty());
  }
  Fold("more");
  EXPECT_EQ(ReadAll(early).size(), 2u);
  EXPECT_EQ(early.lost(), 1400u);
}

TEST_F(Trace, IsReadInSteps) {
  OpenTraced({}, 4);
  for (int i = 0; i < 2000; ++i) Fold(std::to_string(i));
  TraceReader reader(*folder_);
  std::map<uint32_t, uint64_t> next;
  size_t read = 0;
  size_t calls = 0;
  for (size_t got = 1; got > 0;) {
    got = reader.Read(300, [&](std::span<const TraceRecord> records) {
      ++calls;
      for (const TraceRecord& record : records) {
        EXPECT_EQ(record.number, next[record.partition]++);
        EXPECT_EQ(record.partition, records[0].partition);
      }
    });
    EXPECT_LE(got, 300u);
    read += got;
  }
  EXPECT_EQ(read, 2000u);
  EXPECT_GE(calls, 8u);
  EXPECT_EQ(reader.Read(0, [](auto) { FAIL(); }), 0u);
}

TEST_F(Trace, AnObserverMayCallTheEngine) {
  OpenTraced({}, 2);
  for (int i = 0; i < 300; ++i) Fold(std::to_string(i));
  TraceReader reader(*folder_);
  size_t other_reads = 0;
  const size_t read = reader.Read(SIZE_MAX, [&](std::span<const TraceRecord> records) {
    for (const TraceRecord& record : records) {
      if (record.step != TraceStep::kOpened) continue;
      EXPECT_TRUE(folder_->Peek(record.key).has_value());
      EXPECT_TRUE(folder_->Flush(record.key));
      EXPECT_EQ(folder_->Pop(1).size(), 1u);
    }
    TraceReader other(*folder_);
    other_reads += ReadAll(other).size();
    EXPECT_GT(folder_->ledger().popped, 0u);
  });
  EXPECT_EQ(read, 300u);
  EXPECT_GT(other_reads, 300u);
  EXPECT_EQ(folder_->ledger().popped, 300u);
  size_t rest = 0;
  while (const size_t more = reader.Read(SIZE_MAX, [](auto) {})) rest += more;
  EXPECT_EQ(rest, 600u);  // closed and popped
}

// One that makes a record for each that it sees does not read for ever.
TEST_F(Trace, AReadOfAnObserverThatFoldsComesToAnEnd) {
  OpenTraced();
  Fold("0");
  TraceReader reader(*folder_);
  for (int i = 1; i < 10; ++i) {
    EXPECT_EQ(reader.Read(SIZE_MAX, [&](auto) { Fold(std::to_string(i)); }), 1u);
  }
}

TEST_F(Trace, AnObserverMayReadOn) {
  OpenTraced();
  for (int i = 0; i < 1000; ++i) Fold(std::to_string(i));
  TraceReader reader(*folder_);
  std::vector<std::string> keys;
  const auto keep = [&](std::span<const TraceRecord> records) {
    for (const TraceRecord& record : records) keys.push_back(record.key);
  };
  reader.Read(SIZE_MAX, [&](std::span<const TraceRecord> records) {
    reader.Read(100, keep);
    keep(records);
  });
  EXPECT_EQ(keys.size(), 1000u);
  std::sort(keys.begin(), keys.end());
  EXPECT_EQ(std::unique(keys.begin(), keys.end()), keys.end());
}

TEST_F(Trace, AnObserverMayEndTheFolderAndTheEngine) {
  OpenTraced({}, 4);
  for (int i = 0; i < 100; ++i) Fold(std::to_string(i));
  TraceReader reader(*folder_);
  TraceReader other = reader;
  size_t calls = 0;
  reader.Read(SIZE_MAX, [&](auto) {
    ++calls;
    folder_->Close();
  });
  EXPECT_EQ(calls, 1u);
  engine_.reset();
  EXPECT_EQ(other.Read(SIZE_MAX, [](auto) { FAIL(); }), 0u);
  EXPECT_EQ(other.collection(), "edits");
}

TEST_F(Trace, WithoutRoomThereIsNone) {
  Open();
  Fold("ann");
  std::ignore = folder_->Pop(1);
  EXPECT_THAT(Lines(), IsEmpty());
}

TEST_F(Trace, EachPartitionNeedsRoom) {
  const auto engine = *Engine::Open({.partitions = 16});
  const auto folder = Folder<Edit, Edits>::Open(
      *engine, "edits", {.quiet_period = 1s, .max_wait = 1s, .measure = {.max_trace = 15}});
  EXPECT_EQ(folder.status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(std::string(folder.status().message()),
              "measure.max_trace: must be zero, or at least one for each of the engine's "
              "partitions, 16");
}

// Groups keep their names; what has happened before is not told again.
TEST_F(Trace, ASnapshotHasNoRecords) {
  OpenTraced();
  Fold("ann");
  Fold("ben");
  folder_->Flush("ben");
  std::ignore = folder_->Lease(1, 30s, kLease0);
  TraceReader before(*folder_);
  const std::vector<TraceRecord> old = ReadAll(before);
  StringSink snapshot;
  ASSERT_TRUE(TakeSnapshot(*engine_, snapshot).ok());
  folder_.reset();
  OpenTraced();
  engine_ = *Engine::Open({.partitions = 1});
  folder_ = *Folder<Edit, Edits>::Open(
      *engine_, "edits",
      {.quiet_period = 10s, .max_wait = kForever, .measure = {.max_trace = kRoom}});
  StringSource source(snapshot.bytes);
  ASSERT_TRUE(RestoreSnapshot(*engine_, source, {.skip_numbers = 0}).ok());
  EXPECT_THAT(Lines(), IsEmpty());
  ASSERT_TRUE(engine_->AdvanceLeases(LeaseAt(30s)));
  engine_->Advance(kT0 + 20s);
  TraceReader after(*folder_);
  const std::vector<TraceRecord> now = ReadAll(after);
  ASSERT_EQ(now.size(), 2u);
  EXPECT_EQ(Line(now[0]).substr(0, 11), "ran_out ben");
  EXPECT_EQ(now[0].group, old[1].group);
  EXPECT_EQ(Line(now[1]), "closed ann 1 quiet at 10");
  EXPECT_EQ(now[1].group, old[0].group);
}

struct Nested {
  static inline TraceReader* reader = nullptr;
  static inline size_t read = 0;
  void Fold(const Edit&) noexcept {
    read += reader->Read(SIZE_MAX, [](auto) {});
  }
};

TEST_F(Trace, FromInsideAFoldFunctionNothingIsRead) {
  OpenTraced();
  Fold("ann");
  TraceReader reader(*folder_);
  Nested::reader = &reader;
  Folder<Edit, Nested> nested(*engine_, "nested", {.quiet_period = 1s, .max_wait = 1s});
  nested.Fold("ann", {1}, kT0);
  EXPECT_EQ(Nested::read, 0u);
  EXPECT_THAT(Lines(reader), ElementsAre("opened ann 1 at 0"));
}

}  // namespace
}  // namespace pleat::inline v0_1
