// What a rollup counter and its store of checkpoints tell each other. The store is called without a lock.
#include <algorithm>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "engine/base/budget.h"
#include "engine/base/lock.h"
#include "engine/core/opening.h"
#include "engine/core/rollup_core.h"

namespace pleat::inline v0_1 {
namespace {

// How many counters one lock is held for when the store is to be told.
constexpr size_t kPublishedAtOnce = 256;

// How many checkpoints the store is offered in one step, or a few more: so many that one which waits for
// a disk at each step waits for little, and few enough for their copies to be small.
constexpr size_t kOfferedAtOnce = 4096 - kPublishedAtOnce;

// How many windows are final under one lock, if nobody waits for it.
constexpr size_t kFinalAtOnce = 1024;

}  // namespace

// Makes final what is due, a part at a time, so that others have their turn at the lock.
void RollupCore::FinalizeDue(const Home& home) {
  for (bool all = false; !all;) {
    LongLockGuard guard(home.partition->lock());
    if (home.book == nullptr) return;
    Budget budget(kFinalAtOnce, home.partition->lock());
    all = Do(home, [&](const Instant& at) { return home.book->CloseDue(at, budget); });
  }
}

Publication RollupCore::Publish(size_t max) {
  Publication publication;
  if (options_.store == nullptr) return publication;
  std::vector<std::string> keys;
  Offers offers;
  for (size_t i = 0; i < home_count(); ++i) {
    const Home& home = this->home(i);
    FinalizeDue(home);
    // Those that are there now: one that fails waits for the next call.
    size_t left = 0;
    {
      LockGuard guard(home.partition->lock());
      if (home.book != nullptr) left = Typed(home.book)->queued();
    }
    while (left > 0 && max > 0) {
      keys.clear();
      {
        LockGuard guard(home.partition->lock());
        if (home.book == nullptr) break;
        Do(home, [&](const Instant& at) {
          Typed(home.book)->TakeUnpublished(std::min({left, max, kPublishedAtOnce}), at, keys);
        });
      }
      if (keys.empty()) break;
      left -= std::min(left, keys.size());
      max -= keys.size();
      for (const std::string& key : keys) Load(key, offers, publication);
      if (offers.keys.size() >= kOfferedAtOnce) Offer(offers, publication);
    }
  }
  Offer(offers, publication);
  for (size_t i = 0; i < home_count() && !publication.more; ++i) {
    const Home& home = this->home(i);
    LockGuard guard(home.partition->lock());
    publication.more = home.book != nullptr && Typed(home.book)->unpublished() > 0;
  }
  return publication;
}

// Applies `change(book, counter, at)` to the book of a counter; nothing if that is gone.
template <class Change>
auto RollupCore::WithCounter(const std::string& key, const Change& change) {
  const PackedKey packed(key);
  const EventRef counter{packed, HashOf(packed), nullptr, kBeginningOfTime};
  const Home& home = HomeOf(packed);
  LockGuard guard(home.partition->lock());
  if (home.book == nullptr) return RollupBook::Step::kNothing;
  return Do(home, [&](const Instant& at) { return change(*Typed(home.book), counter, at); });
}

void RollupCore::Load(const std::string& key, Offers& offers, Publication& publication) {
  using Step = RollupBook::Step;
  Checkpoint ours;
  const absl::StatusOr<Checkpoint> loaded = options_.store->Load(key);
  const Step step =
      WithCounter(key, [&](RollupBook& book, const EventRef& counter, const Instant& at) {
        return book.TakeLoaded(counter, loaded, at, ours);
      });
  publication.failed += step == Step::kFailed;
  if (step != Step::kWanted) return;
  offers.keys.push_back(key);
  offers.checkpoints.push_back(ours);
}

// Leaves no offers.
void RollupCore::Offer(Offers& offers, Publication& publication) {
  using Step = RollupBook::Step;
  if (offers.keys.empty()) return;
  const std::vector<std::string_view> keys(offers.keys.begin(), offers.keys.end());
  std::vector<absl::StatusOr<Checkpoint>> kept(keys.size());  // errors, unless the store answers
  options_.store->PublishBatch(keys, offers.checkpoints, kept);
  for (size_t i = 0; i < kept.size(); ++i) {
    const Step step = WithCounter(
        offers.keys[i], [&](RollupBook& book, const EventRef& counter, const Instant& at) {
          return book.TakeKept(counter, offers.checkpoints[i], kept[i], at);
        });
    publication.published += step == Step::kKept;
    publication.failed += step == Step::kFailed;
  }
  offers = {};
}

absl::Status RollupCore::LoadCheckpoints(std::string& cursor, size_t max) {
  if (max == 0) return OutOfRange("max", "at least 1");
  if (options_.store == nullptr) {
    return absl::FailedPreconditionError("LoadCheckpoints() of a rollup counter without a store");
  }
  std::vector<std::pair<std::string, Checkpoint>> listed;
  std::string behind = cursor;
  const auto see = [&](std::string_view key, const Checkpoint& checkpoint) {
    if (key.size() <= kKeyBytesMax) listed.emplace_back(key, checkpoint);  // else no counter has it
  };
  if (absl::Status status = options_.store->List(behind, max, see); !status.ok()) return status;
  for (const auto& [key, checkpoint] : listed) {
    const PackedKey packed(key);
    const EventRef counter{packed, HashOf(packed), nullptr, kBeginningOfTime};
    Home& home = HomeOf(packed);
    LockGuard guard(home.partition->lock());
    if (home.partition->stopped() || BookFor(home) == nullptr) {
      return absl::FailedPreconditionError("LoadCheckpoints() of a rollup counter that has ended");
    }
    const bool has_room = Do(home, [&](const Instant& at) {
      return Typed(home.book)->TakeListed(counter, checkpoint, at);
    });
    if (!has_room) {
      return absl::ResourceExhaustedError(
          "the store has more counters than limits.max_keys or limits.max_bytes allow");
    }
  }
  cursor = std::move(behind);
  return absl::OkStatus();
}

}  // namespace pleat::inline v0_1
