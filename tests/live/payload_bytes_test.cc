// Payloads that own heap memory count against max_bytes: when a member is added, and when it becomes
// larger.
#include <chrono>
#include <memory>
#include <optional>
#include <random>
#include <string>

#include <gtest/gtest.h>
#include <pleat/live_set.h>
#include <pleat/presence.h>

#include "tests/support/start.h"

namespace pleat::inline v0_1 {
namespace {

using namespace std::chrono_literals;

struct HeapText {
  std::string text;

  size_t HeapBytes() const noexcept { return text.size(); }
  friend bool operator==(const HeapText&, const HeapText&) = default;
};

constexpr size_t kBytesAllowed = 20 * 1024;
constexpr int kSmallMembers = 40;

// A live set with forty small members of one series, added in the order of their numbers.
class PayloadBytes : public testing::TestWithParam<Refresh> {
 protected:
  void Open(OnLiveSetLimit on_limit) {
    live_set_ =
        LiveSet<HeapText>::Open(*engine_, "w",
                                {.ttl = 1h,
                                 .refresh = GetParam(),
                                 .limits = {.max_bytes = kBytesAllowed, .on_limit = on_limit}})
            .value();
    engine_->Advance(kT0);
    for (int i = 0; i < kSmallMembers; ++i) ASSERT_EQ(Add(i, 0, 1), LiveSetOutcome::kAdded);
  }
  LiveSetOutcome Add(int number, int seconds, size_t size) {
    const std::string id = std::to_string(number);
    const LiveSetOutcome outcome = live_set_->Add(
        "s", {.id = id, .payload = {std::string(size, 'x')}}, kT0 + seconds * 1s + number * 1ms);
    EXPECT_LE(live_set_->sizes().bytes, kBytesAllowed);
    EXPECT_TRUE(live_set_->ledger().Balances());
    live_set_->any().CheckWhole();
    return outcome;
  }
  size_t SizeOf(int number) const {
    return live_set_->Find("s", std::to_string(number)).value().payload.text.size();
  }

  const std::unique_ptr<Engine> engine_ =
      *Engine::Open({.partitions = 1, .huge_pages = HugePages::kOff});
  std::optional<LiveSet<HeapText>> live_set_;
};
INSTANTIATE_TEST_SUITE_P(, PayloadBytes, testing::Values(Refresh::kLatest, Refresh::kReplace));

TEST_P(PayloadBytes, AMemberThatWouldBecomeTooLargeStaysAsItWas) {
  Open(OnLiveSetLimit::kRefuse);
  EXPECT_EQ(Add(7, 1, 2 * kBytesAllowed), LiveSetOutcome::kOverLimit);
  EXPECT_EQ(SizeOf(7), 1u);
  EXPECT_EQ(live_set_->Count("s"), size_t{kSmallMembers});
  EXPECT_EQ(live_set_->ledger().over_limit, 1u);
  EXPECT_EQ(live_set_->ledger().replaced, 0u);
}

TEST_P(PayloadBytes, OthersMakeRoomForAMemberThatBecomesLarger) {
  Open(OnLiveSetLimit::kDropOldest);
  const int newest = kSmallMembers - 1;
  Add(newest, 1, kBytesAllowed * 9 / 10);
  EXPECT_EQ(SizeOf(newest), kBytesAllowed * 9 / 10);
  EXPECT_GT(live_set_->ledger().dropped, 0u);
  EXPECT_FALSE(live_set_->Contains("s", "0"));
}

TEST_P(PayloadBytes, TheMemberThatMakesRoomForItselfIsAddedAgain) {
  Open(OnLiveSetLimit::kDropOldest);
  EXPECT_EQ(Add(0, 1, kBytesAllowed * 9 / 10), LiveSetOutcome::kAdded);
  EXPECT_EQ(SizeOf(0), kBytesAllowed * 9 / 10);
  EXPECT_GT(live_set_->ledger().dropped, 0u);
}

TEST_P(PayloadBytes, NobodyMakesRoomForAPayloadThatIsLargerThanTheLimit) {
  Open(OnLiveSetLimit::kDropOldest);
  EXPECT_EQ(Add(7, 1, 2 * kBytesAllowed), LiveSetOutcome::kOverLimit);
  EXPECT_EQ(live_set_->Count("s"), size_t{kSmallMembers});
}

TEST_P(PayloadBytes, TheLimitHoldsForPayloadsOfAnySize) {
  for (const OnLiveSetLimit on_limit : {OnLiveSetLimit::kRefuse, OnLiveSetLimit::kDropOldest}) {
    Open(on_limit);
    std::mt19937_64 random(static_cast<uint64_t>(on_limit) + 1);
    for (int i = 1; i < 1'000 && !HasFailure(); ++i) {
      Add(static_cast<int>(random() % 30), i, random() % (kBytesAllowed / (1 + random() % 40)));
    }
    EXPECT_GT(live_set_->ledger().over_limit + live_set_->ledger().dropped, 0u);
    live_set_->Close();
  }
}

TEST(PresenceBytes, MetadataThatIsTooLargeIsRefused) {
  const std::unique_ptr<Engine> engine = *Engine::Open({.partitions = 1});
  engine->Advance(kT0);
  Presence<HeapText> presence(*engine, "p", {.limits = {.max_bytes = kBytesAllowed}});
  const HeapText large{std::string(2 * kBytesAllowed, 'x')};
  const Entered ann = presence.Enter("page", "ann", "tab", {"a"}, kT0);
  ASSERT_EQ(ann.outcome, PresenceOutcome::kJoined);
  EXPECT_EQ(presence.Update("page", "ann", "tab", ann.generation, large, kT0 + 1s),
            PresenceOutcome::kOverLimit);
  EXPECT_EQ(presence.Enter("page", "ann", "tab", large, kT0 + 1s).outcome,
            PresenceOutcome::kOverLimit);
  EXPECT_EQ(presence.Enter("page", "ann", "phone", large, kT0 + 1s).outcome,
            PresenceOutcome::kOverLimit);
  EXPECT_EQ(presence.Find("page", "ann").value().metadata.text, "a");
  EXPECT_EQ(presence.Beat("page", "ann", "tab", ann.generation, kT0 + 1s),
            PresenceOutcome::kRefreshed);
  EXPECT_LE(presence.sizes().bytes, kBytesAllowed);
  EXPECT_TRUE(presence.ledger().Balances());
}

}  // namespace
}  // namespace pleat::inline v0_1
