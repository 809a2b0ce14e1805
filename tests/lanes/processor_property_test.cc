// Members crash, partitions move, commits are lost, and the log cannot be reached: the receiver has
// the same messages as without any of it, each once but for repeats of one id. And they are those
// that plain C++ makes of the records. In a share of the episodes the handler refuses records for a
// while, or until a person has said what becomes of them: then groups differ, and each record is in one
// of them still, in the order of its key.
#include <malloc.h>

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

constexpr int kPartitions = 2;
constexpr int kMembers = 2;
constexpr Duration kSkew = 1400ms;      // of the clock that stamps records; less than the margin
constexpr Duration kUnderWay = 1500ms;  // how much older a stamp may be; with the skew, < kReorder
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
  uint64_t expired = 0;
  uint64_t truncated = 0;
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
    expires_ = Draw(2) == 0;                 // else records come again, which have to be there then
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
    switch (Draw(24)) {
      case 0: return Crash(Draw(kMembers));
      case 1: return Give(Draw(kPartitions));
      case 2: return GiveSilently(Draw(kPartitions));
      case 3: return log_.SetReachable(Draw(3) != 0);
      case 4: return DrawFates();
      case 5: return Rarely();
      case 6:
      case 7:
      case 8: return Wait();
      case 9:
      case 10:
      case 11:
      case 12:
      case 13: return AppendSome();
      case 14:
        for (int i = 3 * kMembers; i > 0; --i) Work(*members_[static_cast<size_t>(i % kMembers)]);
        return;
      default: clock_ += 1us * Draw(300'000); return Work(AnyMember());
    }
  }

  // Mostly about as long as a group is open.
  void Wait() {
    clock_ += Draw(3) == 0 ? 1ms * Draw(60'000) : kShortQuiet + 1ms * Draw(3'000) - 1s;
  }

  // Several may have one time, as a log takes them together.
  void AppendSome() {
    const bool together = Draw(2) == 0;
    const int of = Draw(kPartitions);
    EngineTime logged = Logged();
    for (int i = Draw(8); i > 0; --i) {
      Append(together ? of : Draw(kPartitions), logged);
      if (together) continue;
      clock_ += 1us * Draw(500'000);
      logged = Logged();
    }
  }
  EngineTime Logged() { return clock_ - 1us * Draw(static_cast<int>(kSkew / 1us)); }

  void Append(int partition, EngineTime logged) {
    const EngineTime stamp = logged - 1us * Draw(static_cast<int>(kUnderWay / 1us));
    const AppendedRecord record{.offset = log_.End(partition),
                                .logged = logged,
                                .stamp = stamp,
                                .key = std::string(1, static_cast<char>('a' + Draw(3))),
                                .payload = Draw(2) == 0 ? "!" : ""};
    log_.Append(partition, record.AsAppended(), logged);
    if (Draw(10) == 0) {
      log_.Remove(partition, record.offset);  // a log may leave offsets out
    } else {
      records_[partition].push_back(record);
    }
    if (is_fussy_ && Draw(12) == 0) bad_.insert({partition, record.offset});
  }

  void Rarely() {
    const int partition = Draw(kPartitions);
    switch (Draw(8)) {
      case 0: return Truncate(partition);
      case 1:
      case 2:
      case 3: return expires_ ? Expire(partition) : log_.Repeat(partition, 0);
      default: return ReviveOne();
    }
  }
  // The log keeps what the last commit needs, and may remove the rest.
  void Expire(int partition) {
    const LogCommit* const committed = log_.Committed(partition);
    if (committed == nullptr || committed->needed == 0) return;
    ++totals.expired;
    log_.RemoveBefore(partition, committed->needed);
  }
  // A broker loses records that no commit is behind, and whoever has read them stops there.
  void Truncate(int partition) {
    const LogCommit* const committed = log_.Committed(partition);
    const uint64_t least = committed == nullptr ? 0 : committed->offset;
    const uint64_t end = log_.End(partition);
    if (least >= end) return;
    ++totals.truncated;
    const uint64_t to = end - static_cast<uint64_t>(Draw(static_cast<int>(end - least))) - 1;
    log_.Truncate(partition, to);
    const auto is_lost = [partition, to](int of, uint64_t offset) {
      return of == partition && offset >= to;
    };
    std::erase_if(records_[partition], [to](const AppendedRecord& r) { return r.offset >= to; });
    std::erase_if(bad_, [&](const auto& each) { return is_lost(each.first, each.second); });
    std::erase_if(dropped_, [&](const auto& each) { return is_lost(each.partition, each.offset); });
    Crash(owners_[partition]);
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
      if (Draw(2) == 0) away_.insert(std::string(1, static_cast<char>('a' + Draw(3))));
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
    // Each owner may cut the records into other batches, and has tables of its own.
    const auto batch_max = static_cast<size_t>(is_fussy_ ? 0 : Draw(20));
    ProcessorOptions options = options_;
    options.life = random_();
    options.engine.internals = {.hash_key = {{random_(), random_()}}, .epoch = random_()};
    members_[static_cast<size_t>(member)] = std::make_unique<Member>(
        log_, options, [this](int p, const auto& record) { return Judge(p, record); }, batch_max);
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
    for (int i = Draw(3); i >= 0; --i) Deliver(member.processor());
  }
  void Deliver(Processor& processor) {
    const size_t max = Draw(4) == 0 ? 1000 : static_cast<size_t>(Draw(5));
    const LeaseKeys keys = Draw(2) == 0 ? LeaseKeys::kOne : LeaseKeys::kTogether;
    std::set<std::string> left;  // keys of which a message failed
    for (const Message& each : processor.Lease(max, 1ms * Draw(3'000), clock_, keys)) {
      if (left.contains(each.key)) continue;
      left.insert(each.key);
      if (Draw(8) == 0) continue;  // not delivered; lent again later
      if (buries_ && Draw(12) == 0 && processor.Bury(each.id, "bad")) {
        left.erase(each.key);
        ++totals.buried;
        continue;  // nor this one, until it is revived
      }
      receiver_.Take(each);
      const int answer = Draw(8);
      if (answer < 6) {
        processor.Ack(each.id);
        left.erase(each.key);
      }
      if (answer == 6) processor.Nack(each.id, 1ms * Draw(5'000), clock_);
    }
  }

  // No trouble any more, and time goes on until nothing is left to be done.
  void Heal() {
    log_.SetReachable(true);
    log_.SetCommitFate(nullptr);
    log_.SetSnapshotFate(nullptr);
    away_.clear();
    bad_.clear();
    for (int round = 0, quiet = 0; round < 400; ++round) {
      clock_ += 200s;  // longer than any group is open
      bool more = false;
      for (const std::unique_ptr<Member>& each : members_) more |= HealOne(each->processor());
      quiet = more ? 0 : quiet + 1;
      if (quiet == 4) return;  // the end is asked for, told, committed, and messages are lent
    }
    ADD_FAILURE() << "messages come for ever";
  }

  // Returns whether there was something.
  bool HealOne(Processor& processor) {
    const absl::StatusOr<bool> run = processor.Run(clock_);
    EXPECT_TRUE(run.ok()) << run.status();
    for (const HeldKey& held : processor.held_keys()) {
      EXPECT_TRUE(processor.Retry(held.partition, held.key));
    }
    for (const BuriedMessage& buried : processor.buried()) processor.Revive(buried.message.id);
    const std::vector<Message> lent = processor.Lease(1000, 40s, clock_);
    for (const Message& each : lent) {
      receiver_.Take(each);
      processor.Ack(each.id);
    }
    return run.value_or(true) || !lent.empty();
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
    const auto expected = WithoutTrouble(records_, plain, clock_);
    EXPECT_EQ(receiver_.all(), expected);
  }
  // Whether events come later than the lane waits for them.
  bool cuts_elsewhere() const {
    return options_.engine.axis == Axis::kEvent && options_.idle < kUnderWay + kSkew;
  }
  bool IsOwner(const Member& member, int partition) const {
    return members_[static_cast<size_t>(owners_[partition])].get() == &member;
  }

  void ComparePlain() {
    PlainLanes plain(options_.engine.axis);
    for (const auto& [partition, records] : records_) {
      for (const AppendedRecord& each : records) plain.Take(partition, each.AsRead());
    }
    for (const HeldKey& each : dropped_) plain.MayMiss(each.partition, each.key, each.offset);
    for (int p = 0; p < kPartitions; ++p) {
      using Same = PlainLanes::Same;
      plain.ExpectAllIn(receiver_, p,
                        is_fussy_ || cuts_elsewhere() || closes_ ? Same::kRecords : Same::kGroups);
    }
  }

  std::mt19937_64 random_;
  ProcessorOptions options_;
  ScriptedLog log_{kPartitions};
  AppendedRecords records_;  // that are there, or were until retention
  EngineTime clock_ = kT0;
  std::array<std::unique_ptr<Member>, kMembers> members_;
  int owners_[kPartitions] = {};
  Receiver receiver_;
  bool is_fussy_ = false;
  bool buries_ = false;
  bool closes_ = false;
  bool expires_ = false;
  std::set<std::string, std::less<>> away_;  // keys that the handler does not take for the moment
  std::set<std::pair<int, uint64_t>> bad_;   // records that it parks, by partition and offset
  std::vector<HeldKey> dropped_;
};

// What an episode frees serves the next one, and does not go to the system and come back.
void KeepMemory() {
  constexpr int kBytes = 64 << 20;
  mallopt(M_TRIM_THRESHOLD, kBytes);
  mallopt(M_TOP_PAD, kBytes / 4);
}

// Some 0.7 ms each where the engine is optimized.
#ifdef NDEBUG
constexpr uint64_t kUsualEpisodes = 100'000;
#else
constexpr uint64_t kUsualEpisodes = 20'000;
#endif
constexpr Shares kEpisodes = {.whole = 10'000'000, .usual = kUsualEpisodes, .sanitized = 2'000};

TEST(ProcessorProperty, NothingIsLostAndNothingSaysTwoThings) {
  KeepMemory();
  const bool all =
      ForEachSeed(1, ShareOf(kEpisodes), [](uint64_t seed) { Episode(seed).Run(/*steps=*/60); });
  std::cout << totals.records << " records, " << totals.messages << " messages, " << totals.repeats
            << " repeats, " << totals.crashes << " crashes, " << totals.takeovers << " takeovers, "
            << totals.snapshots << " snapshots, " << totals.refused << " refusals, "
            << totals.dropped << " dropped, " << totals.buried << " buried, " << totals.closes
            << " closes, " << totals.expired << " retentions, " << totals.truncated
            << " truncations\n";
  if (!all) return;
  EXPECT_GT(totals.repeats, 1'000u);
  EXPECT_GT(totals.snapshots, 100u);
  EXPECT_GT(totals.refused, 1'000u);
  EXPECT_GT(totals.dropped, 50u);
  EXPECT_GT(totals.buried, 300u);
  EXPECT_GT(totals.closes, 200u);
  EXPECT_GT(totals.expired, 10u);
  EXPECT_GT(totals.truncated, 100u);
}

}  // namespace
}  // namespace pleat::inline v0_1
