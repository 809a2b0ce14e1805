// The service whose lives crash_states_test.cc cuts, and the world outside of it, which outlives it.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <gtest/gtest.h>
#include <pleat/batch.h>
#include <pleat/live_set.h>
#include <pleat/rollup.h>
#include <pleat/stored.h>

#include "tests/state/small_service.h"
#include "tests/support/check_whole.h"

namespace pleat::inline v0_1 {

using std::chrono_literals::operator""h;
using std::chrono_literals::operator""s;

inline constexpr int kPartitions = 2;
inline constexpr uint64_t kArrivalsSource = 8;

// Operations are letters, and a life is a word.
inline constexpr std::string_view kOperations = "btlapws";
inline constexpr char kBatch = 'b';  // of two events, one a partition
inline constexpr char kTime = 't';   // goes on, closes what is open, and ends some members
inline constexpr char kLease = 'l';  // of one emission
inline constexpr char kAck = 'a';    // of the oldest lease that is not acked
inline constexpr char kPop = 'p';    // of one emission
inline constexpr char kLiveSet =
    'w';  // of four members, two in each partition, which are counted as well
inline constexpr char kSnapshot = 's';

// A key of each partition.
inline const std::array<std::string, kPartitions>& Keys() {
  static const auto keys = [] {
    std::array<std::string, kPartitions> found;
    for (char c = 'z'; c >= 'a'; --c) {
      const std::string key(1, c);
      found[static_cast<size_t>(PartitionOf(key, kPartitions))] = key;
    }
    return found;
  }();
  return keys;
}

// Names that somebody outside has seen, and what they mean.
class Seen {
 public:
  void See(const Emission<Notes>& emission) {
    const std::string meaning = emission.key + testing::PrintToString(emission.state.numbers);
    const auto [it, is_new] =
        emissions_.emplace(std::pair(emission.id.partition, emission.id.generation), meaning);
    EXPECT_EQ(it->second, meaning) << "emission " << emission.id.generation << " means two things";
  }
  void See(const LeaseToken& token) {
    EXPECT_TRUE(leases_.emplace(token.partition, token.lease).second)
        << "lease " << token.lease << " was given twice";
  }

 private:
  std::map<std::pair<uint32_t, uint64_t>, std::string> emissions_;
  std::set<std::pair<uint32_t, uint64_t>> leases_;
};

struct Lent {
  LeaseToken token;
  std::vector<uint64_t> numbers;
};

// What lies outside of the service, and outlives it.
struct Outside {
  std::vector<EngineTime> source;    // the stamps of the notes that it has said
  std::vector<EngineTime> arrivals;  // and of the members that another one has
  EngineTime time = kT0;
  Seen seen;
  std::vector<Lent> lent;          // not acked
  std::vector<uint64_t> finished;  // events in emissions that were popped or acked
};

inline void Append(std::string& text, const Emission<Notes>& e) {
  text += e.key + testing::PrintToString(e.state.numbers) + "@" +
          std::to_string(e.closed.time_since_epoch().count()) + " ";
}

// One life.
class Life : public SmallService {
 public:
  // Without the live set that `has_live_set` says, a life is half as long.
  explicit Life(bool has_live_set) : SmallService(kPartitions) {
    if (!has_live_set) return;
    members_.emplace(*engine, "members", LiveSetOptions{.ttl = 90s, .retention = 200s});
    plays_.emplace(*engine, "plays", RollupOptions{.windows = {60s}, .allowed_lateness = 30s});
  }

  void Do(char operation, Outside& outside) {
    switch (operation) {
      case kBatch:
        outside.source.insert(outside.source.end(), 2, outside.time);
        ReadAll(outside);
        break;
      case kTime:
        outside.time += 60s;
        engine->Advance(outside.time);
        break;
      case kLiveSet:
        outside.arrivals.insert(outside.arrivals.end(), 4, outside.time);
        ReadAll(outside);
        break;
      case kLease: LeaseUpTo(1, outside); break;
      case kAck:
        if (!outside.lent.empty()) AckFirst(outside);
        break;
      case kPop: {
        for (const Emission<Notes>& emission : notes.Pop(1)) Finish(emission, outside);
        break;
      }
      default:
        if (directory != nullptr) {
          TakeSnapshot().IgnoreError();
        }
    }
  }

  // What the service shows of itself.
  std::string Look() const {
    FieldWriter out;
    notes.ledger().Stored(out);
    out(engine->now(), Position());
    std::vector<OpenGroup<Notes>> groups;
    ScanCursor cursor;
    while (notes.Scan(cursor, 100, groups)) {
    }
    std::string text;
    std::ranges::sort(groups, {}, &OpenGroup<Notes>::key);
    for (const OpenGroup<Notes>& group : groups) {
      text += group.key + testing::PrintToString(group.state.numbers) + " ";
    }
    return text + LookAtMembers() + testing::PrintToString(std::string(out.bytes()));
  }

  // The members with their counts and ends, and what the counter has added up.
  std::string LookAtMembers() const {
    std::string text;
    if (!members_) return text;
    const auto say = [&text](auto number) { text += std::to_string(number) + " "; };
    for (const std::string& series : Keys()) {
      for (const LiveMember<uint64_t>& member : members_->List(series)) {
        text += series + "/" + member.id + " ";
        say(member.payload);
        say((member.stamp - kT0).count());
        say((member.deadline - kT0).count());
      }
      say(members_->Count(series));
      say(plays_->Accurate(series).amount.sum);
    }
    const LiveSetLedger ledger = members_->ledger();
    for (const uint64_t column : {ledger.events, ledger.added, ledger.refreshed, ledger.expired,
                                  ledger.live, ledger.changes, MembersMark()}) {
      say(column);
    }
    return text;
  }

  // The sources have said everything, and time has come to where it is outside.
  void CatchUp(const Outside& outside) {
    ReadAll(outside);
    engine->Advance(outside.time);
  }

  // Those of a process that is dead.
  void EndLeases(Outside& outside) {
    notes.EndLeases();
    outside.lent.clear();
  }

  std::string LeaseUpTo(size_t max, Outside& outside) {
    std::string said;
    for (const Leased<Notes>& lease : notes.Lease(max, 30s, kLease0)) {
      outside.seen.See(lease);
      outside.seen.See(lease.delivery.token);
      outside.lent.push_back({lease.delivery.token, lease.state.numbers});
      Append(said, lease);
    }
    return said;
  }

  // Goes on to the end of all, and returns what it says on the way.
  std::string Conclude(Outside& outside) {
    std::string said;
    EndLeases(outside);
    CatchUp(outside);
    said += LookAtMembers();
    said += LeaseUpTo(1, outside);
    outside.time += 1h;
    engine->Advance(outside.time);
    said += LeaseUpTo(100, outside);
    while (!outside.lent.empty()) AckFirst(outside);
    for (const Emission<Notes>& emission : notes.Pop(100)) {
      Append(said, emission);
      Finish(emission, outside);
    }
    CheckWhole(notes.any());
    if (plays_) CheckWhole(plays_->any());
    if (members_) members_->any().CheckWhole();
    return said + Look();
  }

 private:
  // Reads what the sources have said, from where the engine stands, in the order of
  // the stamps; and time goes on with them, as it did.
  void ReadAll(const Outside& outside) {
    uint64_t note = Position();
    uint64_t arrival = MembersMark();
    const auto next = [](const std::vector<EngineTime>& stamps, uint64_t i) {
      return i < stamps.size() ? stamps[i] : kEndOfTime;
    };
    for (;;) {
      const EngineTime at = std::min(next(outside.source, note), next(outside.arrivals, arrival));
      if (at == kEndOfTime) return;
      engine->Advance(at);
      note = ReadNotes(outside, note, at);
      arrival = ReadArrivals(outside, arrival, at);
    }
  }

  // Those with the stamp `at`, which are one batch. Returns the first that has a later one.
  uint64_t ReadNotes(const Outside& outside, uint64_t begin, EngineTime at) {
    std::vector<KeyedEvent<Note>> batch;
    uint64_t i = begin;
    for (; i < outside.source.size() && outside.source[i] == at; ++i) {
      batch.push_back({Keys()[i % kPartitions], at, {i}});
    }
    if (i == begin) return i;
    notes.FoldBatch(batch, {}, {}, SourcePosition{.source = kNotesSource, .offset = begin});
    return i;
  }

  // Likewise. Of two members of a series, one has a TTL of its own and ends at the next tick.
  uint64_t ReadArrivals(const Outside& outside, uint64_t begin, EngineTime at) {
    std::vector<KeyedEvent<LiveSetEvent<uint64_t>>> batch;
    std::vector<KeyedEvent<CounterEvent>> counts;
    uint64_t i = begin;
    for (; i < outside.arrivals.size() && outside.arrivals[i] == at; ++i) {
      const std::string& series = Keys()[i % kPartitions];
      const bool is_short = i / kPartitions % 2 == 0;
      LiveSetEvent<uint64_t> event{.id = is_short ? "s" : "l", .payload = i};
      if (is_short) event.ttl = 45s;
      batch.push_back({series, at, event});
      counts.push_back({series, at, {.delta = 1}});
    }
    if (i == begin) return i;
    const SourcePosition position{.source = kArrivalsSource, .offset = begin};
    members_->AddBatch(batch, {}, {}, position);
    plays_->AddBatch(counts, {}, {}, position);
    return i;
  }

  uint64_t MembersMark() const {
    return std::min(engine->SourcePositionOf(kArrivalsSource, 0),
                    engine->SourcePositionOf(kArrivalsSource, 1));
  }

  void AckFirst(Outside& outside) {
    const Lent lent = outside.lent.front();
    outside.lent.erase(outside.lent.begin());
    if (notes.Ack(lent.token) != LeaseOutcome::kDone) return;
    outside.finished.insert(outside.finished.end(), lent.numbers.begin(), lent.numbers.end());
  }

  static void Finish(const Emission<Notes>& emission, Outside& outside) {
    outside.seen.See(emission);
    outside.finished.insert(outside.finished.end(), emission.state.numbers.begin(),
                            emission.state.numbers.end());
  }

  std::optional<LiveSet<uint64_t>> members_;
  std::optional<RollupCounter> plays_;
};

}  // namespace pleat::inline v0_1
