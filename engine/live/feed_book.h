// A FeedBook is a book of series that logs what happens in them: the part that a FeedCollection
// needs to know of a LiveSetBook or a PresenceBook.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include <absl/functional/function_ref.h>
#include <pleat/time.h>
#include <pleat/untyped/any_feed.h>

#include "engine/base/book.h"
#include "engine/base/read_fields.h"
#include "engine/live/change_log.h"
#include "engine/live/member.h"
#include "engine/table/packed_key.h"

namespace pleat::inline v0_1 {

class FeedBook : public Book {
 public:
  // A name with its hash.
  struct SeriesRef {
    const PackedKey& name;
    uint64_t hash;
  };

  // REQUIRES: it is changed under the partition's lock.
  ChangeLog& changes() noexcept { return changes_; }

  // Calls `see(name, count)` for up to `max` series with members from `place` on, and counts `seen`
  // up. Returns whether that was the end.
  bool Scan(uint32_t& place, size_t max, EngineTime now, size_t& seen,
            AnyFeed::SeeSeries see) const {
    return ForEachFrom(place, now, [&](std::string_view series, size_t count, uint64_t) {
      if (seen == max) return false;
      ++seen;
      see(series, count);
      return true;
    });
  }
  // Calls `see(name, count, since)` for each series with members; `since` is the position at which
  // it last became non-empty.
  using SeeTop = absl::FunctionRef<void(std::string_view series, size_t count, uint64_t since)>;
  void ForEachSeries(EngineTime now, SeeTop see) const {
    uint32_t place = 0;
    ForEachFrom(place, now, [&](std::string_view series, size_t count, uint64_t since) {
      see(series, count, since);
      return true;
    });
  }

  bool ExpireLeases(const Instant&, Budget&) override { return true; }
  LeaseTime NextLeaseDue() const noexcept override { return LeaseTime(kNever); }

 protected:
  // Calls `visit(name, count, since)` for the series with members from `place` on, while it returns
  // true. Returns whether that was the end.
  using Visit = absl::FunctionRef<bool(std::string_view series, size_t count, uint64_t since)>;
  virtual bool ForEachFrom(uint32_t& place, EngineTime now, Visit visit) const = 0;

  FeedBook(const PayloadOps& ops, uint32_t partition, size_t max_changes)
      : changes_(ops, partition, max_changes) {}

  // The first fields of a saved book of either kind: the latest time that it was told of, the
  // positions that it has given, and the numbers of changes.
  void SaveHead(EngineTime seen, uint64_t positions, FieldWriter& out) const {
    out(seen, positions);
    changes_.Save(out);
  }
  void LoadHead(FieldReader& in, EngineTime& seen, uint64_t& positions) {
    seen = ReadTime(in);
    in(positions);
    in.Expect(positions <= kPositionsMax);
    changes_.Load(in);
  }

  ChangeLog changes_;

 private:
  static constexpr uint64_t kPositionsMax = Member::kPositions / 2;  // so that none wraps
};

}  // namespace pleat::inline v0_1
