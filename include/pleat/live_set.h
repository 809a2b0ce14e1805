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
// Count(), List() and all other reads are in live_set_reader.h, the options in live_set_options.h,
// and those of List() and Remove() in any_live_set.h. A Watcher (asio_watcher.h) waits for changes.
//
// A member is an id in a series, with the stamp of its latest event. It is live until its deadline,
// stamp + TTL, and not at the deadline itself. docs/semantics-live-sets.md has all rules.
//
// Payload: copied and compared without throwing, aligned to at most 8 bytes. One that owns heap
// memory may have `size_t HeapBytes() const noexcept`, in O(1).
//
// Thread safety: any thread may call any method at any time, also on one object.
// Ownership: a handle of a collection that the engine owns; copies mean the same one. When that is
// closed, or the engine is gone, calls answer kStopped or kClosed, or nothing.
// Allocation: refreshing a member allocates nothing. A failure to allocate ends the program.
#pragma once

#include <concepts>
#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <absl/status/statusor.h>
#include <pleat/any_live_set.h>
#include <pleat/change.h>
#include <pleat/detail/misplaced_options.h>
#include <pleat/detail/payload_ops.h>
#include <pleat/engine.h>
#include <pleat/live_set_member.h>
#include <pleat/live_set_options.h>
#include <pleat/live_set_reader.h>

namespace pleat::inline v0_1 {

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
  // Gives the series a TTL of its own. Range: above zero.
  LiveSetControl SetTtl(std::string_view series, Duration ttl) noexcept {
    return any_.SetTtl(series, ttl);
  }
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
