// Members crash, partitions move, commits are lost, and the log cannot be reached: the receiver has
// the same messages as without any of it, each once but for repeats of one id. And they are those
// that plain C++ makes of the records. In a share of the episodes the handler refuses records for a
// while, or until a person has said what becomes of them: then groups differ, and each record is in one
// of them still, in the order of its key.
#include <chrono>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/lanes/lane_world.h"
#include "tests/lanes/plain_lanes.h"
#include "tests/support/seeds.h"
#include "tests/support/share.h"

namespace pleat::inline v0_1 {
namespace {

using std::chrono_literals::operator""ms;
using std::chrono_literals::operator""s;
using std::chrono_literals::operator""us;

constexpr int kPartitions = 3;
constexpr int kMembers = 2;
constexpr Duration kSkew = 400ms;       // of the clock that stamps records; less than the margin
constexpr Duration kUnderWay = 2500ms;  // how much older a stamp may be; with the skew, < kReorder
constexpr Duration kShortIdle = 1s;     // ticks are undercut
constexpr Duration kLongIdle = 5s;      // and are not

struct Totals {
  uint64_t records = 0;
  uint64_t messages = 0;
  uint64_t repeats = 0;
  uint64_t crashes = 0;
  uint64_t takeovers = 0;
  uint64_t snapshots = 0;
  uint64_t refused = 0;
  uint64_t dropped = 0;
  uint64_t buried = 0;
  uint64_t closes = 0;
};
Totals totals;

class Episode {
 public:
  explicit Episode(uint64_t seed) : random_(seed) {
    options_.commit_every = Draw(2) == 0 ? 100ms : 5s;
    options_.replay_limit = static_cast<uint64_t>(1 + Draw(60));
    options_.messages_bytes_max = Draw(3) == 0 ? 500 : 1 << 20;
    if (Draw(2) == 0) {
      options_.engine.axis = Axis::kEvent;
      options_.idle = Draw(3) == 0 ? kShortIdle : kLongIdle;
    }
    is_fussy_ = Draw(3) == 0;
    if (Draw(3) == 0) options_.held_bytes_max = 2'000;
    if (Draw(3) == 0) options_.held_records_max = 3;
    if (Draw(3) == 0) options_.buried_bytes_max = 400;
    buries_ = Draw(2) == 0;
    closes_ = Draw(6) == 0;
    if (buries_) receiver_.ExpectNoOrder();  // one that is revived may come behind later ones
    log_.SetPollRecords(static_cast<size_t>(1 + Draw(20)));
    for (int m = 0; m < kMembers; ++m) Restart(m);
    for (int p = 0; p < kPartitions; ++p) Give(p);
  }

  void Run(int steps) {
    for (int i = 0; i < steps; ++i) Step();
    Heal();
    CompareAll();
  }

 private:
  // Below `n`.
  int Draw(int n) { return static_cast<int>(random_() % static_cast<uint64_t>(n)); }
  Member& AnyMember() { return *members_[static_cast<size_t>(Draw(kMembers))]; }

  void Step() {
    if (is_fussy_ && Draw(8) == 0) return Fuss();
    if (closes_ && Draw(30) == 0) return Close(Draw(kMembers));
    switch (Draw(16)) {
      case 0: return Crash(Draw(kMembers));
      case 1: return Give(Draw(kPartitions));
      case 2: return GiveSilently(Draw(kPartitions));
      case 3: return log_.SetReachable(Draw(3) != 0);
      case 4: return DrawFates();
      case 5: return Draw(2) == 0 ? log_.Repeat(Draw(kPartitions), 0) : ReviveOne();
      case 6:
      case 7: clock_ += 1ms * Draw(20'000); return;
      case 8:
      case 9:
      case 10:
        for (int i = Draw(8); i > 0; --i) Append(Draw(kPartitions));
        return;
      default: clock_ += 1us * Draw(300'000); return Work(AnyMember());
    }
  }

  void Append(int partition) {
    clock_ += 1us * Draw(500'000);
    const EngineTime logged = clock_ - 1us * Draw(static_cast<int>(kSkew / 1us));
    const std::string key = std::string(1, static_cast<char>('a' + Draw(4)));
    const EngineTime stamp = logged - 1us * Draw(static_cast<int>(kUnderWay / 1us));
    const uint64_t offset = log_.Append(
        partition, {.key = key, .stamp = stamp, .payload = Draw(4) == 0 ? "!" : ""}, logged);
    // A log may leave offsets out.
    if (Draw(10) == 0) log_.Remove(partition, offset);
    if (is_fussy_ && Draw(12) == 0) bad_.insert({partition, offset});
  }

  // What the handler says before it does anything. A record that is bad is so until somebody has
  // looked at it; that keys are away passes, and may come when records are replayed as well.
  Handled Judge(int partition, const LogRecord& record) {
    if (bad_.contains({partition, record.offset})) return ++totals.refused, Handled::Park("bad");
    if (!away_.contains(record.key)) return Handled::Done();
    ++totals.refused;
    return Handled::RetryAfter(3s, "away");
  }
  void ReviveOne() {
    Processor& processor = AnyMember().processor();
    const std::vector<BuriedMessage> buried = processor.buried();
    if (!buried.empty()) processor.Revive(buried[buried.size() / 2].message.id);
  }
  void Fuss() {
    if (Draw(2) == 0) {
      away_.clear();
      if (Draw(2) == 0) away_.insert(std::string(1, static_cast<char>('a' + Draw(4))));
      return;
    }
    Processor& processor = AnyMember().processor();
    const std::vector<HeldKey> held = processor.held_keys();
    if (held.empty()) return;
    const HeldKey& one = held[static_cast<size_t>(Draw(static_cast<int>(held.size())))];
    if (Draw(3) == 0) {
      EXPECT_TRUE(processor.Drop(one.partition, one.key, one.offset));
      dropped_.push_back(one);
      return;
    }
    if (Draw(2) == 0) bad_.erase({one.partition, one.offset});
    EXPECT_TRUE(processor.Retry(one.partition, one.key));
  }

  void Restart(int member) {
    members_[static_cast<size_t>(member)].reset();
    // Each owner may cut the records into other batches.
    const auto batch_max = static_cast<size_t>(is_fussy_ ? 0 : Draw(20));
    members_[static_cast<size_t>(member)] = std::make_unique<Member>(
        log_, options_, [this](int p, const auto& record) { return Judge(p, record); }, batch_max);
  }
  void Crash(int member) {
    ++totals.crashes;
    std::vector<int> held;
    for (int p = 0; p < kPartitions; ++p) {
      if (owners_[p] == member) held.push_back(p);
    }
    Restart(member);
    for (const int p : held) Give(p);
  }
  // A stop that closes all, which may end or not.
  void Close(int member) {
    ++totals.closes;
    members_[static_cast<size_t>(member)]->processor().CloseAllAndStop();
    for (int i = Draw(8); i > 0; --i) {
      clock_ += 1us * Draw(300'000);
      Work(*members_[static_cast<size_t>(member)]);
    }
    Crash(member);
  }
  void Give(int partition) {
    ++totals.takeovers;
    owners_[partition] = Draw(kMembers);
    log_.Assign(partition, members_[static_cast<size_t>(owners_[partition])]->log());
  }
  void GiveSilently(int partition) {
    ++totals.takeovers;
    owners_[partition] = (owners_[partition] + 1) % kMembers;
    log_.AssignSilently(partition, members_[static_cast<size_t>(owners_[partition])]->log());
  }

  void DrawFates() {
    const int bad = Draw(3);
    log_.SetCommitFate([this, bad](const LogCommit& commit) {
      EXPECT_LE(commit.metadata.size(), kCommitMetadataBytesMax);
      EXPECT_LE(commit.needed, commit.offset);
      if (bad == 0 || Draw(3) != 0) return CommitFate::kTaken;
      return Draw(2) == 0 ? CommitFate::kTakenInDoubt : CommitFate::kLost;
    });
    log_.SetSnapshotFate([this, bad](int) {
      return bad < 2 || Draw(2) == 0 ? absl::OkStatus() : absl::UnavailableError("no snapshot");
    });
  }

  // One round of a member, which then delivers some messages, and acks some of these.
  void Work(Member& member) {
    const absl::StatusOr<bool> more = member.processor().Run(clock_);
    if (!more.ok()) {
      EXPECT_EQ(more.status().code(), absl::StatusCode::kUnavailable) << more.status();
    }
    const size_t max = Draw(4) == 0 ? 1000 : static_cast<size_t>(Draw(5));
    const LeaseKeys keys = Draw(2) == 0 ? LeaseKeys::kOne : LeaseKeys::kTogether;
    std::set<std::string> left;  // keys of which a message failed
    for (const Message& each : member.processor().Lease(max, 1ms * Draw(3'000), clock_, keys)) {
      if (left.contains(each.key)) continue;
      left.insert(each.key);
      if (Draw(8) == 0) continue;  // not delivered; lent again later
      if (buries_ && Draw(12) == 0 && member.processor().Bury(each.id, "bad")) {
        left.erase(each.key);
        ++totals.buried;
        continue;  // nor this one, until it is revived
      }
      receiver_.Take(each);
      const int answer = Draw(8);
      if (answer < 6) {
        member.processor().Ack(each.id);
        left.erase(each.key);
      }
      if (answer == 6) member.processor().Nack(each.id, 1s * Draw(5), clock_);
    }
  }

  // No trouble any more, and time goes on until nothing is left to be done.
  void Heal() {
    log_.SetReachable(true);
    log_.SetCommitFate(nullptr);
    log_.SetSnapshotFate(nullptr);
    away_.clear();
    bad_.clear();
    size_t before = SIZE_MAX;
    for (int round = 0, quiet = 0; round < 400; ++round) {
      clock_ += 50s;
      bool more = false;
      for (const std::unique_ptr<Member>& each : members_) {
        const absl::StatusOr<bool> run = each->processor().Run(clock_);
        EXPECT_TRUE(run.ok()) << run.status();
        more |= run.value_or(true);
        for (const HeldKey& held : each->processor().held_keys()) {
          EXPECT_TRUE(each->processor().Retry(held.partition, held.key));
        }
        for (const BuriedMessage& buried : each->processor().buried())
          each->processor().Revive(buried.message.id);
        for (const Message& message : each->processor().Lease(1000, 40s, clock_)) {
          receiver_.Take(message);
          each->processor().Ack(message.id);
        }
      }
      const bool is_same = std::exchange(before, receiver_.all().size()) == before;
      quiet = more || !is_same ? 0 : quiet + 1;
      if (quiet == 8) return;  // longer than any group is open
    }
    ADD_FAILURE() << "messages come for ever";
  }

  void CompareAll() {
    for (const std::unique_ptr<Member>& member : members_) {
      for (const LaneStatus& each : member->processor().lanes()) {
        if (!IsOwner(*member, each.partition)) continue;
        EXPECT_EQ(each.phase, LanePhase::kLive) << each.why;
        EXPECT_LE(each.next, log_.End(each.partition));  // the last one may be left out
        EXPECT_EQ(each.waiting, 0u);
        EXPECT_EQ(each.held_keys, 0u);
        EXPECT_EQ(each.buried, 0u);
      }
    }
    for (int p = 0; p < kPartitions; ++p) totals.snapshots += log_.Snapshots(p);
    for (const auto& [partition, lives] : receiver_.lives()) EXPECT_EQ(lives.size(), 1u);
    ComparePlain();
    // By their stamps groups have another order.
    receiver_.ExpectOrderOfKeys(options_.engine.axis == Axis::kEvent ? "emitted" : "");
    members_ = {};
    totals.dropped += dropped_.size();
    for (int p = 0; p < kPartitions; ++p) totals.records += log_.End(p);
    totals.messages += receiver_.all().size();
    totals.repeats += receiver_.repeats();
    if (is_fussy_ || cuts_elsewhere() || closes_) return;
    ProcessorOptions plain;
    plain.engine = options_.engine;
    plain.idle = options_.idle;
    const auto expected = WithoutTrouble(log_, kPartitions, plain, clock_);
    EXPECT_EQ(receiver_.all(), expected);
  }
  // Whether events come later than the lane waits for them.
  bool cuts_elsewhere() const {
    return options_.engine.axis == Axis::kEvent && options_.idle < kUnderWay + kSkew;
  }
  bool IsOwner(const Member& member, int partition) const {
    return members_[static_cast<size_t>(owners_[partition])].get() == &member;
  }

  // A reader of the log that knows nothing of lanes.
  class PlainReader final : public LogListener {
   public:
    PlainReader(PartitionedLog& log, Axis axis) : log_(log), lanes_(axis) {}

    void OnAssigned(int partition, const LogCommit*, uint64_t) override { log_.Read(partition, 0); }
    void OnRevoked(int) override {}
    void OnPositionLost(int, uint64_t) override {}
    void OnEnd(int) override {}
    void OnCommitted(int, CommitOutcome) override {}
    void OnRecords(int partition, std::span<const LogRecord> records) override {
      for (const LogRecord& each : records) lanes_.Take(partition, each);
    }
    PlainLanes& lanes() { return lanes_; }

   private:
    PartitionedLog& log_;
    PlainLanes lanes_;
  };

  void ComparePlain() {
    const std::unique_ptr<PartitionedLog> member = log_.Join();
    PlainReader reader(*member, options_.engine.axis);
    for (int p = 0; p < kPartitions; ++p) log_.AssignSilently(p, *member);
    while (*member->Poll(reader)) {
    }
    for (const HeldKey& each : dropped_)
      reader.lanes().MayMiss(each.partition, each.key, each.offset);
    for (int p = 0; p < kPartitions; ++p) {
      using Same = PlainLanes::Same;
      reader.lanes().ExpectAllIn(
          receiver_, p, is_fussy_ || cuts_elsewhere() || closes_ ? Same::kRecords : Same::kGroups);
    }
  }

  std::mt19937_64 random_;
  ProcessorOptions options_;
  ScriptedLog log_{kPartitions};
  EngineTime clock_ = kT0;
  std::array<std::unique_ptr<Member>, kMembers> members_;
  int owners_[kPartitions] = {};
  Receiver receiver_;
  bool is_fussy_ = false;
  bool buries_ = false;
  bool closes_ = false;
  std::set<std::string, std::less<>> away_;  // keys that the handler does not take for the moment
  std::set<std::pair<int, uint64_t>> bad_;   // records that it parks, by partition and offset
  std::vector<HeldKey> dropped_;
};

TEST(ProcessorProperty, NothingIsLostAndNothingSaysTwoThings) {
  const bool all = ForEachSeed(1, ShareOf({.whole = 1'000'000, .usual = 5'000, .sanitized = 500}),
                               [](uint64_t seed) { Episode(seed).Run(120); });
  std::cout << totals.records << " records, " << totals.messages << " messages, " << totals.repeats
            << " repeats, " << totals.crashes << " crashes, " << totals.takeovers << " takeovers, "
            << totals.snapshots << " snapshots, " << totals.refused << " refusals, "
            << totals.dropped << " dropped, " << totals.buried << " buried, " << totals.closes
            << " closes\n";
  if (!all) return;
  EXPECT_GT(totals.repeats, 1'000u);
  EXPECT_GT(totals.snapshots, 100u);
  EXPECT_GT(totals.refused, 1'000u);
  EXPECT_GT(totals.dropped, 50u);
  EXPECT_GT(totals.buried, 300u);
  EXPECT_GT(totals.closes, 200u);
}

}  // namespace
}  // namespace pleat::inline v0_1
