// WindowCore stands behind AnyWindow: the collection whose books are WindowBooks.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string_view>
#include <vector>

#include <pleat/any_window.h>

#include "engine/core/keyed_collection.h"
#include "engine/window/window_book.h"

namespace pleat::inline v0_1 {

class WindowCore final : public KeyedCollection<WindowBook, Collection> {
 public:
  WindowCore(EngineCore& engine, std::string_view name, const WindowOptions& options,
             const PayloadOps& ops, std::shared_ptr<void> context_owner);

  // The methods of AnyWindow.
  WindowOutcome Add(std::string_view series, const void* event, EngineTime at);
  WindowCounts AddBatch(const AnyBatch& batch, WindowOutcome* outcomes, PartitionRange only);
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
  bool Scan(ScanCursor& cursor, size_t max, AnyWindow::SeeSeries see);
  // Every series with live members, in the order in which they became non-empty.
  struct Row {
    std::string series;
    size_t count;
    uint64_t since;
  };
  std::vector<Row> AllSeries(EngineTime now);

  ChangeCursor WatchSeries(std::string_view series, AnyWindow::See see);
  ChangeCursor Watch(const WatchScope& scope, AnyWindow::SeeSeries see);
  ReadChanges Read(const WatchScope& scope, ChangeCursor& cursor, size_t max,
                   AnyWindow::SeeChange see);

  void AddListener(ChangeListener& listener, const WatchScope& scope);
  void RemoveListener(ChangeListener& listener);

  WindowLedger ledger();
  WindowSizes sizes();
  const PayloadOps& ops() const noexcept { return ops_; }

 private:
  // A part of Read(). Counts `max` down. kMore also if members are due that have not ended yet.
  ReadChanges ReadSome(const WatchScope& scope, ChangeCursor& cursor, size_t& max,
                       AnyWindow::SeeChange see);
  std::unique_ptr<Book> MakeBook(int partition) override;
  void TellOfClose(int partition) override;
  // Applies `change(book, series, at)` to the book of a series, at the present or as an event that
  // is stamped `at` would. Returns `none` if the window is closed.
  template <class Result, class Change>
  Result WithSeries(std::string_view series, Result none, const Change& change);
  template <class Result, class Look>
  Result Looking(std::string_view series, Result none, const Look& look);
  static bool IsTooLong(const void* event) noexcept {
    return static_cast<const AnyMember*>(event)->id.size() > kKeyBytesMax;
  }
  bool IsElsewhere(std::string_view series, PartitionRange only) noexcept;
  PartitionRange RangeOf(const WatchScope& scope) noexcept;
  EngineTime TimeFor(EngineTime now) noexcept { return std::max(now, engine().timeline().now()); }

  const WindowOptions options_;
  const PayloadOps ops_;
  const std::shared_ptr<void> context_owner_;
  // All of them, to be told of Close(). Guarded by the first partition's lock.
  std::vector<ChangeListener*> listeners_;
};

}  // namespace pleat::inline v0_1
