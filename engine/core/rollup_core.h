// RollupCore stands behind RollupCounter: the collection whose books are RollupBooks.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <pleat/rollup.h>

#include "engine/core/keyed_collection.h"
#include "engine/rollup/rollup_book.h"

namespace pleat::inline v0_1 {

class RollupCore final : public KeyedCollection<RollupBook> {
 public:
  RollupCore(EngineCore& engine, std::string_view name, const RollupOptions& options);

  // The methods of RollupCounter.
  AddedCount AddAndGet(std::string_view key, const CounterEvent& event, EngineTime at);
  AddOutcome Clear(std::string_view key, EngineTime at, std::string_view id);
  std::optional<EventualCount> Eventual(std::string_view key);
  AccurateCount Accurate(std::string_view key);
  std::vector<CountedWindow> History(std::string_view key, EngineTime from, EngineTime to,
                                     Duration window);
  std::vector<TopCount> Top(size_t n, EngineTime at, Duration window);
  void ScanOpen(RollupBook::SeeOpen see);
  CounterRef Ref(std::string_view key, const std::shared_ptr<EngineCore>& core);
  Publication Publish(size_t max);
  RollupLedger rollup_ledger();
  RollupSizes rollup_sizes();

  bool clears() const noexcept { return options_.clears; }

  Description Describe() const override;
  std::vector<Statistic> Statistics() override;
  std::vector<uint64_t> CountEntries() const override {
    return CountInBooks<RollupBook>(
        [](const RollupBook& book) { return book.rollup_sizes().keys; });
  }

 private:
  void BeginClosing(EngineTime now, LeaseTime leases) override;
  std::unique_ptr<Book> MakeBook(int partition) override;
  std::optional<uint8_t> ResolutionOf(Duration window) const noexcept;
  template <class Result, class Look>
  Result Ask(std::string_view key, Result if_absent, const Look& look);
  template <class Change>
  auto WithCounter(const std::string& key, const Change& change);
  std::optional<Duration> FinalLag();
  void FinalizeDue(const Home& home);
  void Publish(const std::string& key, Publication& publication);

  const RollupOptions options_;
};

// What a rollup counter with these counts tells. `final_lag`: by which the final windows trail the
// engine's time.
std::vector<Statistic> StatisticsOf(const RollupLedger& ledger, const RollupSizes& sizes,
                                    std::optional<Duration> final_lag);

}  // namespace pleat::inline v0_1
