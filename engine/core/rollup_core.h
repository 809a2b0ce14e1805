// RollupCore: the collection whose books are RollupBooks.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <absl/status/status.h>
#include <pleat/metrics.h>
#include <pleat/rollup.h>

#include "engine/core/keyed_collection.h"
#include "engine/rollup/rollup_book.h"

namespace pleat::inline v0_1 {

extern template class KeyedCollection<RollupBook>;

class RollupCore final : public KeyedCollection<RollupBook> {
 public:
  RollupCore(EngineCore& engine, std::string_view name, const RollupOptions& options)
      : KeyedCollection(engine, name), options_(options) {}

  bool clears() const noexcept { return options_.clears; }

  // The methods of RollupCounter.
  AddedCount AddAndGet(std::string_view key, const CounterEvent& event, EngineTime at);
  AddOutcome Clear(std::string_view key, EngineTime at, std::string_view id);
  std::optional<EventualCount> Eventual(std::string_view key) {
    return Ask(key, std::optional<EventualCount>(),
               [](RollupBook& book, const auto& packed, uint64_t hash, const Instant& at) {
                 return book.Eventual(packed, hash, at);
               });
  }
  AccurateCount Accurate(std::string_view key) {
    return Ask(key, AccurateCount{.amount = {}, .loaded = options_.store == nullptr},
               [](RollupBook& book, const auto& packed, uint64_t hash, const Instant& at) {
                 return book.Accurate(packed, hash, at);
               });
  }
  std::vector<CountedWindow> History(std::string_view key, EngineTime from, EngineTime to,
                                     Duration window);
  std::vector<TopCount> Top(size_t n, EngineTime at, Duration window);
  void ScanOpen(RollupBook::SeeOpen see) {
    LookAtEach([&](RollupBook& book, const Instant& at) { book.ScanOpen(at, see); });
  }
  CounterRef Ref(std::string_view key, const std::shared_ptr<EngineCore>& core);
  Publication Publish(size_t max);
  absl::Status LoadCheckpoints(std::string& cursor, size_t max);
  absl::Status SetOptions(const RollupOptions& options);
  RollupOptions options() {
    LockGuard guard(home(0).partition->lock());
    return options_;
  }
  RollupLedger rollup_ledger() {
    return Sum<RollupBook>([](const RollupBook& book) { return book.rollup_ledger(); });
  }
  RollupSizes rollup_sizes() {
    return Sum<RollupBook>([](const RollupBook& book) { return book.rollup_sizes(); });
  }

  Description Describe() const override;
  std::vector<Statistic> Statistics() override {
    return StatisticsOf(rollup_ledger(), rollup_sizes(), FinalLag());
  }
  std::vector<uint64_t> CountEntries() const override {
    return CountInBooks<RollupBook>(
        [](const RollupBook& book) { return book.rollup_sizes().keys; });
  }

 private:
  void BeginClosing(EngineTime now, LeaseTime leases) override;
  std::unique_ptr<Book> MakeBook(int partition) override {
    return std::make_unique<RollupBook>(engine().pool(),
                                        ShareOfOptions(before_ ? *before_ : options_, partition),
                                        engine().hash_key(), engine().name_key(),
                                        static_cast<uint32_t>(partition), listeners(partition));
  }
  RollupOptions ShareOfOptions(const RollupOptions& options, int partition) {
    RollupOptions share = options;
    CutToShares({&share.limits.max_keys, &share.limits.max_bytes, &share.limits.max_backlog,
                 &share.leases.max_leased, &share.leases.max_dead_letters},
                partition, engine().partition_count());
    return share;
  }
  absl::Status UseOptionsOf(const Description& then) override;
  void UseOwnOptions() override { before_.reset(); }
  void SetOptionsOf(Book& book, int partition, const Instant& at) override {
    static_cast<RollupBook&>(book).SetOptions(ShareOfOptions(options_, partition), at);
  }
  std::optional<uint8_t> ResolutionOf(Duration window) const noexcept;
  template <class Result, class Look>
  Result Ask(std::string_view key, Result if_absent, const Look& look);
  // A read takes no position: it changes nothing but the time that the book was told.
  template <class Look>
  auto LookAt(const Home& home, const Look& look)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(home.partition->lock()) {
    Timeline& timeline = engine().timeline();
    return home.partition->DoOneOfMany(
        home.partition->CopyFirst(), *home.book, timeline.now(), timeline.lease_now(), 0,
        [&](const Instant& at) { return look(*Typed(home.book), at); });
  }
  template <class Look>
  void LookAtEach(const Look& look) {
    for (size_t i = 0; i < home_count(); ++i) {
      const Home& home = this->home(i);
      LongLockGuard guard(home.partition->lock());
      if (home.book != nullptr) LookAt(home, look);
    }
  }
  template <class Change>
  auto WithCounter(const std::string& key, const Change& change);
  std::optional<Duration> FinalLag();
  void FinalizeDue(const Home& home);
  // Checkpoints that are to be offered to the store in one step.
  struct Offers {
    std::vector<std::string> keys;
    std::vector<Checkpoint> checkpoints;
  };
  void Load(const std::string& key, Offers& offers, Publication& publication);
  void Offer(Offers& offers, Publication& publication);

  // on_late, limits and leases change with all partitions locked, and the engine's list of
  // collections; all else, which is read without a lock, never does.
  RollupOptions options_;
  std::optional<RollupOptions> before_;  // of a snapshot that is being taken over
};

// The result of `look(book, key, hash, at)`.
template <class Result, class Look>
Result RollupCore::Ask(std::string_view key, Result if_absent, const Look& look) {
  if (key.size() > kKeyBytesMax) return if_absent;
  const PackedKey packed(key);
  const uint64_t hash = HashOf(packed);
  const Home& home = HomeOf(packed);
  LockGuard guard(home.partition->lock());
  if (home.book == nullptr) return if_absent;
  return LookAt(home, [&](RollupBook& book, const Instant& at) -> Result {
    return look(book, packed, hash, at);
  });
}

}  // namespace pleat::inline v0_1
