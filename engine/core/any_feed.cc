#include <pleat/untyped/any_feed.h>

#include <utility>
#include <vector>

#include "engine/base/inside.h"
#include "engine/core/engine_core.h"
#include "engine/core/feed_collection.h"

namespace pleat::inline v0_1 {

AnyFeed::AnyFeed(std::shared_ptr<EngineCore> engine, std::shared_ptr<FeedCollection> feed) noexcept
    : engine_(std::move(engine)), feed_(std::move(feed)) {}

// A call from inside a function that the engine calls is refused here.

ChangeCursor AnyFeed::Watch(const WatchScope& scope, SeeSeries see) noexcept {
  return Guarded([&] { return feed_->Watch(scope, see); });
}
ReadChanges AnyFeed::Read(const WatchScope& scope, ChangeCursor& cursor, size_t max,
                          SeeChange see) noexcept {
  return Guarded([&] { return feed_->Read(scope, cursor, max, see); });
}

void AnyFeed::AddListener(ChangeListener& listener, const WatchScope& scope) noexcept {
  Guarded([&] { feed_->AddListener(listener, scope); });
}
void AnyFeed::RemoveListener(ChangeListener& listener) noexcept {
  Guarded([&] { feed_->RemoveListener(listener); });
}

void AnyFeed::AllSeries(EngineTime now, SeeSeries see) const noexcept {
  if (!Call::WouldBeNested()) feed_->AllSeries(now, see);
}
void AnyFeed::TopSeries(size_t n, EngineTime now, SeeSeries see) const noexcept {
  if (Call::WouldBeNested()) return;
  for (const FeedCollection::Row& row : feed_->TopSeries(n, now)) see(row.name, row.count);
}
bool AnyFeed::Scan(ScanCursor& cursor, size_t max, SeeSeries see) const noexcept {
  if (cursor.partition < 0) cursor = {};
  return Guarded([&] { return feed_->Scan(cursor, std::max<size_t>(max, 1), see); });
}

void AnyFeed::CheckWhole() const noexcept { feed_->CheckWhole(); }
void AnyFeed::Close() noexcept {
  Guarded([&] { engine_->Remove(*feed_); });
}
bool AnyFeed::closed() const noexcept { return feed_->closed(); }
const PayloadOps& AnyFeed::ops() const noexcept { return feed_->ops(); }

}  // namespace pleat::inline v0_1
