// Random episodes of appending, committing, reading, faults, kills and power losses, against a model
// in plain C++: maps of vectors.
#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "tests/store/store_life.h"
#include "tests/support/seeds.h"
#include "tests/support/share.h"

namespace pleat::inline v0_1 {
namespace {

class Episode {
 public:
  explicit Episode(uint64_t seed) : random_(seed), life_(storage_, Mode()) {
    EventStoreOptions& options = life_.options_to_change();
    options.block_bytes = Draw(2) == 0 ? 4096 : uint64_t{1} << 20;
    options.segment_bytes = Draw(2) == 0 ? 4096 : 20'000;
    options.unsynced_bytes_max = Draw(2) == 0 ? 10'000 : uint64_t{1} << 20;
    life_.Do('o');
  }

  void Run(int steps) {
    for (int i = 0; i < steps && !testing::Test::HasFailure(); ++i) Step();
    if (testing::Test::HasFailure()) return;
    Heal();
    if (life_.store == nullptr) life_.Do('o');
    ASSERT_NE(life_.store, nullptr) << life_.last;
    life_.Do('c');
    // Pages are gone that the store cannot write again: it says so until it is opened.
    if (!life_.last.ok() && life_.drops_pages && !IsGroup()) {
      EXPECT_EQ(life_.store->state().answers, AppendOutcome::kStoreFailed);
      life_.Do('r');
      life_.Do('c');
    }
    ASSERT_TRUE(life_.last.ok()) << life_.last;
    EXPECT_EQ(life_.durable, life_.model.End());
    CheckAll();
    life_.Do('x');
    ASSERT_TRUE(life_.ok()) << life_.last << ", " << life_.closed;
    CheckAll();
  }

 private:
  uint64_t Draw(uint64_t n) { return random_() % n; }
  StoreDurability Mode() { return static_cast<StoreDurability>(Draw(3)); }
  bool IsGroup() const { return life_.options().durability == StoreDurability::kGroup; }

  void Step() {
    life_.drops_pages |= drops_pages_;
    switch (Draw(13)) {
      case 0:
      case 1:
      case 2: Append(1 + Draw(5), Draw(100)); break;
      case 3: Append(1 + Draw(400), Draw(60)); break;
      case 4: Append(1, Draw(9000)); break;
      case 5:
      case 6: life_.Do('c'); break;
      case 7: life_.Do('s'); break;
      case 8: ReadSome(); break;
      case 9:
        if (Draw(4) == 0) life_.Do(Draw(3) == 0 ? 'x' : 'r');
        break;
      case 10:
        if (Draw(6) == 0) LosePower();
        break;
      case 11:
        if (Draw(4) == 0) Trim();
        break;
      default:
        if (Draw(4) != 0) {
          Heal();
        } else {
          errors_.push_back(Draw(2) == 0 ? EIO : ENOSPC);
          const bool drops = Draw(2) == 0;
          drops_pages_ |= drops;
          storage_.Fail({.call = storage_.calls() + Draw(6),
                         .error = errors_.back(),
                         .for_good = Draw(2) == 0,
                         .done = Draw(2) == 0,
                         .bytes = Draw(3000),
                         .sync = drops ? FailedSync::kShowsOld : FailedSync::kKeepsNew});
        }
    }
  }

  // By pieces: a block may end behind each.
  void Append(size_t count, size_t bytes) {
    for (; count > 0; count -= std::min(count, kWholeRecordsMax)) {
      life_.Append(std::min(count, kWholeRecordsMax), bytes);
      life_.model.NoteCut();
    }
    if (life_.store != nullptr) life_.durable = DurableOf(*life_.store);
  }

  void Trim() {
    const bool by_age = Draw(2) == 0;
    life_.Trim(by_age ? RetentionOptions{.appended_since = life_.now() - Duration(Draw(1000))}
                      : RetentionOptions{.bytes_max = Draw(60'000)});
  }

  void LosePower() {
    life_.store.reset();
    DrawnChoice choice(Draw(UINT64_MAX));
    storage_ = storage_.Reboot(choice.pick());
    Heal();
    life_.durable = life_.certain();
    life_.power_was_lost = true;
    life_.Do('o');
    ASSERT_TRUE(life_.last.ok()) << life_.last;
  }

  void Heal() {
    storage_.Heal();
    errors_.clear();
    drops_pages_ = false;
  }
  // Whether it is the word of a fault that the disk has, and not of anything that was lost.
  bool IsOfAFault(const absl::Status& status) const {
    const auto is_there = [&](int error) { return std::ranges::count(errors_, error) > 0; };
    return (absl::IsInternal(status) && is_there(EIO)) ||
           (absl::IsResourceExhausted(status) && is_there(ENOSPC));
  }

  void ReadSome() {
    if (life_.store == nullptr) return;
    const int partition = static_cast<int>(Draw(kStorePartitions));
    const std::vector<ModelRecord>& model = life_.model.records[partition];
    const uint64_t durable = life_.store->Durable(partition);
    const uint64_t from = Draw(model.size() + 3);
    StorePage page;
    const absl::StatusOr<ReadOutcome> read = life_.store->Read(partition, from, Draw(3000), page);
    if (!read.ok()) {
      // Pages that a failed sync has dropped cannot be read, until the next start.
      const bool is_dropped = absl::IsDataLoss(read.status()) && life_.drops_pages;
      EXPECT_TRUE(IsOfAFault(read.status()) || (is_dropped && !IsGroup())) << read.status();
      return;
    }
    EXPECT_EQ(*read, from < life_.store->First(partition) ? ReadOutcome::kPositionLost
                     : from < durable                     ? ReadOutcome::kRecords
                     : from <= model.size()               ? ReadOutcome::kEnd
                                                          : ReadOutcome::kPositionLost);
    for (const StoredRecord& record : page.records()) {
      EXPECT_LT(record.offset, durable);
      EXPECT_EQ(ModelOf(record), model[record.offset]);
    }
    EXPECT_EQ(page.next(), from + page.records().size());
  }

  void CheckAll() {
    const auto all = ReadAll(*life_.store, 1 + Draw(4000));
    ASSERT_TRUE(all.ok()) << all.status();
    EXPECT_TRUE(life_.model.HasBeginning(life_.model.End(), *all));
    EXPECT_EQ(NotesOf(*life_.store), life_.model.NotesAt(life_.model.End()));
  }

  std::mt19937_64 random_;
  std::vector<int> errors_;   // of the faults that there are
  bool drops_pages_ = false;  // one of them does
  FaultyStorage storage_;
  StoreLife life_;
};

TEST(StoreProperty, AgreesWithMapsOfVectors) {
  ForEachSeed(1, ShareOf({.whole = 3'000, .usual = 300, .sanitized = 60}), [](uint64_t seed) {
    Episode episode(seed);
    episode.Run(120);
  });
}

}  // namespace
}  // namespace pleat::inline v0_1
