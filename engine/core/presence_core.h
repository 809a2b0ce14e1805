// PresenceCore stands behind AnyPresence: the collection whose books are PresenceBooks.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include <pleat/untyped/any_presence.h>

#include "engine/core/feed_collection.h"
#include "engine/live/presence_book.h"

namespace pleat::inline v0_1 {

class PresenceCore final : public FeedCollection {
 public:
  PresenceCore(EngineCore& engine, std::string_view name, const PresenceOptions& options,
               const PayloadOps& ops, std::shared_ptr<void> context_owner);

  // Whom a call is about, and when.
  struct Who {
    std::string_view series;
    std::string_view user;
    std::string_view connection;
    EngineTime at;
  };

  // The methods of AnyPresence; Beat() with metadata is Update().
  Entered Enter(const Who& who, const void* metadata);
  PresenceOutcome Beat(const Who& who, uint64_t generation, const void* metadata);
  PresenceOutcome Leave(const Who& who, uint64_t generation);

  PresenceCounts Count(std::string_view series, EngineTime now);
  bool List(std::string_view series, const ListOptions& options, ListCursor& cursor,
            AnyPresence::See see);
  bool Find(std::string_view series, std::string_view user, EngineTime now, AnyPresence::See see);
  ChangeCursor WatchSeries(std::string_view series, AnyPresence::See see);

  PresenceLedger ledger();
  PresenceSizes sizes();
  const PayloadOps& ops() const noexcept override { return ops_; }

  Description Describe() const override;
  std::vector<Statistic> Statistics() override;
  std::vector<uint64_t> CountEntries() const override {
    return CountInBooks<PresenceBook>([](const PresenceBook& book) { return book.ledger().users; });
  }
  std::string ShapeOf(uint32_t version) const override;

 private:
  std::unique_ptr<Book> MakeBook(int partition) override;
  // Applies `act(book, who, at)`, unless the call goes no further.
  template <class Act>
  PresenceOutcome Call(const Who& who, const Act& act);

  const PresenceOptions options_;
  const PayloadOps ops_;
  const std::shared_ptr<void> context_owner_;
};

// What a presence with these counts tells.
std::vector<Statistic> StatisticsOf(const PresenceLedger& ledger, const PresenceSizes& sizes);

}  // namespace pleat::inline v0_1
