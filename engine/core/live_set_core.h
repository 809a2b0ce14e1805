// LiveSetCore stands behind AnyLiveSet: the collection whose books are LiveSetBooks.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <pleat/live_set_options.h>
#include <pleat/untyped/any_live_set.h>

#include "engine/core/feed_collection.h"
#include "engine/core/keyed_collection.h"
#include "engine/live/live_set_book.h"

namespace pleat::inline v0_1 {

class LiveSetCore final : public KeyedCollection<LiveSetBook, FeedCollection> {
 public:
  LiveSetCore(EngineCore& engine, std::string_view name, const LiveSetOptions& options,
              const PayloadOps& ops, std::shared_ptr<void> context_owner);

  // The methods of AnyLiveSet, but for Add() and AddBatch(), which are Fold() and FoldBatch().
  LiveSetOutcome Touch(std::string_view series, std::string_view id, EngineTime at);
  LiveSetCounts Import(std::string_view series, const AnyBatch& rows);
  LiveSetControl Remove(std::string_view series, std::string_view id, const RemoveOptions& options);
  size_t RemoveBetween(std::string_view series, EngineTime from, EngineTime to);
  LiveSetControl SetTtl(std::string_view series, Duration ttl);
  size_t Clear(std::string_view series);

  size_t Count(std::string_view series, EngineTime now);
  size_t CountBetween(std::string_view series, EngineTime from, EngineTime to, EngineTime now);
  bool List(std::string_view series, const ListOptions& options, ListCursor& cursor,
            AnyLiveSet::See see);
  bool Find(std::string_view series, std::string_view id, EngineTime now, AnyLiveSet::See see);
  std::optional<size_t> Rank(std::string_view series, std::string_view id, EngineTime now);
  ChangeCursor WatchSeries(std::string_view series, AnyLiveSet::See see);

  LiveSetLedger ledger();
  LiveSetSizes sizes();
  const PayloadOps& ops() const noexcept override { return ops_; }

  Description Describe() const override;
  std::vector<Statistic> Statistics() override;
  std::vector<uint64_t> CountEntries() const override {
    return CountInBooks<LiveSetBook>([](const LiveSetBook& book) { return book.sizes().members; });
  }
  std::string ShapeOf(uint32_t version) const override;

 private:
  std::unique_ptr<Book> MakeBook(int partition) override;

  const LiveSetOptions options_;
  const PayloadOps ops_;
  const std::shared_ptr<void> context_owner_;
};

// What a live set with these counts tells.
std::vector<Statistic> StatisticsOf(const LiveSetLedger& ledger, const LiveSetSizes& sizes);

}  // namespace pleat::inline v0_1
