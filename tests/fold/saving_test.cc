// A book that is saved while it changes: the bytes are those of the moment at which the saving began,
// whatever happens meanwhile, and the book goes on as if it had not been saved.
#include <memory>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>
#include <pleat/folder.h>
#include <pleat/stored.h>

#include "engine/base/hash.h"
#include "engine/fold/fold_book.h"
#include "engine/partition/partition.h"
#include "tests/support/sanitized.h"
#include "tests/support/seeds.h"
#include "tests/support/share.h"

namespace pleat {
namespace {

using namespace std::chrono_literals;

struct SavedEvent {
  std::string text;
  bool starts = false;
  bool ends = false;
  std::string id;
};

struct SavedState {
  std::string all;
  void Fold(const SavedEvent& event) noexcept { all += event.text; }
  size_t HeapBytes() const noexcept { return all.capacity() > 15 ? all.capacity() + 1 : 0; }
  template <class F>
  void Stored(F& f) {
    f(all);
  }
};

struct SavedOptions {
  std::string name;
  FolderOptions folder;
  bool on_arrival = false;
  bool marks = false;
  bool ids = false;
  int calls = 2000;  // before a saving, at most
};

StateOps OpsFor(const SavedOptions& options) {
  StateOps ops = StateOpsFor<SavedEvent, SavedState>();
  ops.has_ids = options.ids;
  if (!options.marks && !options.ids) return ops;
  ops.marks = [](void*, std::string_view, const void* bytes) {
    const auto& event = *static_cast<const SavedEvent*>(bytes);
    return EventMarks{.starts = event.starts, .ends = event.ends, .id = event.id};
  };
  return ops;
}

// Takes emissions for good.
void DestroyStates(std::span<const ClosedGroup> groups) {
  for (const ClosedGroup& group : groups) static_cast<SavedState*>(group.state)->~SavedState();
}

// One book, to which the same calls happen for the same seed.
class DrawnBook {
 public:
  DrawnBook(const SavedOptions& options, uint64_t seed)
      : ops_(OpsFor(options)),
        hash_key_(MakeHashKey(1, 2)),
        ids_(options.ids),
        partition_(schedule_, leases_),
        book_(pool_, options.folder,
              {.ops = ops_,
               .hash_key = hash_key_,
               .name_key = hash_key_,
               .on_arrival = options.on_arrival,
               .measure = {}},
              3, listeners_),
        random_(seed) {}

  FoldBook& book() { return book_; }
  std::string Save() {
    FieldWriter out;
    book_.Save(out);
    return std::string(out.bytes());
  }

  void Calls(int count) {
    for (; count > 0; --count) Call();
    book_.CheckWhole();
  }

  template <class Change>
  auto Do(const Change& change) {
    LockGuard guard(partition_.lock());
    return partition_.DoOneOfMany(partition_.CopyFirst(), book_, now_, LeaseTime(now_), position_++,
                                  change);
  }

 private:
  uint64_t Draw(uint64_t n) { return random_() % n; }

  void Call() {
    if (Draw(4) == 0) now_ += Draw(1500) * 1ms;
    if (Draw(500) == 0) drains_ = !drains_;
    const std::string key = "key" + std::to_string(Draw(300));
    const uint64_t hash = PackedKey(key).HashWith(hash_key_);
    switch (Draw(60)) {
      case 0: Do([&](const Instant& at) { return book_.Flush(key, hash, at); }); break;
      case 1: Do([&](const Instant& at) { return book_.Cancel(key, hash, at); }); break;
      case 2:
      case 3:
      case 4: {
        Budget budget(Draw(100) + 1);
        Do([&](const Instant& at) { return book_.CloseDue(at, budget); });
        break;
      }
      case 5: Pop(drains_ ? Draw(80) : 0); break;
      case 7: Lend(drains_ ? Draw(20) : 0); break;
      case 8: Settle(); break;
      case 6:
        if (Draw(10) == 0) {
          Do([&](const Instant& at) {
            book_.BeginClosing(at);
            return book_.FinishClosing(at), 0;
          });
        }
        break;
      default: Fold(key, hash); break;
    }
  }

  void Fold(const std::string& key, uint64_t hash) {
    const SavedEvent event{.text = std::string(Draw(8) == 0 ? Draw(40) : 1, 'x'),
                           .starts = Draw(10) == 0,
                           .ends = Draw(10) == 0,
                           .id = ids_ ? std::to_string(Draw(5)) : ""};
    const EngineTime at = now_ - Draw(4) * Draw(2500) * 1ms;
    const PackedKey packed(key);
    const EventRef ref{packed, hash, &event, at};
    Do([&](const Instant& instant) {
      const FoldBook::Entry entry = book_.Find(ref);
      if (!book_.FoldPlainly(ref, entry, instant)) book_.FoldSlowly(ref, entry, instant);
      return 0;
    });
  }

  void Pop(uint64_t max) {
    Do([&](const Instant& at) {
      while (max-- > 0) {
        const Handout next = book_.NextHandout(at, /*lends=*/false);
        if (!next) break;
        GivenRun run(&DestroyStates);
        book_.outbox().Pop(next, at, run);
        run.HandOver();
      }
      return 0;
    });
  }

  void Lend(uint64_t max) {
    Do([&](const Instant& at) {
      book_.outbox().TakeBack(at);
      while (max-- > 0) {
        const Handout next = book_.NextHandout(at, /*lends=*/true);
        if (!next) break;
        book_.outbox().Lend(next, at, 5s, {}, [&](const ClosedGroup&, const Delivery& delivery) {
          tokens_.push_back(delivery.token);
        });
      }
      return 0;
    });
  }
  void Settle() {
    for (uint64_t left = Draw(10); left > 0 && !tokens_.empty(); --left) {
      std::swap(tokens_[Draw(tokens_.size())], tokens_.back());
      const LeaseToken token = tokens_.back();
      tokens_.pop_back();
      const uint64_t drawn = Draw(4);
      Do([&](const Instant& at) {
        Outbox& outbox = book_.outbox();
        if (drawn == 0) return outbox.Nack(token, 1s, at);
        if (drawn > 1) return outbox.Ack(token, at);
        return outbox.AckAndTake(token, at, &DestroyStates);
      });
    }
  }

  const StateOps ops_;
  const HashKey hash_key_;
  const bool ids_;
  bool drains_ = false;  // else emissions wait
  std::vector<LeaseToken> tokens_;
  uint64_t position_ = 0;
  EngineTime now_ = FromUnix(1'000'000s);
  PagePool pool_;
  Schedule schedule_{Schedule::Clock::kEngine};
  Schedule leases_{Schedule::Clock::kLeases};
  Partition partition_;
  const Outbox::Listeners listeners_;
  FoldBook book_;
  std::mt19937_64 random_;
};

std::vector<SavedOptions> AllOptions() {
  const FolderOptions plain{.quiet_period = 10s, .max_wait = 60s};
  std::vector<SavedOptions> all(12, {.name = "", .folder = plain});
  all[0].name = "plain";
  all[1].name = "on_arrival";
  all[1].on_arrival = true;
  all[2].name = "caps_and_marks";
  all[2].folder.max_events = 5;
  all[2].marks = true;
  all[3].name = "partials";
  all[3].folder.edge = Edge::kBoth;
  all[3].folder.partial_every = 3s;
  all[4].name = "corrections";
  all[4].folder.late = {.allowed_lateness = 5s, .on_late = OnLate::kCorrect};
  all[5].name = "ids";
  all[5].folder.late.allowed_lateness = 5s;
  all[5].ids = true;
  all[6].name = "learned";
  all[6].folder.quiet_floor = 2s;
  all[7].name = "few_groups";
  all[7].folder.limits.max_groups = 100;
  all[7].folder.limits.on_limit = OnLimit::kEmitOldest;
  all[8].name = "few_bytes";
  all[8].folder.limits.max_bytes = 60'000;
  all[8].folder.limits.on_limit = OnLimit::kEmitOldest;
  all[9].name = "few_wait";
  all[9].folder.limits.max_backlog = 100;
  all[9].folder.limits.on_backlog = OnBacklog::kDropOldest;
  all[10].name = "dead_letters";
  all[10].folder.leases.max_deliveries = 2;
  all[10].folder.leases.max_dead_letters = 20;
  all[10].folder.leases.on_dead_limit = OnDeadLimit::kDropOldest;
  all[10].folder.leases.wait_behind_dead = true;
  all[11].name = "closing_times";  // partials are filed here
  all[11].folder.partial_every = 3s;
  all[11].folder.closing.every = 20s;
  all[11].calls = 300;
  return all;
}

class SavingBook : public testing::TestWithParam<SavedOptions> {};

TEST_P(SavingBook, HasTheBytesOfTheMomentAtWhichItBegan) {
  ForEachSeed(1, ShareOf({.whole = 8, .usual = 4, .sanitized = 1}), [](uint64_t seed) {
    std::mt19937_64 random(seed);
    DrawnBook book(GetParam(), seed);
    DrawnBook twin(GetParam(), seed);
    for (int round = 0; round < (kSanitized ? 2 : 5); ++round) {
      const int before = static_cast<int>(random() % GetParam().calls);
      book.Calls(before);
      twin.Calls(before);
      const std::string expected = twin.Save();
      FieldWriter out;
      const bool gives_up = random() % 4 == 0;
      int steps = 0;
      UncountedCopies copies;
      for (bool more = book.book().BeginSave(out, copies); more;) {
        ASSERT_LT(++steps, 5000) << "the saving has no end";
        const int meanwhile = static_cast<int>(random() % 40);
        book.Calls(meanwhile);
        twin.Calls(meanwhile);
        if (gives_up && random() % 20 == 0) break;
        more = book.book().SaveNext(out);
        ASSERT_TRUE(more || out.bytes() == expected);
      }
      book.book().EndSave();
      ASSERT_TRUE(book.Save() == twin.Save());
    }
  });
}

INSTANTIATE_TEST_SUITE_P(Options, SavingBook, testing::ValuesIn(AllOptions()),
                         [](const auto& each) { return each.param.name; });

// Entries without anything, that are written as their numbers.
class BareEntries final : public OutboxEntries {
 public:
  HashedKey KeyOf(uint32_t) const noexcept override { return {key_, 0}; }
  Rank RankOf(uint32_t) const noexcept override { return {}; }
  void Prefetch(uint32_t) const noexcept override {}
  ClosedGroup Show(const Ready&) const noexcept override { return {}; }
  ClosedGroup GiveAway(const Ready&) override { return {}; }
  void FreeGiven(uint32_t) noexcept override {}
  void Discard(const Ready&) noexcept override {}
  void SaveEntry(FieldWriter& out, uint32_t entry) const override { out.PutNumber(entry); }
  uint32_t LoadEntry(FieldReader& in) override { return static_cast<uint32_t>(in.Number()); }

 private:
  const PackedKey key_{"key"};
};

// As where batches overlap: a later emission has its place among older ones.
TEST(SavingOutbox, EmissionsThatComeOutOfOrderMeanwhileAreNotSaved) {
  DrawnBook any(AllOptions()[0], 1);
  PagePool pool;
  BareEntries entries;
  const Outbox::Listeners none;
  Outbox outbox(pool, {.max_backlog = SIZE_MAX, .on_backlog = OnBacklog::kRefuse, .leases = {}}, 0,
                entries, none, /*trace=*/nullptr);
  const auto push = [&](int second, uint32_t entry) {
    const Ready ready{.ripe = FromUnix(std::chrono::seconds(second)),
                      .order = entry,
                      .generation = 0,
                      .entry = entry,
                      .by_event = true,
                      .tag = 1};
    any.Do([&](const Instant& at) { return outbox.Push(ready, at), 0; });
  };
  for (uint32_t i = 0; i < 300; ++i) push(static_cast<int>(2 * i), i);
  FieldWriter whole;
  outbox.Save(whole);

  FieldWriter out;
  UncountedCopies copies;
  outbox.BeginSave(out, copies);
  ASSERT_TRUE(outbox.SaveNext(out));
  push(5, 1000);    // among those that were saved
  push(301, 1001);  // among those that were not
  push(601, 1002);  // at the end
  for (int left = 20; left > 0 && outbox.SaveNext(out); --left) push(3, 1003);
  EXPECT_TRUE(out.bytes() == whole.bytes());
}

}  // namespace
}  // namespace pleat
