// A LiveSet knows which members of a series are live: who contributed in the last 24 hours,
// which news are five minutes old, who is on this page. It counts exactly, reads without writing,
// and tells when a member ends, also if nothing else ever happens in that series.
//
//   auto engine = *pleat::Engine::Open({});
//   pleat::LiveSet<> readers(*engine, "readers", {.ttl = 30min});
//   readers.Add("page 1", {.id = "ann"}, at);
//   readers.Add("page 1", {.id = "ben"}, at + 5min);
//   engine->Advance(at + 10min);
//   readers.Count("page 1");                       // 2
//   engine->Advance(at + 30min);                   // 1: ann is gone
//
// Count(), List() and all other reads are those of LiveSetReader. The options, also of List() and
// Remove(), are in live_set_options.h, members and changes in change.h. A Watcher (asio_watcher.h)
// waits for changes.
//
// A member is an id in a series, with the stamp of its latest event. It is live until its deadline,
// stamp + TTL, and not at the deadline itself. docs/semantics-live-sets.md has all rules.
//
// Payload: copied and compared without throwing, aligned to at most 8 bytes. One that owns heap
// memory may have `size_t HeapBytes() const noexcept`, in O(1).
//
// Thread safety: any thread may call any method at any time, also on one object.
// Ownership: a handle of a collection that the engine owns; copies mean the same one. When that is
// closed, or the engine is gone, there are no members, and calls answer kStopped or kClosed, or
// nothing.
// Allocation: refreshing a member allocates nothing. A failure to allocate ends the program.
#pragma once

#include <concepts>
#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <absl/status/statusor.h>
#include <pleat/change.h>
#include <pleat/detail/live_set_mistakes.h>
#include <pleat/detail/misplaced_options.h>
#include <pleat/detail/payload_ops.h>
#include <pleat/engine.h>
#include <pleat/live_set_options.h>
#include <pleat/untyped/any_live_set.h>

namespace pleat::inline v0_1 {

// All reads of a live set. LiveSet adds the calls that change one; code that only reads takes a
// reader.
//
//   void Show(const pleat::LiveSetReader<>& readers) {
//     std::cout << readers.Count("page 1") << " people are on this page\n";
//   }
//
// Reads change nothing. They see the members that are live at the engine's time, or at `now` if
// that is later; nothing has to be swept before.
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
  // Returns whether there may be more. O(log n + limit). See ListOptions.
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
  size_t held_bytes() const noexcept { return any_.held_bytes(); }  // see Folder::held_bytes()

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

// A live set, to change and to read.
template <class Payload = NoPayload>
  requires std::copy_constructible<Payload> && std::equality_comparable<Payload>
class LiveSet : public LiveSetReader<Payload> {
  using Reader = LiveSetReader<Payload>;
  using Reader::any_;

 public:
  using Event = LiveSetEvent<Payload>;
  using Member = LiveMember<Payload>;
  using ChangeType = Change<Payload>;

  // Creates the collection `name`. The engine keeps it until Close().
  // Errors: kInvalidArgument for an option out of range, which the message names; kAlreadyExists if
  // the engine has a collection of this name; kFailedPrecondition if the engine is gone.
  static absl::StatusOr<LiveSet> Open(Engine& engine, std::string_view name,
                                      const LiveSetOptions& options) {
    auto any = AnyLiveSet::Open(engine, name, options, PayloadOpsFor<Payload>());
    if (!any.ok()) return any.status();
    return LiveSet(*std::move(any));
  }
  // The same for options known to be right: an error ends the program, and prints why.
  LiveSet(Engine& engine, std::string_view name, const LiveSetOptions& options) noexcept
      : LiveSet(OrEnd(name, Open(engine, name, options))) {}

  template <detail::IsMisplaced<LiveSetOptions> M = detail::Misplaced<LiveSetOptions>>
  static absl::StatusOr<LiveSet> Open(Engine&, std::string_view, const M& options) {
    return detail::SayMisplaced<absl::StatusOr<LiveSet>>(options);
  }
  template <detail::IsMisplaced<LiveSetOptions> M = detail::Misplaced<LiveSetOptions>>
  LiveSet(Engine&, std::string_view, const M& options) noexcept
      : LiveSet(detail::SayMisplaced<LiveSet>(options)) {}

  // Adds `event.id`, stamped `at`, to `series`, or refreshes it. Series and id are any bytes up to
  // 64 KiB; they are copied. First, the members of the partition that are due expire. The answer
  // says what happened; live_set_options.h has the answers.
  // Complexity: O(1) amortised for a stamp that is the latest of its series, else O(log n); and
  // O(1) for each member that is due.
  LiveSetOutcome Add(std::string_view series, const Event& event, EngineTime at) noexcept {
    return any_.Add(series, &event, at);
  }
  // Adds many, several times as fast, with the same result; used as Folder::FoldBatch(): the key of
  // a KeyedEvent is the series.
  LiveSetCounts AddBatch(std::span<const KeyedEvent<Event>> events,
                         std::span<LiveSetOutcome> outcomes = {}, PartitionRange only = {},
                         std::optional<SourcePosition> position = {}) noexcept {
    return any_.AddBatch(AnyBatch::Of(events), outcomes, only, position);
  }
  template <std::same_as<SourcePosition> Position = SourcePosition>
  LiveSetCounts AddBatch(std::span<const KeyedEvent<Event>> events,
                         std::span<LiveSetOutcome> outcomes, PartitionRange only,
                         const Position& position) noexcept {
    return AddBatch(events, outcomes, only, std::optional(position));
  }
  // For an Intake (intake.h).
  using IntakeEvent = Event;
  using IntakeOutcome = LiveSetOutcome;

  // Refreshes a live member, and adds none.
  LiveSetOutcome Touch(std::string_view series, std::string_view id, EngineTime at) noexcept {
    return any_.Touch(series, id, at);
  }
  // Adds all rows as one change, under one lock. What has expired is skipped and counted as late.
  // Importing the same rows again changes nothing.
  LiveSetCounts Import(std::string_view series, std::span<const KeyedEvent<Event>> rows) noexcept {
    return any_.Import(series, AnyBatch::Of(rows));
  }

  // Ends a member, and refuses late copies of its events: those with stamps up to `at`.
  LiveSetControl Remove(std::string_view series, std::string_view id,
                        const RemoveOptions& options = {}) noexcept {
    return any_.Remove(series, id, options);
  }
  // The same for all members with stamps in [from, to); returns how many.
  size_t Remove(std::string_view series, EngineTime from, EngineTime to) noexcept {
    return any_.Remove(series, from, to);
  }
  // Gives the series a TTL of its own; the TTL of the options gives it back. Range: above zero.
  LiveSetControl SetTtl(std::string_view series, Duration ttl) noexcept {
    return any_.SetTtl(series, ttl);
  }
  // Changes the options while the live set runs, as one step: each event, each batch of up to 256
  // and each call sees those of before, or these. All may change but max_changes. Another TTL is a
  // SetTtl() of each series that has none of its own; members that have one keep it, and tombstones
  // go when they were to go. A retention that is shorter now forgets at once. A limit below what is
  // there refuses and drops what comes, and nothing that is there.
  // Cost: locks every partition meanwhile; with other limits alone microseconds, with another TTL
  // or retention some 50 ns for each series, and what each change of a member costs.
  // Errors: those of Open() for options; kFailedPrecondition for one that cannot change, which the
  // message names, after Close(), and from inside a function of the caller's. Nothing has changed
  // then.
  absl::Status SetOptions(const LiveSetOptions& to) noexcept { return any_.SetOptions(to); }
  LiveSetOptions options() const noexcept { return any_.options(); }
  // Ends all members; returns how many. O(n).
  size_t Clear(std::string_view series) noexcept { return any_.Clear(series); }

  // Appends what is live now, and gives a cursor for the changes behind that, with nothing between:
  // of one series the members, of a prefix the counts. From the first call on changes are kept.
  ChangeCursor Watch(std::string_view series, std::vector<Member>& out) noexcept {
    return any_.Watch(series, Reader::Into(out));
  }
  ChangeCursor Watch(const WatchScope& scope, std::vector<SeriesCount>& out) noexcept {
    return any_.Watch(scope, CountsInto(out));
  }
  // Appends up to `max` changes behind `cursor`, in order, and moves it. First, the members that
  // are due end, so that their changes can be read. Locks the partitions of the scope.
  ReadChanges Read(const WatchScope& scope, ChangeCursor& cursor, size_t max,
                   std::vector<Change<Payload>>& out) noexcept {
    return any_.Read(scope, cursor, max, ChangesInto(out));
  }

  // Ends the live set: drops all that it holds, and frees the name.
  void Close() noexcept { any_.Close(); }

 private:
  explicit LiveSet(AnyLiveSet any) noexcept : Reader(std::move(any)) {}

  static AnyLiveSet OrEnd(std::string_view name, absl::StatusOr<LiveSet> opened) noexcept {
    if (!opened.ok()) AnyLiveSet::OpenFailed(name, opened.status());
    return std::move(opened->any_);
  }
};

}  // namespace pleat::inline v0_1
