// Four things are compared: what the calls have answered, what the ledger says, what came out, and where each event
// ended up (tracked_events.h). Limits are small and keys few, so that calls meet. In every fourth round the engine
// is destroyed in the middle of it all.
#include "tests/threads/stress_round.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <memory>
#include <mutex>
#include <shared_mutex>
#include <thread>
#include <utility>
#include <vector>

#include <pleat/folder.h>

#include "tests/support/start.h"
#include "tests/threads/stress_config.h"
#include "tests/threads/tracked_events.h"

namespace pleat::inline v0_1 {
namespace {

using namespace std::chrono_literals;
constexpr size_t kBatchMax = 12;
constexpr int kSideFolders = 4;

// Freed when it was taken away: a call after that is a use of freed memory, and so seen by a sanitizer.
struct Counter final : EmissionListener, EngineAlarm {
  explicit Counter(std::atomic<uint64_t>& counted) : told(counted) {}
  void MayHaveEmissions() noexcept override { ++told; }
  void DeadlineIsEarlier(EngineTime) noexcept override { ++told; }
  void LeaseDeadlineIsEarlier(LeaseTime) noexcept override { ++told; }
  std::atomic<uint64_t>& told;
};

class Round {
 public:
  Round(uint64_t seed, int threads, uint64_t operations)
      : choices_(seed),
        config_(DrawConfig(choices_)),
        operations_each_(operations / static_cast<uint64_t>(threads)),
        events_each_(static_cast<uint32_t>(operations_each_ + operations_each_ / 4 + kBatchMax)),
        tracks_(config_.keys.size(), events_each_ * static_cast<size_t>(threads),
                {.keys_in_order =
                     !config_.stamps_ahead && config_.folder.late.on_late != OnLate::kCorrect,
                 .max_deliveries = config_.folder.leases.max_deliveries,
                 .tries_on = config_.folder.leases.on_dead_limit == OnDeadLimit::kKeepTrying}),
        engine_(*Engine::Open(config_.engine)),
        folder_(*engine_, "stress", config_.folder, config_.rules) {
    config_.engine_goes = seed % 4 == 3;
    if (config_.engine.axis == Axis::kArrival) engine_->Advance(kT0);
    for (int i = 0; i < threads; ++i) {
      workers_.push_back(std::make_unique<Worker>(*this, i, choices_.Below(UINT64_MAX)));
    }
  }

  std::optional<std::string> Run(StressSeen& seen);

 private:
  class Worker;

  // Calls `use(engine)` if the engine is there: what is called on the engine itself has to be over before it is
  // destroyed. Only rounds in which that happens pay for it.
  template <class Use>
  void WithEngine(const Use& use) {
    if (!config_.engine_goes) return use(*engine_);
    const std::shared_lock guard(engine_lock_);
    if (engine_ != nullptr) use(*engine_);
  }
  void DestroyEngine() {
    const std::unique_lock guard(engine_lock_);
    engine_.reset();
  }

  void Drain();
  void Compare(StressSeen& seen);

  Choices choices_;
  StressConfig config_;
  const uint64_t operations_each_;
  const uint32_t events_each_;
  Tracks tracks_;
  std::shared_mutex engine_lock_;
  std::unique_ptr<Engine> engine_;
  TrackedFolder folder_;
  std::atomic<int64_t> tick_ = 0;
  std::atomic<uint64_t> told_ = 0;
  std::atomic<int> side_folders_ = 0;
  std::atomic<size_t> arrived_ = 0;
  std::atomic<size_t> far_ = 0;          // threads that have done most of their calls
  std::atomic<size_t> nearly_done_ = 0;  // or almost all
  std::mutex alarm_lock_;
  std::unique_ptr<Counter> alarm_;  // the engine's
  std::mutex shared_lock_;
  std::vector<std::pair<LeaseToken, EmissionId>> shared_;  // leases that any thread may end
  std::vector<std::unique_ptr<Worker>> workers_;
};

// What one thread does, and what it was answered.
class Round::Worker {
 public:
  Worker(Round& round, int index, uint64_t seed)
      : round_(round), index_(index), choices_(seed), folder_(round.folder_) {
    taken_.resize(round.events_each_);
  }

  // Threads begin together, and give way now and then, so that on few processors they meet as well.
  void Run() {
    const auto all = round_.workers_.size();
    ++round_.arrived_;
    while (round_.arrived_ < all) std::this_thread::yield();
    for (uint64_t i = 0; i < round_.operations_each_; ++i) {
      if (round_.tracks_.failure() != nullptr) break;
      // By one of them, while others have a good part before them.
      if (i == round_.operations_each_ * 7 / 10 && round_.config_.engine_goes &&
          ++round_.far_ == (all + 1) / 2) {
        round_.DestroyEngine();
      }
      // By the last one that gets there.
      if (i == round_.operations_each_ * 97 / 100 && ++round_.nearly_done_ == all) {
        round_.WithEngine([](Engine& engine) { engine.Stop(); });
      }
      if (choices_.OneIn(64)) std::this_thread::yield();
      Step(choices_.Below(1000));
      ++operations;
    }
    TakeListenerAway();
    ChangeAlarm(/*sets=*/false);
  }

  // Takes everything out; for one thread, at the end.
  bool Drain() {
    const bool out = Pop(1000, {}) > 0;
    ScanDeadLetters(/*drops=*/true);
    return out;
  }

  uint32_t first_number() const { return static_cast<uint32_t>(index_) * round_.events_each_; }
  const std::vector<bool>& taken() const { return taken_; }

  uint64_t operations = 0;
  std::array<uint64_t, kFoldOutcomes> outcomes{};
  std::set<Reason> reasons;
  Tally tally;
  std::vector<EmissionId> acked;

 private:
  void Step(uint64_t choice);
  void FoldOne();
  void FoldSome();
  size_t Pop(size_t max, PartitionRange from);
  LeaseTime Now() const { return LeaseTime(folder_.any().now()); }
  void Lease();
  void EndLease();
  void Advance();
  void ScanDeadLetters(bool drops);
  void Look();
  void ChangeListener();
  void TakeListenerAway();
  void ChangeAlarm(bool sets);
  void UseSideFolder();

  KeyedEvent<TrackedEvent> NextEvent();
  bool HasEvents(size_t n) const { return next_ + n <= round_.events_each_; }
  void Note(uint32_t number, FoldOutcome outcome) {
    ++outcomes[static_cast<size_t>(outcome)];
    taken_[number - first_number()] = outcome == FoldOutcome::kOpened ||
                                      outcome == FoldOutcome::kFolded ||
                                      outcome == FoldOutcome::kCorrected;
  }
  PartitionRange AnyRange() {
    if (choices_.OneIn(2)) return {};
    const int workers = choices_.Between(1, 6);
    return PartitionRange::ForWorker(choices_.Between(0, workers - 1), workers,
                                     round_.config_.engine.partitions);
  }
  const std::string& AnyKey() {
    return round_.config_.keys[choices_.Below(round_.config_.keys.size())];
  }
  void Expect(bool holds, const char* what) {
    if (!holds) round_.tracks_.Fail(what);
  }

  Round& round_;
  const int index_;
  Choices choices_;
  TrackedFolder folder_;
  std::vector<bool> taken_;
  uint32_t next_ = 0;
  std::vector<std::pair<LeaseToken, EmissionId>> held_;
  std::unique_ptr<Counter> listener_;
};

void Round::Worker::Step(uint64_t choice) {
  const auto is = [&choice](uint64_t share) {
    if (choice < share) return true;
    choice -= share;
    return false;
  };
  if (is(400)) return FoldOne();
  if (is(50)) return FoldSome();
  if (is(70)) return static_cast<void>(Pop(1 + choices_.Below(4), AnyRange()));
  if (is(120)) return Lease();
  if (is(180)) return EndLease();
  if (is(90)) return Advance();
  if (is(20)) return static_cast<void>(folder_.Flush(AnyKey()));
  if (is(15)) {
    if (folder_.Cancel(AnyKey())) ++tally["cancelled"];
    return;
  }
  if (is(20)) return ScanDeadLetters(/*drops=*/false);
  if (is(25)) return Look();
  if (is(3)) return ChangeListener();
  if (is(3)) return ChangeAlarm(/*sets=*/true);
  if (is(2)) return UseSideFolder();
  if (is(1)) return folder_.CloseAll();
  static_cast<void>(folder_.Flush(AnyKey()));
}

KeyedEvent<TrackedEvent> Round::Worker::NextEvent() {
  const auto key = static_cast<uint32_t>(choices_.Below(round_.config_.keys.size()));
  EngineTime at;
  if (round_.config_.engine.axis == Axis::kEvent) {
    at = kT0 + Duration{round_.tick_.fetch_add(choices_.OneIn(3) ? 1 : 0)} + choices_.Ticks(-20, 5);
  } else {
    at = folder_.any().now() + choices_.Ticks(-15, round_.config_.stamps_ahead ? 15 : 0);
  }
  if (choices_.OneIn(100)) at -= 100us;
  if (choices_.OneIn(500) && round_.config_.engine.future_limit) at += 100us;
  const TrackedEvent event{.tracks = &round_.tracks_,
                           .key = key,
                           .number = first_number() + next_++,
                           .id = static_cast<char>('a' + choices_.Below(20)),
                           .marks = static_cast<uint8_t>(choices_.Below(8) & choices_.Below(8))};
  return {.key = round_.config_.keys[key], .at = at, .event = event};
}

void Round::Worker::FoldOne() {
  if (!HasEvents(1)) return;
  const auto event = NextEvent();
  Note(event.event.number, folder_.Fold(event.key, event.event, event.at));
}

void Round::Worker::FoldSome() {
  const size_t size = 1 + choices_.Below(kBatchMax);
  if (!HasEvents(size)) return;
  std::vector<KeyedEvent<TrackedEvent>> events;
  for (size_t i = 0; i < size; ++i) events.push_back(NextEvent());
  std::vector<FoldOutcome> outcomes_of(size);
  const PartitionRange only = AnyRange();
  const FoldCounts counts = folder_.FoldBatch(events, outcomes_of, only);
  FoldCounts recount;
  for (size_t i = 0; i < size; ++i) {
    recount.Add(outcomes_of[i]);
    Note(events[i].event.number, outcomes_of[i]);
  }
  Expect(counts == recount, "a batch's counts are not those of its outcomes");
}

size_t Round::Worker::Pop(size_t max, PartitionRange from) {
  const auto& options = round_.config_.folder;
  std::vector<std::pair<EngineTime, Reason>> closed;
  std::vector<TrackedEvents> out;
  AnyFolder folder = folder_.any();
  const size_t count = folder.Pop(max, from, [&](std::span<const ClosedGroup> groups) {
    for (const ClosedGroup& group : groups) {
      Expect(from.Contains(static_cast<int>(group.id.partition)), "popped from out of the range");
      const bool plain = !round_.config_.rules.quiet_period;
      if (group.reason == Reason::kQuiet && plain) {
        Expect(group.closed == group.last + options.quiet_period, "closed is not the deadline");
      }
      closed.emplace_back(group.closed, group.reason);
      out.push_back(round_.tracks_.Popped(group));
    }
  });
  Expect(count == out.size() && count <= max, "popped more, or less, than was said");
  // To make room, and by CloseAll(), what was overtaken comes out before its time, but keeps it.
  const bool on_time = !round_.config_.stamps_ahead;
  const EngineTime now = folder_.any().now();
  for (const auto& [at, reason] : closed) {
    Expect(at <= now || !on_time, "closed early");
    reasons.insert(reason);
  }
  tally["popped"] += count;
  return count;
}

void Round::Worker::Lease() {
  const PartitionRange from = AnyRange();
  const size_t max = 1 + choices_.Below(3);
  std::vector<std::pair<LeaseToken, EmissionId>> leases;
  AnyFolder folder = folder_.any();
  const auto borrow = [&](const ClosedGroup& group, const Delivery& delivery) {
    Expect(from.Contains(static_cast<int>(group.id.partition)), "leased from out of the range");
    round_.tracks_.Lent(group, delivery);
    leases.emplace_back(delivery.token, group.id);
  };
  const size_t count = folder.Lease(max, choices_.Ticks(1, 40), Now(), from, borrow);
  Expect(count == leases.size() && count <= max, "leased more, or less, than was said");
  tally["deliveries"] += count;
  if (choices_.OneIn(4)) {
    const std::scoped_lock guard(round_.shared_lock_);
    auto& shared = round_.shared_;
    shared.insert(shared.end(), leases.begin(), leases.end());
    if (shared.size() > 30) shared.erase(shared.begin(), shared.end() - 20);
  } else {
    held_.insert(held_.end(), leases.begin(), leases.end());
    if (held_.size() > 12) held_.erase(held_.begin(), held_.end() - 8);
  }
}

void Round::Worker::EndLease() {
  std::pair<LeaseToken, EmissionId> lease;
  if (choices_.OneIn(4)) {
    const std::scoped_lock guard(round_.shared_lock_);
    if (round_.shared_.empty()) return;
    lease = round_.shared_[choices_.Below(round_.shared_.size())];
  } else {
    if (held_.empty()) return;
    const size_t which = choices_.Below(held_.size());
    lease = held_[which];
    if (!choices_.OneIn(8)) held_.erase(held_.begin() + static_cast<std::ptrdiff_t>(which));
  }
  const LeaseToken token = lease.first;
  LeaseOutcome outcome;
  switch (choices_.Below(6)) {
    case 0:
    case 1:
    case 2:
      outcome = folder_.Ack(token);
      if (outcome == LeaseOutcome::kDone) acked.push_back(lease.second);
      break;
    case 3:
    case 4:
      outcome = folder_.Nack(token, choices_.Ticks(-2, 60), Now());
      if (outcome == LeaseOutcome::kDone || outcome == LeaseOutcome::kClamped) ++tally["nacked"];
      break;
    default:
      outcome = folder_.Extend(token, choices_.Ticks(1, 120), Now()).outcome;
      held_.push_back(lease);
      break;
  }
  Expect(outcome != LeaseOutcome::kWouldDeadlock, "a call said that it is inside another one");
  if (outcome == LeaseOutcome::kStale) ++tally["stale"];
  if (outcome == LeaseOutcome::kClamped) ++tally["clamped"];
}

void Round::Worker::Advance() {
  const int64_t step = choices_.OneIn(200) ? 300 : static_cast<int64_t>(choices_.Below(4));
  const EngineTime to = kT0 + Duration{round_.tick_.fetch_add(step)};
  const bool leases = choices_.OneIn(2);
  const uint64_t way = choices_.Below(8);
  if (way == 0) return AnyFolder(folder_.any()).Advance(to);
  round_.WithEngine([&](Engine& engine) {
    if (leases) {
      static_cast<void>(engine.AdvanceLeases(LeaseTime(to), choices_.Below(5) - 1));
    } else if (way < 4) {
      static_cast<void>(engine.Advance(to, choices_.Below(6)));
    } else {
      engine.Advance(to);
      Expect(engine.now() >= to, "time went back");
    }
  });
}

void Round::Worker::ScanDeadLetters(bool drops) {
  ScanCursor cursor;
  std::vector<LeaseToken> letters;  // no copies: a scan may also cut partials, which are copies too
  const auto see = [&](const ClosedGroup& group, const Death& death) {
    const size_t events = static_cast<const TrackedEvents*>(group.state)->all().size();
    Expect(events == group.count, "a dead letter without its events");
    letters.push_back(death.token);
  };
  while (letters.size() < 100 && folder_.any().ScanDeadLetters(cursor, 4, see)) {
  }
  for (const LeaseToken& letter : letters) {
    if (drops || choices_.OneIn(3)) {
      tally["letters dropped"] += folder_.DropDeadLetter(letter) == LeaseOutcome::kDone;
    } else if (choices_.OneIn(2)) {
      tally["retried"] += folder_.RetryDeadLetter(letter) == LeaseOutcome::kDone;
    }
  }
}

void Round::Worker::Look() {
  const TrackedEvents::Viewing viewing;
  switch (choices_.Below(5)) {
    case 0: {
      const auto group = folder_.Peek(AnyKey());
      Expect(!group || group->state.all().size() == group->count, "a group without its events");
      break;
    }
    case 1: {
      ScanCursor cursor;
      std::vector<OpenGroup<TrackedEvents>> groups;
      while (folder_.Scan(cursor, 1 + choices_.Below(4), groups)) {
        if (groups.size() > 100) break;
      }
      for (const auto& group : groups) {
        Expect(group.state.all().size() == group.count, "a group without its events");
      }
      break;
    }
    case 2: Expect(folder_.ledger().Balances(), "the ledger does not balance"); break;
    case 3: Expect(folder_.sizes().open_groups < 1'000'000, "sizes that cannot be"); break;
    default:
      round_.WithEngine([](Engine& engine) {
        static_cast<void>(engine.NextDeadline());
        static_cast<void>(engine.NextLeaseDeadline());
      });
      break;
  }
}

void Round::Worker::ChangeListener() {
  if (listener_ != nullptr) return TakeListenerAway();
  listener_ = std::make_unique<Counter>(round_.told_);
  AnyFolder(folder_.any()).AddListener(*listener_, AnyRange());
}

void Round::Worker::TakeListenerAway() {
  if (listener_ == nullptr) return;
  AnyFolder folder = folder_.any();
  folder.RemoveListener(*listener_);
  listener_.reset();
}

// The alarm before may be another thread's. After its removal it is not called, and so may go.
void Round::Worker::ChangeAlarm(bool sets) {
  const std::lock_guard guard(round_.alarm_lock_);
  auto alarm = std::make_unique<Counter>(round_.told_);
  round_.WithEngine([&](Engine& engine) {
    engine.RemoveAlarm(*alarm);  // which is not set
    if (round_.alarm_ != nullptr) engine.RemoveAlarm(*round_.alarm_);
    if (sets) engine.SetAlarm(*alarm);
  });
  round_.alarm_ = sets ? std::move(alarm) : nullptr;
}

struct Sum {
  int64_t sum = 0;
  void Fold(const int& value) noexcept { sum += value; }
};

// A folder opened meanwhile, by several threads under the same name; one of them gets it.
void Round::Worker::UseSideFolder() {
  const int number = round_.side_folders_.fetch_add(1) / 2;
  if (number >= kSideFolders) return;
  std::optional<Folder<int, Sum>> side;
  round_.WithEngine([&](Engine& engine) {
    auto opened = Folder<int, Sum>::Open(engine, "side" + std::to_string(number),
                                         {.quiet_period = 5us, .max_wait = 50us, .max_events = 3});
    if (opened.ok()) side = *opened;
  });
  if (!side) return;
  int64_t folded = 0;
  for (int i = 0; i < 20; ++i) {
    const FoldOutcome outcome = side->Fold(std::to_string(i % 3), i, folder_.any().now());
    if (outcome == FoldOutcome::kOpened || outcome == FoldOutcome::kFolded) folded += i;
  }
  side->CloseAll();
  int64_t seen = 0;
  for (auto& lease : side->Lease(2, 1h, LeaseTime(kT0))) {
    if (lease.Ack() == LeaseOutcome::kDone) seen += lease.state.sum;
  }
  const auto expired = side->PopExpired(kT0, 2);
  for (const auto& emission : expired) seen += emission.state.sum;
  while (side->PopEach(3, [&](Emission<Sum>&& emission) { seen += emission.state.sum; }) > 0) {
  }
  const Ledger ledger = side->ledger();
  Expect(ledger.Balances(), "the ledger does not balance");
  // With the engine gone, or a stamp that waits for time, there is less.
  if (!round_.config_.engine_goes) {
    Expect(seen == folded && ledger.ready == 0, "a folder opened meanwhile lost something");
  }
}

std::optional<std::string> Round::Run(StressSeen& seen) {
  {
    std::vector<std::thread> threads;
    for (const auto& worker : workers_) threads.emplace_back([&worker] { worker->Run(); });
    for (std::thread& thread : threads) thread.join();
  }
  if (tracks_.failure() == nullptr && !config_.engine_goes) Drain();
  if (tracks_.failure() == nullptr) Compare(seen);
  if (tracks_.failure() == nullptr) return std::nullopt;
  return tracks_.failure() + Describe(config_);
}

void Round::Drain() {
  engine_->Stop();
  folder_.CloseAll();
  EngineTime now = kT0 + Duration{tick_.load()};
  for (int i = 0; i < 1000; ++i) {
    now += 1h;
    engine_->Advance(now);
    static_cast<void>(engine_->AdvanceLeases(LeaseTime(now)));
    if (!workers_[0]->Drain()) break;
  }
  const Sizes sizes = folder_.sizes();
  if (sizes.open_groups + sizes.ready_emissions + sizes.unacked_emissions + sizes.dead_letters >
      0) {
    fprintf(stderr, "open %zu ready %zu unacked %zu dead %zu\n", sizes.open_groups,
            sizes.ready_emissions, sizes.unacked_emissions, sizes.dead_letters);
    tracks_.Fail("not everything came out in the end");
  }
  if (sizes.bytes > 0 && !config_.remembers) tracks_.Fail("bytes are held by nothing");
}

void Round::Compare(StressSeen& seen) {
  std::array<uint64_t, kFoldOutcomes> outcomes{};
  Tally sum;
  std::vector<EmissionId> acked;
  for (const auto& worker : workers_) {
    for (size_t i = 0; i < kFoldOutcomes; ++i) outcomes[i] += worker->outcomes[i];
    seen.reasons.merge(worker->reasons);
    seen.operations += worker->operations;
    sum += worker->tally;
    acked.insert(acked.end(), worker->acked.begin(), worker->acked.end());
  }
  seen.counts += sum;
  for (size_t i = 0; i < kFoldOutcomes; ++i) {
    if (outcomes[i] > 0) seen.outcomes.insert(static_cast<FoldOutcome>(i));
  }
  seen.counts["told"] += told_;
  seen.counts["folders"] += static_cast<uint64_t>(side_folders_);
  if (engine_ == nullptr) {
    if (folder_.ledger() != Ledger{} || !folder_.any().closed())
      tracks_.Fail("gone, but not empty");
    ++seen.counts["engines gone"];
  } else {
    // An ack may be repeated, so that what was acked is counted by its ids.
    std::ranges::sort(acked, {},
                      [](const EmissionId& id) { return std::pair(id.partition, id.generation); });
    acked.erase(std::unique(acked.begin(), acked.end()), acked.end());
    const Ledger ledger = folder_.ledger();
    const auto same = [&](uint64_t counted, uint64_t answered, const char* what) {
      if (counted != answered) tracks_.Fail(what);
    };
    const auto answered = [&](FoldOutcome outcome) {
      return outcomes[static_cast<size_t>(outcome)];
    };
    if (!ledger.Balances()) tracks_.Fail("the ledger does not balance");
    same(ledger.opened, answered(FoldOutcome::kOpened), "ledger: opened");
    same(ledger.folded, answered(FoldOutcome::kFolded), "ledger: folded");
    same(ledger.late, answered(FoldOutcome::kLate), "ledger: late");
    same(ledger.future, answered(FoldOutcome::kFuture), "ledger: future");
    same(ledger.over_limit, answered(FoldOutcome::kOverLimit), "ledger: refused");
    same(ledger.overloaded, answered(FoldOutcome::kOverloaded), "ledger: overloaded");
    same(ledger.duplicate, answered(FoldOutcome::kDuplicate), "ledger: duplicate");
    same(ledger.conflict, answered(FoldOutcome::kConflict), "ledger: conflict");
    same(ledger.corrected, answered(FoldOutcome::kCorrected), "ledger: corrected");
    same(0, answered(FoldOutcome::kWouldDeadlock), "a call said that it is inside another one");
    same(ledger.popped, sum["popped"], "ledger: popped");
    same(ledger.acked, acked.size(), "ledger: acked");
    same(ledger.cancelled, sum["cancelled"], "ledger: cancelled");
    same(ledger.nacked, sum["nacked"], "ledger: nacked");
    same(ledger.deliveries, sum["deliveries"], "ledger: deliveries");
    same(ledger.deliveries, ledger.acked + ledger.nacked + ledger.ran_out, "ledger: ran out");
    same(tracks_.destroyed(), ledger.acked + ledger.cancelled + ledger.dropped + ledger.silent,
         "states destroyed that were not over, or not destroyed that were");
    if (ledger.dropped < sum["letters dropped"]) tracks_.Fail("ledger: dropped");
    seen.counts["acked"] += ledger.acked;
    seen.counts["ran out"] += ledger.ran_out;
    seen.counts["dropped"] += ledger.dropped;
    seen.counts["events"] += ledger.events;
  }
  for (const auto& worker : workers_) {
    for (uint32_t i = 0; i < worker->taken().size(); ++i) {
      tracks_.Expect(worker->first_number() + i, worker->taken()[i]);
    }
  }
}

}  // namespace

std::optional<std::string> RunStressRound(uint64_t seed, int threads, uint64_t operations,
                                          StressSeen& seen) {
  Round round(seed, threads, operations);
  return round.Run(seen);
}

}  // namespace pleat::inline v0_1
