// A rollup book that is saved while it changes: the bytes are those of the moment at which the saving
// began, whatever happens meanwhile, and the book goes on as if it had not been saved.
#include <algorithm>
#include <chrono>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include <gtest/gtest.h>
#include <pleat/rollup.h>

#include "tests/rollup/stored_host.h"
#include "tests/support/sanitized.h"
#include "tests/support/seeds.h"
#include "tests/support/start.h"

namespace pleat::inline v0_1 {
namespace {

using namespace std::chrono_literals;
using SavedCall = StoredCall;

struct SavedRollup {
  std::string name;
  RollupOptions rollup;
  bool ids = false;
  bool lends = false;
  bool reals = false;
  bool refs = false;
};

// One book, to which the same calls happen for the same seed.
class DrawnRollup {
 public:
  DrawnRollup(const SavedRollup& options, uint64_t seed)
      : options_(options), host_(options.rollup, seed), random_(seed) {}

  RollupBook& book() { return host_.book(); }
  std::string Save() { return host_.Save(); }
  const StoredHost& host() const { return host_; }

  void Calls(uint64_t count) {
    for (; count > 0; --count) Call();
  }
  void CheckWhole() const { host_.CheckWhole(); }

 private:
  uint64_t Draw(uint64_t n) { return random_() % n; }
  // Some keys are long, and some are common.
  std::string Key() {
    const uint64_t key = Draw(Draw(3) == 0 ? 20 : 300);
    return (key % 5 == 0 ? std::string(40, 'k') : "key") + std::to_string(key);
  }

  SavedCall Event() {
    SavedCall event{.what = SavedCall::kAdd,
                    .now = now_,
                    .key = Key(),
                    .delta = static_cast<int64_t>(Draw(5)),
                    .at = now_ - Draw(3) * Draw(Draw(10) == 0 ? 40'000 : 8'000) * 1ms,
                    .id = options_.ids && Draw(3) > 0 ? "id " + std::to_string(Draw(9)) : ""};
    if (options_.reals && Draw(4) == 0) event.delta = 0.25 * static_cast<double>(Draw(9));
    if (options_.reals && Draw(8) == 0) event.delta = int64_t{1} << 61;
    return event;
  }

  void Call() {
    if (Draw(8) == 0) now_ += Draw(1500) * 1ms;
    SavedCall call = Event();
    call.number = Draw(40) + 1;
    switch (Draw(60)) {
      case 0:
      case 1: call.what = SavedCall::kVisit; break;
      case 2: call.what = SavedCall::kPop; break;
      case 3:
      case 4: return AddTogether();
      case 5: call.what = SavedCall::kRead; break;
      case 6:
        if (Draw(40) == 0) call.what = SavedCall::kCloseAll;
        break;
      case 7:
        if (options_.lends) call.what = SavedCall::kLend;
        break;
      case 8:
        if (options_.lends) call.what = Draw(3) == 0 ? SavedCall::kNack : SavedCall::kAck;
        break;
      case 9:
        if (options_.lends) call.what = Draw(2) == 0 ? SavedCall::kExpire : SavedCall::kDeadLetters;
        break;
      case 10:
      case 11:
        if (options_.rollup.clears) call.what = SavedCall::kClear;
        break;
      case 12:
        if (options_.refs) {
          refs_.push_back(host_.Share(call.key, now_));
          if (Draw(20) == 0) refs_.clear();
        }
        break;
      case 13:
      case 14:
        if (options_.rollup.store != nullptr) return Publish();
        break;
      case 15:
        if (options_.rollup.store == nullptr) break;
        call.what = SavedCall::kOthers;
        call.at = kT0 + 10s * ((now_ - kT0) / 10s - static_cast<int64_t>(Draw(5)));
        break;
      case 16:
        if (Draw(4) > 0) break;
        call.what = SavedCall::kSetOptions;
        call.periods = {.retention = Draw(3) * 15s};
        if (Draw(2) == 0) call.periods.forget_after = call.periods.retention + Draw(3) * 10s;
        break;
      default: break;
    }
    host_.Apply(call);
  }

  // Some are asked about at one call, and the answers come at a later one.
  void Publish() {
    if (Draw(2) == 0) {
      host_.BeginPublish(Draw(60), now_);
    } else {
      host_.EndPublish(Draw(8) == 0, now_);
    }
  }

  void AddTogether() {
    std::vector<SavedCall> events;
    for (uint64_t left = Draw(40); left > 0; --left) events.push_back(Event());
    host_.AddTogether(events);
  }

  const SavedRollup options_;
  StoredHost host_;
  std::mt19937_64 random_;
  EngineTime now_ = kT0;
  std::vector<std::shared_ptr<const SharedCount>> refs_;
};

std::vector<SavedRollup> AllSavedRollups() {
  const RollupOptions plain{.windows = {10s}, .allowed_lateness = 15s};
  std::vector<SavedRollup> all(13, {.name = "", .rollup = plain});
  all[0].name = "plain";
  all[1].name = "resolutions";
  all[1].rollup.windows = {10s, 30s, 60s};
  all[2].name = "retention";
  all[2].rollup.retention = 40s;
  all[3].name = "resolutions_kept";
  all[3].rollup.windows = {10s, 60s};
  all[3].rollup.retention = 90s;
  all[3].rollup.forget_after = 100s;
  all[4].name = "forgotten";
  all[4].rollup.forget_after = 20s;
  all[4].refs = true;
  all[5].name = "forgotten_at_once";
  all[5].rollup.allowed_lateness = 2s;
  all[5].rollup.forget_after = 0s;
  all[6].name = "clears";
  all[6].rollup.clears = true;
  all[6].rollup.retention = 20s;
  all[7].name = "ids";
  all[7].ids = true;
  all[7].rollup.deduplication_window = 30s;
  all[8].name = "corrections";
  all[8].rollup.allowed_lateness = 5s;
  all[8].rollup.on_late = OnLateAdd::kCorrect;
  all[8].rollup.forget_after = 60s;
  all[8].lends = true;
  all[9].name = "store";
  all[9].rollup.store = std::make_shared<MemoryCheckpointStore>();
  all[9].rollup.retention = 10s;
  all[9].rollup.forget_after = 30s;
  all[9].refs = true;
  all[10].name = "store_without_retention";
  all[10].rollup.store = std::make_shared<MemoryCheckpointStore>();
  all[10].rollup.clears = true;
  all[11].name = "limits";
  all[11].rollup.limits.max_keys = 100;
  all[11].rollup.limits.max_bytes = 40'000;
  all[11].rollup.limits.max_backlog = 200;
  all[11].rollup.forget_after = 15s;
  all[12].name = "irregular";
  all[12].rollup.windows = {10s, 20s};
  all[12].rollup.on_late = OnLateAdd::kClamp;
  all[12].reals = true;
  all[12].lends = true;
  for (SavedRollup& each : all) {
    each.rollup.leases = {.max_deliveries = 2, .max_leased = 50, .max_dead_letters = 10};
  }
  return all;
}

class SavingRollup : public testing::TestWithParam<SavedRollup> {};

TEST_P(SavingRollup, HasTheBytesOfTheMomentAtWhichItBegan) {
  ForEachSeed(1, kSanitized ? 1 : 6, [](uint64_t seed) {
    std::mt19937_64 random(seed);
    DrawnRollup book(GetParam(), seed);
    DrawnRollup twin(GetParam(), seed);
    for (int round = 0; round < 3; ++round) {
      const uint64_t before = random() % 1500;
      book.Calls(before);
      twin.Calls(before);
      const std::string expected = twin.Save();
      FieldWriter out;
      UncountedCopies copies;
      for (bool more = book.book().BeginSave(out, copies); more;) {
        const uint64_t meanwhile = random() % 3 == 0 ? random() % 40 : random() % 3;
        book.Calls(meanwhile);
        twin.Calls(meanwhile);
        if (random() % 300 == 0) break;
        more = book.book().SaveNext(out);
        ASSERT_TRUE(more || out.bytes() == expected) << "round " << round;
      }
      book.book().EndSave();
      book.CheckWhole();
      ASSERT_TRUE(book.Save() == twin.Save()) << "round " << round;
    }
  });
}

// What was saved meanwhile loads as a whole book, which has the same bytes.
TEST_P(SavingRollup, LoadsWhatWasSavedWhileItChanged) {
  ForEachSeed(1, kSanitized ? 1 : 3, [](uint64_t seed) {
    std::mt19937_64 random(seed);
    DrawnRollup book(GetParam(), seed);
    book.Calls(500 + random() % 2000);
    const StoredHost at_cut(book.host(), seed + 1);
    FieldWriter out;
    UncountedCopies copies;
    for (bool more = book.book().BeginSave(out, copies); more;) {
      book.Calls(random() % 20);
      more = book.book().SaveNext(out);
    }
    StoredHost loaded(at_cut, seed + 2);
    ASSERT_TRUE(loaded.Load(out.bytes()));
    loaded.CheckWhole();
    ASSERT_TRUE(loaded.Save() == out.bytes());
  });
}

INSTANTIATE_TEST_SUITE_P(Options, SavingRollup, testing::ValuesIn(AllSavedRollups()),
                         [](const auto& each) { return each.param.name; });

}  // namespace
}  // namespace pleat::inline v0_1
