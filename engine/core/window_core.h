// WindowCore stands behind AnyWindow: the collection whose books are WindowBooks.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include <pleat/any_window.h>

#include "engine/core/feed_collection.h"
#include "engine/core/keyed_collection.h"
#include "engine/window/window_book.h"

namespace pleat::inline v0_1 {

class WindowCore final : public KeyedCollection<WindowBook, FeedCollection> {
 public:
  WindowCore(EngineCore& engine, std::string_view name, const WindowOptions& options,
             const PayloadOps& ops, std::shared_ptr<void> context_owner);

  // The methods of AnyWindow, but for Add() and AddBatch(), which are Fold() and FoldBatch().
  WindowOutcome Touch(std::string_view series, std::string_view id, EngineTime at);
  WindowCounts Import(std::string_view series, const AnyBatch& rows);
  WindowControl Remove(std::string_view series, std::string_view id, const RemoveOptions& options);
  size_t RemoveBetween(std::string_view series, EngineTime from, EngineTime to);
  WindowControl SetTtl(std::string_view series, Duration ttl);
  size_t Clear(std::string_view series);

  size_t Count(std::string_view series, EngineTime now);
  size_t CountBetween(std::string_view series, EngineTime from, EngineTime to, EngineTime now);
  bool List(std::string_view series, const ListOptions& options, ListCursor& cursor,
            AnyWindow::See see);
  bool Find(std::string_view series, std::string_view id, EngineTime now, AnyWindow::See see);
  std::optional<size_t> Rank(std::string_view series, std::string_view id, EngineTime now);
  ChangeCursor WatchSeries(std::string_view series, AnyWindow::See see);

  WindowLedger ledger();
  WindowSizes sizes();
  const PayloadOps& ops() const noexcept override { return ops_; }

  Description Describe() const override;
  void ListIn(CollectionList& list) override;
  std::vector<uint64_t> CountEntries() const override {
    return CountInBooks<WindowBook>([](const WindowBook& book) { return book.sizes().members; });
  }
  std::string ShapeOf(uint32_t version) const override;

 private:
  std::unique_ptr<Book> MakeBook(int partition) override;

  const WindowOptions options_;
  const PayloadOps ops_;
  const std::shared_ptr<void> context_owner_;
};

}  // namespace pleat::inline v0_1
