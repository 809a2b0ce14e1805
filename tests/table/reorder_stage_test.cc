// The reorder stage alone, against a sorted map.
#include "engine/table/reorder_stage.h"

#include <algorithm>
#include <map>
#include <memory>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "tests/support/seeds.h"
#include "tests/support/share.h"

namespace pleat::inline v0_1 {
namespace {

EngineTime At(int64_t microseconds) { return EngineTime(Duration(microseconds)); }

class StageTest : public testing::Test {
 protected:
  using Place = std::pair<EngineTime, uint64_t>;

  void Open(Duration bound, size_t max_bytes = SIZE_MAX) {
    stage_ = std::make_unique<ReorderStage>(bound, kForever, max_bytes);
  }

  // As the feed of a collection does it. Returns whether the line waits.
  bool Arrive(EngineTime at, const std::string& text = {}, bool is_control = false) {
    const uint64_t position = stage_->CountArrived(1);
    stage_->NoteStamp(at);
    if (at < stage_->passed()) return false;
    if (!stage_->HasPlaceFor(at)) TakeDue();
    const std::vector<uint32_t> words = {static_cast<uint32_t>(position), 7};
    stage_->Put({.at = at,
                 .position = position,
                 .size = static_cast<uint32_t>(text.size()),
                 .words = static_cast<uint32_t>(words.size()),
                 .is_control = is_control},
                words.data(), text);
    waiting_.emplace(Place(at, position), std::pair(text, is_control));
    return true;
  }

  void Expect(const WaitingEvent& line) {
    ASSERT_FALSE(waiting_.empty());
    const auto& [place, kept] = *waiting_.begin();
    ASSERT_EQ(Place(line.at, line.position), place);
    ASSERT_EQ(line.text(), kept.first);
    ASSERT_EQ(line.is_control, kept.second);
    ASSERT_EQ(line.kept().size(), 2u);
    ASSERT_EQ(line.kept()[0], static_cast<uint32_t>(line.position));
    taken_.push_back(line.position);
    waiting_.erase(waiting_.begin());
  }

  void TakeDue() {
    while (const WaitingEvent* line = stage_->TakeDue()) {
      ASSERT_LE(line->at, stage_->watermark());
      ASSERT_NO_FATAL_FAILURE(Expect(*line));
      if (taken_.size() % 3 == 0) stage_->FreeTaken();
    }
    stage_->FreeTaken();
    const bool none_due = waiting_.empty() || waiting_.begin()->first.first > stage_->watermark();
    ASSERT_TRUE(none_due);
  }

  void TakeOverLimit() {
    while (const WaitingEvent* line = stage_->TakeOverLimit()) {
      ASSERT_NO_FATAL_FAILURE(Expect(*line));
      stage_->FreeTaken();
    }
  }

  void ExpectSame() {
    ASSERT_EQ(stage_->waiting(), waiting_.size());
    ASSERT_EQ(stage_->next().has_value(), !waiting_.empty());
    ASSERT_EQ(stage_->next().value_or(kNever),
              waiting_.empty() ? kNever : waiting_.begin()->first.first);
    if (copy_ != nullptr) return;
    BeginCopy();
    GoOnWithCopy(SIZE_MAX);
  }

  void BeginCopy() {
    copy_ = stage_->Copy();
    left_of_copy_ = waiting_;
  }
  // A copy has what waited when it was begun, whatever has come and gone since.
  void GoOnWithCopy(size_t events) {
    for (; copy_ != nullptr && events > 0; --events) {
      const WaitingEvent* const line = copy_->Next();
      ASSERT_EQ(line == nullptr, left_of_copy_.empty());
      if (line == nullptr) {
        copy_.reset();
        return;
      }
      const auto& [place, kept] = *left_of_copy_.begin();
      ASSERT_EQ(Place(line->at, line->position), place);
      ASSERT_EQ(line->text(), kept.first);
      left_of_copy_.erase(left_of_copy_.begin());
    }
  }

  std::unique_ptr<ReorderStage> stage_;
  std::map<Place, std::pair<std::string, bool>> waiting_;
  std::vector<uint64_t> taken_;  // positions
  std::unique_ptr<WaitingCopy> copy_;
  std::map<Place, std::pair<std::string, bool>> left_of_copy_;
};

TEST_F(StageTest, LinesAreTakenWhenTheWatermarkHasReachedThem) {
  Open(Duration(30));
  for (const int64_t at : {40, 25, 33, 60}) {
    EXPECT_TRUE(Arrive(At(at)));
    TakeDue();
  }
  EXPECT_EQ(taken_, (std::vector<uint64_t>{1}));
  EXPECT_EQ(stage_->watermark(), At(30));
  stage_->Advance(At(60));
  TakeDue();
  EXPECT_EQ(taken_, (std::vector<uint64_t>{1, 2, 0, 3}));
}

TEST_F(StageTest, EqualStampsAreTakenInTheOrderOfArrival) {
  Open(Duration(10));
  for (const int64_t at : {5, 3, 5, 3, 5, 3}) Arrive(At(at));
  stage_->Advance(At(5));
  TakeDue();
  EXPECT_EQ(taken_, (std::vector<uint64_t>{1, 3, 5, 0, 2, 4}));
}

TEST_F(StageTest, ALineThatHasMissedItsTurnDoesNotWait) {
  Open(Duration(10));
  EXPECT_TRUE(Arrive(At(100)));
  EXPECT_TRUE(Arrive(At(90)));
  EXPECT_FALSE(Arrive(At(89)));
}

TEST_F(StageTest, OverItsBytesTheOldestAreTakenEarlyAndOlderOnesHaveMissedTheirTurn) {
  Open(Duration(1'000), /*max_bytes=*/2 * ReorderStage::BytesOf(5, 2));
  for (const int64_t at : {30, 10, 20}) Arrive(At(at), "12345");
  EXPECT_TRUE(stage_->is_over_limit());
  TakeOverLimit();
  EXPECT_EQ(taken_, (std::vector<uint64_t>{1}));
  EXPECT_EQ(stage_->taken_early(), 1u);
  EXPECT_EQ(stage_->passed(), At(10));
  EXPECT_FALSE(Arrive(At(9)));
  EXPECT_TRUE(Arrive(At(10)));
}

TEST_F(StageTest, TheFirstStampMayBeAnywhereAndLaterOnesAreJudgedByTheNewest) {
  ReorderStage stage(Duration(10), /*future_limit=*/Duration(100), SIZE_MAX);
  EXPECT_FALSE(stage.IsTooFarAhead(At(1'000'000)));
  stage.NoteStamp(At(1'000'000));
  EXPECT_FALSE(stage.IsTooFarAhead(At(1'000'100)));
  EXPECT_TRUE(stage.IsTooFarAhead(At(1'000'101)));
  stage.Advance(At(1'000'200));  // a clock says that stamps may be at 1'000'210 by now
  EXPECT_FALSE(stage.IsTooFarAhead(At(1'000'310)));
  EXPECT_TRUE(stage.IsTooFarAhead(At(1'000'311)));
}

TEST_F(StageTest, ACopyOutlivesWhatWasTaken) {
  Open(Duration(1'000'000));
  for (int i = 0; i < 3'000; ++i)
    Arrive(At(1'000'000 - i * 7'919 % 1'000'000), std::string(500, 'l'));
  BeginCopy();
  stage_->Advance(At(1'000'000));
  TakeDue();
  for (int i = 0; i < 3'000; ++i) Arrive(At(1'000'000 + i), std::string(500, 'm'));
  GoOnWithCopy(SIZE_MAX);
  stage_->Advance(At(2'000'000));
  TakeDue();
}

// Memory of events that come and go while a copy is read is free at once.
TEST_F(StageTest, ACopyKeepsNoMoreThanWasThere) {
  EventMemory memory;
  EventList list;
  const std::string text(10'000, 'l');
  const auto append = [&] {
    const WaitingEvent event{
        .at = At(0), .position = 0, .size = 10'000, .words = 0, .is_control = false};
    return memory.Append(list, event, nullptr, text);
  };
  append();
  const EventChunk* const before = list.first;
  memory.Hold();
  memory.LetGo(list);
  memory.FreeTaken();
  append();
  const EventChunk* const meanwhile = list.first;
  EXPECT_NE(meanwhile, before);
  memory.LetGo(list);
  memory.FreeTaken();
  append();
  EXPECT_EQ(list.first, meanwhile) << "was free for use again";
  memory.EndHold();
  memory.FreeTaken();
  memory.LetGo(list);
}

// A piece of the calendar that is being taken, while ever more lines come into it.
TEST_F(StageTest, ManyLinesComeIntoThePieceThatIsTaken) {
  std::mt19937_64 random(1);
  constexpr int64_t kBegin = int64_t{1} << 24;  // of a piece, of some 16 ms
  constexpr int64_t kPiece = int64_t{1} << 14;
  Open(std::chrono::seconds(10));
  Arrive(At(kBegin + 2'000'000));
  for (int64_t now = 1; now < kPiece; now += 100) {
    for (int i = 0; i < 200; ++i) {
      Arrive(
          At(kBegin + now + static_cast<int64_t>(random() % static_cast<uint64_t>(kPiece - now))));
    }
    stage_->Advance(At(kBegin + now));
    TakeDue();
  }
  stage_->ReachNewest();
  TakeDue();
  EXPECT_TRUE(waiting_.empty());
}

// Bounds from one piece of a microsecond to all of time, bursts within one piece, jumps over the whole
// calendar, and so much that is taken that holes are packed.
TEST_F(StageTest, AgreesWithASortedMap) {
  const uint64_t count = ShareOf({.whole = 3'000, .usual = 150, .sanitized = 15});
  ForEachSeed(1, count, [this](uint64_t seed) {
    std::mt19937_64 random(seed);
    const auto below = [&random](uint64_t n) { return static_cast<int64_t>(random() % n); };
    const Duration bounds[] = {Duration(1),     Duration(50),      Duration(1'022),
                               Duration(1'023), Duration(100'000), std::chrono::hours(24),
                               Duration::max()};
    const Duration bound = bounds[below(std::size(bounds))];
    const auto span = static_cast<uint64_t>(std::min<int64_t>(bound.count(), 1'000'000'000'000));
    const bool is_tight = below(3) == 0;
    copy_.reset();
    Open(bound, is_tight ? static_cast<size_t>(1'000 + below(100'000)) : SIZE_MAX);
    waiting_.clear();
    taken_.clear();
    const auto large = static_cast<size_t>(below(3) == 0 ? 3'000 : 30);
    const auto disorder = static_cast<uint64_t>(below(4) == 0 ? 1 : below(span) + 1);
    EngineTime now = At(below(1'000'000) - 500'000);
    const int64_t lines = below(4) == 0 ? 5'000 : 500;
    for (int64_t line = 0; line < lines; ++line) {
      if (below(50) == 0) now += Duration(below(4 * span));
      if (below(3) == 0) now += Duration(below(span / 64 + 2));
      const EngineTime at = SaturatingSub(now, Duration(below(disorder)));
      Arrive(at, std::string(static_cast<size_t>(below(large)), static_cast<char>('a' + line % 26)),
             below(10) == 0);
      if (stage_->is_over_limit()) {
        ASSERT_NO_FATAL_FAILURE(TakeDue());
        ASSERT_NO_FATAL_FAILURE(TakeOverLimit());
      }
      if (below(20) == 0) TakeDue();
      if (copy_ == nullptr && below(300) == 0) BeginCopy();
      ASSERT_NO_FATAL_FAILURE(GoOnWithCopy(static_cast<size_t>(below(4))));
      if (below(200) == 0) stage_->Advance(SaturatingSub(now, Duration(below(span))));
      if (below(100) == 0) {
        ASSERT_NO_FATAL_FAILURE(TakeDue());
        ASSERT_NO_FATAL_FAILURE(ExpectSame());
      }
    }
    stage_->Advance(stage_->newest());
    ASSERT_NO_FATAL_FAILURE(TakeDue());
    ASSERT_NO_FATAL_FAILURE(ExpectSame());
    ASSERT_EQ(stage_->waiting(), 0u);
    ASSERT_NO_FATAL_FAILURE(GoOnWithCopy(SIZE_MAX));
  });
}

}  // namespace
}  // namespace pleat::inline v0_1
