// LiveSetReader: all reads of a live set. LiveSet adds the calls that change one; code that
// only reads takes a reader.
//
//   void Show(const pleat::LiveSetReader<>& readers) {
//     std::cout << readers.Count("page 1") << " people are on this page\n";
//   }
//
// Reads change nothing. They see the members that are live at the engine's time, or at `now` if
// that is later; nothing has to be swept before.
//
// Thread safety: any thread may call any method at any time, also on one object.
// Ownership: a handle; copies mean the same live set. When that is closed, or its engine is gone,
// there are no members.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <pleat/any_live_set.h>
#include <pleat/detail/payload_ops.h>
#include <pleat/live_set_member.h>
#include <pleat/live_set_options.h>
#include <pleat/live_set_stats.h>

namespace pleat::inline v0_1 {

template <class Payload = NoPayload>
class LiveSetReader {
 public:
  using Member = LiveMember<Payload>;

  // How many members are live. O(1) if none is overdue, else O(log n).
  size_t Count(std::string_view series, EngineTime now = kBeginningOfTime) const noexcept {
    return any_.Count(series, now);
  }
  // Those with stamps later than `since`: CountSince(s, now - 5min) is those of the last five
  // minutes. O(log n), and O(1) for each overdue member with a TTL of its own.
  size_t CountSince(std::string_view series, EngineTime since,
                    EngineTime now = kBeginningOfTime) const noexcept {
    return any_.CountSince(series, since, now);
  }
  // Those with stamps in [from, to). As CountSince().
  size_t CountBetween(std::string_view series, EngineTime from, EngineTime to,
                      EngineTime now = kBeginningOfTime) const noexcept {
    return any_.CountBetween(series, from, to, now);
  }

  // Appends copies of up to options.limit members (default: 100) to `out`, in the order of their
  // stamps, the newest first unless the options say otherwise, and moves `cursor` behind them.
  // Returns whether there may be more. O(log n + limit). any_live_set.h has the options.
  bool List(std::string_view series, const ListOptions& options, ListCursor& cursor,
            std::vector<Member>& out) const noexcept {
    return any_.List(series, options, cursor, Into(out));
  }
  // The first options.limit of them; it does not say whether there are more.
  [[nodiscard]] std::vector<Member> List(std::string_view series,
                                         const ListOptions& options = {}) const noexcept {
    std::vector<Member> out;
    ListCursor cursor;
    List(series, options, cursor, out);
    return out;
  }
  // A copy of a live member, or nothing.
  std::optional<Member> Find(std::string_view series, std::string_view id,
                             EngineTime now = kBeginningOfTime) const noexcept {
    std::optional<Member> out;
    any_.Find(series, id, now, [&](const AnyLive& live) { out.emplace(CopyOf(live)); });
    return out;
  }
  bool Contains(std::string_view series, std::string_view id,
                EngineTime now = kBeginningOfTime) const noexcept {
    return any_.Find(series, id, now, [](const AnyLive&) {});
  }
  // How many live members stand before this one. Nothing if it is not live.
  std::optional<size_t> Rank(std::string_view series, std::string_view id,
                             EngineTime now = kBeginningOfTime) const noexcept {
    return any_.Rank(series, id, now);
  }
  // Count() of each series. REQUIRES: `counts` is as long as `series`.
  void CountMany(std::span<const KeyView> series, std::span<size_t> counts,
                 EngineTime now = kBeginningOfTime) const noexcept {
    any_.CountMany(series, counts, now);
  }
  // The `n` series with the largest counts, the largest first. O(series).
  [[nodiscard]] std::vector<SeriesCount> TopSeries(
      size_t n, EngineTime now = kBeginningOfTime) const noexcept {
    std::vector<SeriesCount> out;
    any_.TopSeries(n, now, CountsInto(out));
    return out;
  }
  // Appends up to `max` series that have live members; used as Folder::Scan().
  bool Scan(ScanCursor& cursor, size_t max, std::vector<SeriesCount>& out) const noexcept {
    return any_.Scan(cursor, max, CountsInto(out));
  }

  LiveSetLedger ledger() const noexcept { return any_.ledger(); }
  LiveSetSizes sizes() const noexcept { return any_.sizes(); }

  // The same live set without the type of the payload.
  AnyLiveSet any() const noexcept { return any_; }

 protected:
  explicit LiveSetReader(AnyLiveSet any) noexcept : any_(std::move(any)) {}

  static auto Into(std::vector<Member>& out) {
    return [&out](const AnyLive& live) { out.push_back(CopyOf(live)); };
  }
  static Member CopyOf(const AnyLive& live) {
    return {std::string(live.id), PayloadOf<Payload>(live.payload), live.stamp, live.deadline,
            live.version};
  }

  AnyLiveSet any_;
};

}  // namespace pleat::inline v0_1
