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
#include "tests/support/seeds.h"

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

 private:
  uint64_t Draw(uint64_t n) { return random_() % n; }

  template <class Change>
  auto Do(const Change& change) {
    LockGuard guard(partition_.lock());
    return partition_.DoOneOfMany(partition_.CopyFirst(), book_, now_, LeaseTime(now_), position_++,
                                  change);
  }

  void Call() {
    if (Draw(4) == 0) now_ += Draw(1500) * 1ms;
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
      case 5: Pop(Draw(20)); break;
      case 6:
        if (Draw(10) == 0) Do([&](const Instant& at) { return book_.CloseAll(at), 0; });
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
      const uint32_t number = book_.Find(ref);
      if (!book_.FoldPlainly(ref, number, instant)) book_.FoldSlowly(ref, number, instant);
      return 0;
    });
  }

  void Pop(uint64_t max) {
    Do([&](const Instant& at) {
      while (max-- > 0) {
        const Handout next = book_.NextHandout(at, /*lends=*/false);
        if (!next) break;
        book_.outbox().Pop(next, at, [&](const ClosedGroup& group) {
          static_cast<SavedState*>(group.state)->~SavedState();
        });
      }
      return 0;
    });
  }

  const StateOps ops_;
  const HashKey hash_key_;
  const bool ids_;
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
  const FolderOptions plain{.quiet_period = 10s, .max_hold = 60s};
  std::vector<SavedOptions> all(9, {.name = "", .folder = plain});
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
  all[4].folder.late = {.accept_limit = 5s, .on_late = OnLate::kCorrect};
  all[5].name = "ids";
  all[5].folder.late.accept_limit = 5s;
  all[5].ids = true;
  all[6].name = "learned";
  all[6].folder.quiet_floor = 2s;
  all[7].name = "few_groups";
  all[7].folder.limits.max_groups = 100;
  all[7].folder.limits.on_limit = OnLimit::kEmitOldest;
  all[8].name = "few_bytes";
  all[8].folder.limits.max_bytes = 60'000;
  all[8].folder.limits.on_limit = OnLimit::kEmitOldest;
  return all;
}

class SavingBook : public testing::TestWithParam<SavedOptions> {};

TEST_P(SavingBook, HasTheBytesOfTheMomentAtWhichItBegan) {
  ForEachSeed(1, 8, [](uint64_t seed) {
    std::mt19937_64 random(seed);
    DrawnBook book(GetParam(), seed);
    DrawnBook twin(GetParam(), seed);
    for (int round = 0; round < 5; ++round) {
      const int before = static_cast<int>(random() % 2000);
      book.Calls(before);
      twin.Calls(before);
      const std::string expected = twin.Save();
      FieldWriter out;
      for (bool more = book.book().BeginSave(out); more;) {
        const int meanwhile = static_cast<int>(random() % 40);
        book.Calls(meanwhile);
        twin.Calls(meanwhile);
        if (random() % 100 == 0) break;
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

}  // namespace
}  // namespace pleat
