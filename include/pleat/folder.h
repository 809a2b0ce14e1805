// A Folder folds events into one group per key and hands out each group once it has closed.
//
// A group opens with the first event of its key. It closes when its key has been quiet for
// quiet_period, when it has been open for max_hold, when it holds max_events events or weighs
// max_group_bytes, or when a rule of yours says so (FoldRules). Closing is separate from popping:
// closed groups wait, in closing order, until somebody pops them.
//
//   struct Edit  { std::string_view page; int added; };
//   struct Edits {                                    // what one open group remembers
//     int64_t added = 0;
//     void Fold(const Edit& edit) noexcept { added += edit.added; }
//   };
//   pleat::Folder<Edit, Edits> edits(*engine, "edits", {.quiet_period = 5min, .max_hold = 1h});
//
// State must be default constructible, nothrow movable, aligned to at most 64 bytes, and have `void
// Fold(const Event&) noexcept`. A copyable State can be peeked at. If the state owns heap memory,
// give it `size_t HeapBytes() const noexcept`, in O(1), so that max_bytes covers it; without it
// only the struct itself is counted. HeapBytes() must change in Fold() only: any other change is
// not counted, and leaves the sum wrong; a debug build of the library ends the program there. All
// of these, and the destructor, run under a partition's lock: they must not call the engine, which
// answers that it would deadlock, or does nothing (see Engine); and one that throws ends the program.
//
// FolderOptions, its ranges and its defaults are in options.h.
//
// Thread safety: as Engine: any thread may call any method at any time, also on one object. A Folder
// is a handle: copies mean the same collection.
// Allocation: folding into an open group allocates nothing of ours; opening one may. Failing to
// allocate terminates the process.
#pragma once

#include <algorithm>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <new>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include <absl/status/statusor.h>
#include <pleat/any_folder.h>
#include <pleat/emission.h>
#include <pleat/engine.h>
#include <pleat/options.h>

namespace pleat::inline v0_1 {

template <class State, class Event>
concept FoldableState =
    std::default_initializable<State> && std::is_nothrow_move_constructible_v<State> &&
    requires(State& state, const Event& event) {
      { state.Fold(event) } noexcept;
    };

template <class State>
concept HasHeapBytes = requires(const State& state) {
  { state.HeapBytes() } noexcept -> std::convertible_to<size_t>;
};

// What the events and the state say about when a group closes. All of these are optional, and run under
// a partition's lock: they must not throw and must not call the engine.
//
//   pleat::FoldRules<Order, Basket> rules;
//   rules.ends = [](const Order& order) { return order.paid; };
//   rules.condition = [](const Basket& basket) { return basket.total >= 100'000; };
//   pleat::Folder<Order, Basket> baskets(*engine, "baskets", options, std::move(rules));
template <class Event, class State>
struct FoldRules {
  // Whether the event carries a start mark: it opens the next group of its key. An open one closes before
  // it, with reason kStartMark.
  std::function<bool(const Event&)> starts;

  // Whether the event carries an end mark: it is the last of its group, which closes with kEndMark.
  std::function<bool(const Event&)> ends;

  // Asked after every fold; the group closes with kCondition as soon as it holds.
  std::function<bool(const State&)> condition;

  // The quiet period after this event, above zero; zero: the folder's. So a class of keys can have its
  // own timing. A group is due at the latest instant that any of its events asks for.
  std::function<Duration(std::string_view key, const Event&)> quiet_period;

  // With quiet_floor: what learns its quiet period together with the keys of this event, such as a hash of the
  // event's type. See EventMarks::key_class.
  std::function<uint32_t(std::string_view key, const Event&)> key_class;

  // What names the event among those of its key. An event whose name was taken already is answered
  // kDuplicate, or kConflict if its `content` is another one. Names are remembered for as long as an event
  // of their stamp would be accepted, so this needs an accept_limit, and OnLate::kReject.
  std::function<std::string_view(const Event&)> id;

  // A hash of what the event says; without it, all events of one name have the same content.
  std::function<uint64_t(const Event&)> content;

  bool any() const noexcept {
    return starts || ends || condition || quiet_period || key_class || id;
  }
};

// The one StateOps of a pair of types without rules.
template <class Event, class State>
const StateOps& StateOpsFor() noexcept;

// The same with rules, which are the context and have to stay.
template <class Event, class State>
StateOps StateOpsWith(FoldRules<Event, State>& rules) noexcept;

template <class Event, class State>
  requires FoldableState<State, Event>
class Folder {
 public:
  using Rules = FoldRules<Event, State>;

  // Creates the collection `name`, unique in the engine, which keeps it and its rules until Close(). A folder takes memory
  // by its groups; without any, some 2 KB. Errors: kInvalidArgument for an option out of range, naming it; kAlreadyExists.
  static absl::StatusOr<Folder> Open(Engine& engine, std::string_view name,
                                     const FolderOptions& options, Rules rules = {}) {
    absl::StatusOr<AnyFolder> any;
    if (rules.any()) {
      auto kept = std::make_shared<Rules>(std::move(rules));
      any = AnyFolder::Open(engine, name, options, StateOpsWith<Event, State>(*kept), kept);
    } else {
      any = AnyFolder::Open(engine, name, options, StateOpsFor<Event, State>());
    }
    if (!any.ok()) return any.status();
    return Folder(*std::move(any));
  }

  // The same for options known to be right: an error is a bug and ends the program, printing it.
  Folder(Engine& engine, std::string_view name, const FolderOptions& options,
         Rules rules = {}) noexcept
      : any_(OrEnd(name, Open(engine, name, options, std::move(rules)))) {}

  // Folds `event`, stamped `at`, into the group of `key`, opening one if none is open. Any bytes are a
  // key, none too, up to 64 KiB; it is copied. The event is not kept. A group that is due by the
  // engine's time (on arrival time: or by `at`) closes first. A stamp behind the engine's time is fine:
  // it folds, or opens a group whose deadline may have passed, which then closes at once.
  // Cost: one lock, two cache lines, three for a key of more than 23 bytes. Many events at once are
  // cheaper by FoldBatch().
  FoldOutcome Fold(std::string_view key, const Event& event, EngineTime at) noexcept {
    return any_.Fold(key, &event, at);
  }

  // Folds many events: the fast path, several times as fast as Fold() on each, and with the same
  // result: same groups, same outcomes, same emissions. If `outcomes` is not empty, it gets the
  // outcome of each event; a shorter one than `events` is a bug and ends the program. Batches of 64
  // to 256 are best; larger ones are worked on in pieces of 256. A piece takes the lock of each
  // partition once, holding a few at a time. When several threads fold batches at the same time,
  // the events of one may come between those of another.
  //
  // With `only`, events of other partitions are left alone and answered kElsewhere; on event time their stamps
  // still move the watermark. So n workers that own a range each can go through the same batch, and no two of
  // them ever ask for the same lock.
  FoldCounts FoldBatch(std::span<const KeyedEvent<Event>> events,
                       std::span<FoldOutcome> outcomes = {}, PartitionRange only = {}) noexcept {
    return any_.FoldBatch(AnyBatch::Of(events), outcomes, only);
  }

  // Anything else does not compile, and the error says why.
  template <class Events>
    requires(!std::is_convertible_v<Events, std::span<const KeyedEvent<Event>>>)
  FoldCounts FoldBatch(Events&&, std::span<FoldOutcome> = {}, PartitionRange = {}) noexcept {
    static_assert(
        std::is_void_v<Events>,
        "FoldBatch() takes an array of KeyedEvent<Event>: events with their keys and stamps");
    return {};
  }

  // Takes up to `max` emissions for good, in closing order over the partitions of `from`: by the instant they
  // became final, what time closed before what an event closed, then by input order. These partitions are
  // locked meanwhile, and then handed over to the folds that wait: each of them has its turn before anything else is
  // taken, so that `max` bounds how long it waits, two such calls at most. A range of one partition is several times
  // cheaper, and any range is what a worker that owns it wants: each emission goes to one caller.
  [[nodiscard]] std::vector<Emission<State>> Pop(size_t max, PartitionRange from = {}) noexcept {
    std::vector<Emission<State>> out;
    any_.Pop(max, from, Mover(out, max));
    return out;
  }

  // Lends up to `max` emissions for `ttl` from `now` on; see lease.h. What came back comes first, by the instant at
  // which it did; then as Pop(). Locks as Pop(), and copies states under the locks. Both may be used on one
  // folder: what is lent, and what waits for its key, Pop() leaves alone.
  //
  // `now`, here, in Nack() and in Extend(), moves LeaseTime, which never goes back. That costs
  // next to nothing.
  [[nodiscard]] std::vector<Leased<State>> Lease(size_t max, Duration ttl, LeaseTime now,
                                                 PartitionRange from = {}) noexcept
    requires std::is_copy_constructible_v<State>
  {
    std::vector<Leased<State>> out;
    any_.Lease(max, ttl, now, from, [&](const ClosedGroup& group, const Delivery& delivery) {
      out.push_back(Leased<State>{CopyOf(group), delivery, any_});
    });
    return out;
  }

  // Ends the lease: the emission is done with. O(1). Repeated, it is answered kDone again, as long as
  // the partition has not lent 65,536 others since.
  LeaseOutcome Ack(const LeaseToken& token) noexcept { return any_.Ack(token); }

  // Ends the lease: the emission is to be lent again, at once or `delay` after `now`; or is a dead letter now. O(1).
  LeaseOutcome Nack(const LeaseToken& token) noexcept { return any_.Nack(token); }
  LeaseOutcome Nack(const LeaseToken& token, Duration delay, LeaseTime now) noexcept {
    return any_.Nack(token, delay, now);
  }

  // Has the lease end no earlier than `ttl` after `now`; up to leases.max_age from its beginning. Says when it ends.
  // O(1).
  Extension Extend(const LeaseToken& token, Duration ttl, LeaseTime now) noexcept {
    return any_.Extend(token, ttl, now);
  }

  // As Scan(), over the dead letters.
  bool ScanDeadLetters(ScanCursor& cursor, size_t max,
                       std::vector<DeadLetter<State>>& out) const noexcept
    requires std::is_copy_constructible_v<State>
  {
    return any_.ScanDeadLetters(cursor, max, [&](const ClosedGroup& group, const Death& death) {
      out.push_back(DeadLetter<State>{CopyOf(group), death});
    });
  }

  // Has it lent again, its deliveries counted from 0, behind those of its key that wait; or done with. O(1).
  LeaseOutcome RetryDeadLetter(const LeaseToken& token) noexcept {
    return any_.RetryDeadLetter(token);
  }
  LeaseOutcome DropDeadLetter(const LeaseToken& token) noexcept {
    return any_.DropDeadLetter(token);
  }

  // Hands up to `max` emissions to `consume(Emission<State>&&)`, with no lock held; `consume` may
  // call anything. Returns how many there were. Should `consume` throw, the emissions that it had not
  // seen are lost.
  template <class Consume>
  size_t PopEach(size_t max, Consume&& consume) {
    std::vector<Emission<State>> taken = Pop(max);
    for (Emission<State>& emission : taken) consume(std::move(emission));
    return taken.size();
  }

  // Advance(now), then Pop(max): what a polling loop does in one call.
  [[nodiscard]] std::vector<Emission<State>> PopExpired(EngineTime now, size_t max) noexcept {
    any_.Advance(now);
    return Pop(max);
  }

  // Closes the group of `key` now, with reason kFlush. Returns whether one was open. A partial that waits for its
  // instant, because a stamp on arrival time ran ahead of the engine, still comes out then: behind this.
  bool Flush(std::string_view key) noexcept { return any_.Flush(key); }

  // Drops the group of `key`: it closes without an emission. Returns whether one was open. What was handed out
  // of it before, and a partial that waits for its instant, stay.
  bool Cancel(std::string_view key) noexcept { return any_.Cancel(key); }

  // Closes every open group now, by (deadline, opening order), with reason kEnd: the end of input.
  // Every partition is locked meanwhile. Complexity: O(n log n) for the most groups ever open at once.
  void CloseAll() noexcept { any_.CloseAll(); }

  // Ends the collection: drops what is open, what waits and what is lent, and gives the memory back. Waits for calls on
  // it that are under way; those on any handle of it then answer as when the engine is gone: kStopped, kClosed, or
  // nothing; and consumers complete. Its name may be used again.
  void Close() noexcept { any_.Close(); }

  // A copy of the open group of `key`, or nothing: a group that is due counts as closed, whether or
  // not it was popped.
  std::optional<OpenGroup<State>> Peek(std::string_view key) const noexcept
    requires std::is_copy_constructible_v<State>
  {
    std::optional<OpenGroup<State>> out;
    any_.Peek(key, [&](const GroupInfo& info, const void* state) {
      out.emplace(OpenGroup<State>{std::string(key), *static_cast<const State*>(state), info.count,
                                   info.first, info.last});
    });
    return out;
  }

  // Appends copies of up to `max` open groups (0 counts as 1) to `out` and moves `cursor` on; returns whether there
  // may be more. One partition is locked at a time, and only during a call. A group that is open during the
  // whole scan is seen exactly once; of those that open or close meanwhile, each is seen once or not.
  //
  //   pleat::ScanCursor cursor;
  //   std::vector<pleat::OpenGroup<State>> groups;
  //   while (folder.Scan(cursor, 1000, groups)) { Use(groups); groups.clear(); }
  //   Use(groups);
  bool Scan(ScanCursor& cursor, size_t max, std::vector<OpenGroup<State>>& out) const noexcept
    requires std::is_copy_constructible_v<State>
  {
    return any_.Scan(cursor, max,
                     [&](std::string_view key, const GroupInfo& info, const void* state) {
                       out.push_back({std::string(key), *static_cast<const State*>(state),
                                      info.count, info.first, info.last});
                     });
  }

  Ledger ledger() const noexcept { return any_.ledger(); }
  Sizes sizes() const noexcept { return any_.sizes(); }

  // What other quiet periods would have done: see gap_stats.h. Null without MeasureOptions::gap_stats.
  std::unique_ptr<GapStats> gap_stats() const noexcept { return any_.gap_stats(); }

  // The same collection without the types.
  const AnyFolder& any() const noexcept { return any_; }

 private:
  explicit Folder(AnyFolder any) noexcept : any_(std::move(any)) {}

  static AnyFolder OrEnd(std::string_view name, absl::StatusOr<Folder> opened) noexcept {
    if (!opened.ok()) AnyFolder::OpenFailed(name, opened.status());
    return std::move(opened->any_);
  }

  static Emission<State> CopyOf(const ClosedGroup& group) {
    return EmissionOf(group, State(*static_cast<const State*>(group.state)));
  }
  static Emission<State> EmissionOf(const ClosedGroup& group, State state) {
    return {std::string(group.key), std::move(state), group.count, group.first,    group.last,
            group.closed,           group.reason,     group.id,    group.revision, group.partial,
            group.corrects};
  }

  // Room is made for a few hundred at once: moving the states on, time and again, costs more.
  static auto Mover(std::vector<Emission<State>>& out, size_t max) {
    return [&out, max](const ClosedGroup& group) {
      if (out.empty()) out.reserve(std::min<size_t>(max, 256));
      State& state = *static_cast<State*>(group.state);
      out.push_back(Emission<State>{std::string(group.key), std::move(state), group.count,
                                    group.first, group.last, group.closed, group.reason, group.id,
                                    group.revision, group.partial, group.corrects});
      state.~State();
    };
  }

  AnyFolder any_;
};

template <class Event, class State>
const StateOps& StateOpsFor() noexcept {
  static constexpr StateOps kOps = [] {
    static_assert(
        HasHeapBytes<State> || !requires(State state) { state.HeapBytes(); },
        "HeapBytes() must be `size_t HeapBytes() const noexcept`");
    static_assert(alignof(State) <= 64, "a State is aligned to at most 64 bytes, a cache line");
    StateOps ops;
    ops.size = sizeof(State);
    ops.align = alignof(State);
    ops.open = [](void*, void* state) { ::new (state) State(); };
    ops.fold = [](void*, void* state_bytes, const void* event) -> int64_t {
      State& state = *static_cast<State*>(state_bytes);
      if constexpr (HasHeapBytes<State>) {
        const size_t before = state.HeapBytes();
        state.Fold(*static_cast<const Event*>(event));
        return static_cast<int64_t>(state.HeapBytes() - before);
      } else {
        state.Fold(*static_cast<const Event*>(event));
        return 0;
      }
    };
    ops.relocate = [](void*, void* to, void* from) {
      State* source = static_cast<State*>(from);
      ::new (to) State(std::move(*source));
      source->~State();
    };
    ops.destroy = [](void*, void* state) { static_cast<State*>(state)->~State(); };
    if constexpr (HasHeapBytes<State>) {
      ops.heap_bytes = [](void*, const void* state) -> size_t {
        return static_cast<const State*>(state)->HeapBytes();
      };
    }
    if constexpr (std::is_copy_constructible_v<State>) {
      ops.copy = [](void*, void* to, const void* from) {
        ::new (to) State(*static_cast<const State*>(from));
      };
    }
    return ops;
  }();
  return kOps;
}

template <class Event, class State>
StateOps StateOpsWith(FoldRules<Event, State>& rules) noexcept {
  using Rules = FoldRules<Event, State>;
  StateOps ops = StateOpsFor<Event, State>();
  ops.context = &rules;
  if (rules.starts || rules.ends || rules.quiet_period || rules.key_class || rules.id) {
    ops.marks = [](void* context, std::string_view key, const void* event_bytes) {
      const Rules& rule = *static_cast<const Rules*>(context);
      const Event& event = *static_cast<const Event*>(event_bytes);
      EventMarks marks;
      marks.starts = rule.starts && rule.starts(event);
      marks.ends = rule.ends && rule.ends(event);
      if (rule.quiet_period) marks.quiet_period = rule.quiet_period(key, event);
      if (rule.key_class) marks.key_class = rule.key_class(key, event);
      if (rule.id) marks.id = rule.id(event);
      if (rule.content) marks.content = rule.content(event);
      return marks;
    };
  }
  ops.has_ids = static_cast<bool>(rules.id);
  if (rules.condition) {
    ops.condition = [](void* context, const void* state) {
      return static_cast<const Rules*>(context)->condition(*static_cast<const State*>(state));
    };
  }
  return ops;
}

}  // namespace pleat::inline v0_1
