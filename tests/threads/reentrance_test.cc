// Functions of the caller's that run inside a call and call back: they are told so, and nothing hangs. Each of them
// tries everything that there is.
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <pleat/folder.h>

#include "tests/support/start.h"

namespace pleat::inline v0_1 {
namespace {

using namespace std::chrono_literals;
using testing::SizeIs;
using testing::UnorderedElementsAre;

struct Plain {
  int events = 0;
  void Fold(const int&) noexcept { ++events; }
};

// A state that calls back wherever it is told to.
struct Caller {
  enum class Where : uint8_t { kNowhere, kFold, kCopy, kMove, kDestructor, kHeapBytes };
  static inline Where where = Where::kNowhere;
  static inline std::function<void()> call_back;

  static void At(Where here) noexcept {
    if (where == here) call_back();
  }

  Caller() = default;
  Caller(const Caller& other) : events(other.events) { At(Where::kCopy); }
  Caller(Caller&& other) noexcept : events(other.events) { At(Where::kMove); }
  ~Caller() { At(Where::kDestructor); }
  void Fold(const int&) noexcept {
    ++events;
    At(Where::kFold);
  }
  size_t HeapBytes() const noexcept {
    At(Where::kHeapBytes);
    return 0;
  }

  int events = 0;
};

class CallingBack : public testing::Test {
 protected:
  void Open(FolderOptions options = {}, Folder<int, Caller>::Rules rules = {}) {
    options.quiet_period = 10s;
    options.max_wait = kForever;
    engine_ = *Engine::Open({.partitions = 1});
    engine_->Advance(kT0);
    folder_ = *Folder<int, Caller>::Open(*engine_, "calling", options, std::move(rules));
    other_engine_ = *Engine::Open({.partitions = 1});
    other_ =
        *Folder<int, Plain>::Open(*other_engine_, "other", {.quiet_period = 1s, .max_wait = 1s});
    Caller::call_back = [this] { TryEverything(); };
  }
  void TearDown() override {
    Caller::where = Caller::Where::kNowhere;
    const Ledger ledger = folder_->ledger();
    EXPECT_TRUE(ledger.Balances());
    EXPECT_EQ(ledger.events, folded_);  // none of those from inside
    EXPECT_EQ(other_->ledger(), Ledger{});
    folder_.reset();
    engine_.reset();
    Caller::call_back = nullptr;
  }

  // From inside of a call. A call on another engine could wait for it just as well.
  void TryEverything() {
    ++called_back_;
    const std::vector<KeyedEvent<int>> batch(5, {.key = "inner", .at = kT0, .event = 1});
    std::vector<FoldOutcome> outcomes(batch.size());
    EXPECT_EQ(folder_->Fold("inner", 1, kT0), FoldOutcome::kWouldDeadlock);
    EXPECT_EQ(folder_->FoldBatch(batch, outcomes)[FoldOutcome::kWouldDeadlock], batch.size());
    EXPECT_THAT(outcomes, testing::Each(FoldOutcome::kWouldDeadlock));
    EXPECT_EQ(folder_->FoldBatch(batch, {}, PartitionRange::One(0))[FoldOutcome::kWouldDeadlock],
              batch.size());
    EXPECT_EQ(other_->Fold("inner", 1, kT0), FoldOutcome::kWouldDeadlock);
    EXPECT_EQ(other_->FoldBatch(batch)[FoldOutcome::kWouldDeadlock], batch.size());
    EXPECT_EQ(folder_->any().ops().size, sizeof(Caller));
    AnyFolder any = folder_->any();
    EXPECT_EQ(any.Pop(9, {}, [](std::span<const ClosedGroup>) {}), 0);
    EXPECT_EQ(any.Lease(9, 1s, kLease0, {}, [](const ClosedGroup&, const Delivery&) {}), 0);
    EXPECT_EQ(folder_->LeaseEach(9, 1s, kLease0, [](const LeasedRef<Caller>&) {}), 0);
    for (const LeaseOutcome outcome : {folder_->Ack({}), folder_->AckAndTake({}).outcome,
                                       folder_->Nack({}), folder_->Extend({}, 1s, kLease0).outcome,
                                       folder_->RetryDeadLetter({}), folder_->DropDeadLetter({})}) {
      EXPECT_EQ(outcome, LeaseOutcome::kWouldDeadlock);
    }
    std::vector<LeaseOutcome> acks(2);
    EXPECT_EQ(folder_->Ack(std::vector<LeaseToken>(2), acks), 0);
    EXPECT_THAT(acks, testing::Each(LeaseOutcome::kWouldDeadlock));
    EXPECT_FALSE(folder_->Flush("k"));
    EXPECT_FALSE(folder_->Cancel("k"));
    EXPECT_FALSE(any.Peek("k", [](const GroupInfo&, const void*) {}));
    ScanCursor cursor;
    EXPECT_FALSE(any.Scan(cursor, 9, [](std::string_view, const GroupInfo&, const void*) {}));
    EXPECT_FALSE(any.ScanDeadLetters(cursor, 9, [](const ClosedGroup&, const Death&) {}));
    const auto inner =
        Folder<int, Caller>::Open(*engine_, "inner", {.quiet_period = 1s, .max_wait = 1s});
    EXPECT_EQ(inner.status().code(), absl::StatusCode::kFailedPrecondition);
    folder_->CloseAll();
    folder_->Close();
    any.Advance(kT0 + 24h);
    engine_->Advance(kT0 + 24h);
    EXPECT_TRUE(engine_->Advance(kT0 + 24h, 1));
    EXPECT_TRUE(engine_->AdvanceLeases(LeaseTime(kT0 + 24h)));
    engine_->Stop();
    EXPECT_EQ(folder_->ledger(), Ledger{});
    EXPECT_EQ(folder_->sizes(), Sizes{});
    EXPECT_EQ(folder_->deaths(), 0u);
    EXPECT_FALSE(any.closed());
    // These wait for nobody.
    EXPECT_LT(engine_->now(), kT0 + 24h);
    static_cast<void>(engine_->NextDeadline());
    static_cast<void>(engine_->NextLeaseDeadline());
  }

  void Fold(const char* key) {
    ++folded_;
    const FoldOutcome outcome = folder_->Fold(key, 1, engine_->now());
    EXPECT_TRUE(outcome == FoldOutcome::kOpened || outcome == FoldOutcome::kFolded);
  }
  void FoldBatch(size_t size) {
    folded_ += size;
    const std::vector<KeyedEvent<int>> batch(size, {.key = "k", .at = engine_->now(), .event = 1});
    EXPECT_EQ(folder_->FoldBatch(batch)[FoldOutcome::kWouldDeadlock], 0);
  }

  std::unique_ptr<Engine> engine_;
  std::optional<Folder<int, Caller>> folder_;
  std::unique_ptr<Engine> other_engine_;
  std::optional<Folder<int, Plain>> other_;
  uint64_t folded_ = 0;
  int called_back_ = 0;
};

// C6, nasty-cases 45.
TEST_F(CallingBack, FromTheFoldFunctionOfAFold) {
  Open();
  Caller::where = Caller::Where::kFold;
  Fold("k");
  EXPECT_EQ(called_back_, 1);
}

TEST_F(CallingBack, FromTheFoldFunctionOfABatch) {
  Open();
  Caller::where = Caller::Where::kFold;
  FoldBatch(2);  // folded one by one
  FoldBatch(100);
  EXPECT_EQ(called_back_, 102);
}

TEST_F(CallingBack, FromRules) {
  std::vector<std::string_view> asked;
  const auto in = [&](std::string_view rule) { asked.push_back(rule), TryEverything(); };
  Folder<int, Caller>::Rules rules;
  static_assert(sizeof(rules) == 9 * sizeof(std::function<void()>), "a new rule is tried here too");
  rules.starts = [=](const int&) { return in("starts"), false; };
  rules.ends = [=](const int&) { return in("ends"), false; };
  rules.condition = [=](const Caller&) { return in("condition"), false; };
  rules.quiet_period = [=](std::string_view, const int&) { return in("quiet_period"), 0s; };
  rules.close_at = [=](std::string_view, const int&) { return in("close_at"), kNever; };
  rules.closing_time = [=](EngineTime) { return in("closing_time"), kNever; };
  rules.key_class = [=](std::string_view, const int&) { return in("key_class"), 1; };
  rules.id = [=](const int&) { return in("id"), std::string_view("name"); };
  rules.content = [=](const int&) { return in("content"), 0; };
  Open({.quiet_floor = 1s, .late = {.allowed_lateness = 1h}}, std::move(rules));
  Fold("k");
  EXPECT_THAT(asked, UnorderedElementsAre("starts", "ends", "condition", "quiet_period", "close_at",
                                          "closing_time", "key_class", "id", "content"));
}

TEST_F(CallingBack, FromHeapBytes) {
  Open();
  Caller::where = Caller::Where::kHeapBytes;
  Fold("k");
  Fold("k");
  EXPECT_GT(called_back_, 2);
}

TEST_F(CallingBack, FromACopyForALeadingEdge) {
  Open({.edge = Edge::kLeading});
  Caller::where = Caller::Where::kCopy;
  Fold("k");
  EXPECT_EQ(called_back_, 1);
}

TEST_F(CallingBack, FromTheCopiesOfPeekScanLeaseAndDeadLetters) {
  Open({.leases = {.max_deliveries = 1}});
  Fold("k");
  Caller::where = Caller::Where::kCopy;
  EXPECT_TRUE(folder_->Peek("k"));
  ScanCursor cursor;
  std::vector<OpenGroup<Caller>> open;
  EXPECT_FALSE(folder_->Scan(cursor, 9, open));
  EXPECT_THAT(open, SizeIs(1));
  Caller::where = Caller::Where::kNowhere;
  engine_->Advance(kT0 + 10s);
  Caller::where = Caller::Where::kCopy;
  EXPECT_THAT(folder_->Lease(1, 1s, kLease0), SizeIs(1));
  EXPECT_TRUE(engine_->AdvanceLeases(LeaseTime(kT0 + 11s)));
  std::vector<DeadLetter<Caller>> letters;
  cursor = {};
  EXPECT_FALSE(folder_->ScanDeadLetters(cursor, 9, letters));
  EXPECT_THAT(letters, SizeIs(1));
  EXPECT_GE(called_back_, 4);
}

TEST_F(CallingBack, FromTheMoveOfAPop) {
  Open();
  Fold("k");
  engine_->Advance(kT0 + 10s);
  const Caller::Where move = Caller::Where::kMove;
  AnyFolder any = folder_->any();
  const size_t popped = any.Pop(1, {}, [&](std::span<const ClosedGroup> groups) {
    Caller::where = move;
    Caller& state = *static_cast<Caller*>(groups.front().state);
    const Caller out(std::move(state));
    Caller::where = Caller::Where::kNowhere;
    state.~Caller();
  });
  EXPECT_EQ(popped, 1);
  EXPECT_EQ(called_back_, 1);
}

TEST_F(CallingBack, FromTheLookAtALeaseAndTheMoveOfItsAck) {
  Open();
  Fold("k");
  engine_->Advance(kT0 + 10s);
  LeaseToken token;
  const size_t lent = folder_->LeaseEach(1, 1s, kLease0, [&](const LeasedRef<Caller>& lease) {
    TryEverything();
    EXPECT_EQ(folder_->Ack(lease.delivery.token), LeaseOutcome::kWouldDeadlock);
    token = lease.delivery.token;
  });
  EXPECT_EQ(lent, 1);
  EXPECT_EQ(called_back_, 1);
  Caller::where = Caller::Where::kMove;
  AnyFolder any = folder_->any();
  const LeaseOutcome acked = any.AckAndTake(token, [&](std::span<const ClosedGroup> groups) {
    Caller& state = *static_cast<Caller*>(groups.front().state);
    const Caller out(std::move(state));
    Caller::where = Caller::Where::kNowhere;
    state.~Caller();
  });
  EXPECT_EQ(acked, LeaseOutcome::kDone);
  EXPECT_EQ(called_back_, 2);
}

TEST_F(CallingBack, FromDestructors) {
  Open({.leases = {.max_deliveries = 1}});
  for (const char* key : {"cancelled", "acked", "letter"}) Fold(key);
  Caller::where = Caller::Where::kDestructor;
  EXPECT_TRUE(folder_->Cancel("cancelled"));
  EXPECT_EQ(called_back_, 1);
  Caller::where = Caller::Where::kNowhere;
  engine_->Advance(kT0 + 10s);
  std::vector<LeaseToken> tokens;
  AnyFolder any = folder_->any();
  any.Lease(2, 1s, kLease0, {}, [&](const ClosedGroup&, const Delivery& delivery) {
    tokens.push_back(delivery.token);
  });
  ASSERT_THAT(tokens, SizeIs(2));
  EXPECT_EQ(folder_->Nack(tokens[1]), LeaseOutcome::kDone);
  Caller::where = Caller::Where::kDestructor;
  EXPECT_EQ(folder_->Ack(tokens[0]), LeaseOutcome::kDone);
  EXPECT_EQ(called_back_, 2);
  EXPECT_EQ(folder_->DropDeadLetter(tokens[1]), LeaseOutcome::kDone);
  EXPECT_EQ(called_back_, 3);
}

TEST(CallingBackAtTheEnd, FromDestructorsWhileTheEngineGoes) {
  auto engine = *Engine::Open({.partitions = 2});
  Folder<int, Caller> folder(*engine, "calling", {.quiet_period = 10s, .max_wait = kForever});
  folder.Fold("k", 1, kT0);
  int called_back = 0;
  Caller::call_back = [&] {
    ++called_back;
    EXPECT_EQ(folder.Fold("k", 1, kT0), FoldOutcome::kWouldDeadlock);
    EXPECT_EQ(folder.ledger(), Ledger{});
  };
  Caller::where = Caller::Where::kDestructor;
  engine.reset();
  Caller::where = Caller::Where::kNowhere;
  EXPECT_EQ(called_back, 1);
  EXPECT_EQ(folder.Fold("k", 1, kT0), FoldOutcome::kStopped);
}

struct CallingAlarm final : EngineAlarm {
  explicit CallingAlarm(std::function<void(EngineTime)> call) : call_back(std::move(call)) {}
  void DeadlineIsEarlier(EngineTime deadline) noexcept override { call_back(deadline); }
  void LeaseDeadlineIsEarlier(LeaseTime) noexcept override {}
  std::function<void(EngineTime)> call_back;
};

TEST_F(CallingBack, FromAnAlarm) {
  Open();
  CallingAlarm alarm([this](EngineTime deadline) {
    EXPECT_EQ(engine_->NextDeadline(), deadline);
    TryEverything();
  });
  engine_->SetAlarm(alarm);
  Fold("k");
  EXPECT_EQ(called_back_, 1);
  engine_->RemoveAlarm(alarm);
}

// Only the thread that is inside of a call is told so, and only as long as it is.
TEST_F(CallingBack, LeavesOtherThreadsAndLaterCallsAlone) {
  Open();
  std::optional<FoldOutcome> elsewhere;
  Caller::call_back = [&] { std::thread([&] { elsewhere = other_->Fold("k", 1, kT0); }).join(); };
  Caller::where = Caller::Where::kFold;
  Fold("k");
  EXPECT_EQ(elsewhere, FoldOutcome::kOpened);
  Caller::where = Caller::Where::kNowhere;
  Fold("k");
  EXPECT_TRUE(other_->Cancel("k"));
  other_ = *Folder<int, Plain>::Open(*other_engine_, "fresh", {.quiet_period = 1s, .max_wait = 1s});
}

}  // namespace
}  // namespace pleat::inline v0_1
