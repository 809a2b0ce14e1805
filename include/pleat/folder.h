// A Folder folds events into one group per key, and hands out each group once it has closed.
//
// A group opens with the first event of its key. It closes when its key has been quiet for
// quiet_period, or when it has been open for max_wait: both must be given. It also closes when it
// holds max_events events or weighs max_group_bytes, or when a rule of yours says so
// (FoldRules). Closed groups wait, in closing order, until somebody takes them.
//
//   struct Edit  { std::string_view page; int added; };
//   struct Edits {                                    // the state of one group
//     int64_t added = 0;
//     void Fold(const Edit& edit) noexcept { added += edit.added; }
//   };
//   pleat::Folder<Edit, Edits> edits(*engine, "edits", {.quiet_period = 5min, .max_wait = 1h});
//   edits.Fold("ann", {.page = "Mars", .added = 12}, at);
//   engine->Advance(at + 6min);
//   for (auto& e : edits.Pop(100)) Publish(e.key, e.state.added);
//
// Pop(), Lease() and Ack() are in emission_source.h, the fields of an emission in emission.h, the
// options in options.h.
//
// State: default constructible, nothrow movable, aligned to at most 64 bytes, with `void Fold(const
// Event&) noexcept`. Lease(), Peek(), Scan(), partials, and edges other than kTrailing need it
// copyable; LeaseEach() does not. If the state owns heap memory, give it `size_t HeapBytes() const
// noexcept`, in O(1), such as `return text.capacity();`: an estimate will do. Without it, max_bytes
// and max_group_bytes count sizeof(State) only.
// REQUIRES: HeapBytes() changes in Fold() only, or the program may end. These functions and the
// destructor do not throw, and call no engine: they run under a partition's lock (see engine.h).
//
// Thread safety: any thread may call any method at any time, also on one object.
// Ownership: a Folder is a handle of a collection that the engine owns. Copies mean the same
// collection. After Close(), or when the engine is gone, Fold() answers kStopped; Ack(), Nack() and
// Extend() answer kClosed; all others do nothing and give nothing, such as counts of zero.
// Allocation: folding into an open group allocates nothing by itself; opening one may. A failure to
// allocate ends the program.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include <absl/status/statusor.h>
#include <pleat/batch.h>
#include <pleat/detail/export.h>
#include <pleat/detail/folder_mistakes.h>
#include <pleat/detail/misplaced_options.h>
#include <pleat/detail/typed_state_ops.h>
#include <pleat/emission.h>
#include <pleat/emission_source.h>
#include <pleat/engine.h>
#include <pleat/options.h>
#include <pleat/outcome.h>
#include <pleat/stats.h>
#include <pleat/time.h>
#include <pleat/untyped/any_batch.h>
#include <pleat/untyped/any_folder.h>

namespace pleat::inline v0_1 {

// What events and states say about when a group closes.
//
//   pleat::FoldRules<Order, Basket> rules;
//   rules.ends = [](const Order& order) { return order.paid; };
//   rules.condition = [](const Basket& basket) { return basket.total >= 100'000; };
//   pleat::Folder<Order, Basket> baskets(*engine, "baskets", options, std::move(rules));
// Every rule is optional. Rules run under a partition's lock, on the thread that folds.
// REQUIRES: no rule throws, nor calls an engine.
// Cost: a call through std::function for each event and rule.
template <class Event, class State>
struct FoldRules {
  // Whether the event opens a group. A group of its key that is open closes before it, with reason
  // kStartMark.
  std::function<bool(const Event&)> starts;

  // Whether the event is the last of its group, which then closes with reason kEndMark.
  std::function<bool(const Event&)> ends;

  // Whether the group is complete; asked after every fold. It then closes with reason kCondition.
  std::function<bool(const State&)> condition;

  // The quiet period after this event, above zero; zero: the folder's. So a class of keys can have
  // a timing of its own. A group's deadline is the latest one that any of its events asks for.
  std::function<Duration(std::string_view key, const Event&)> quiet_period;

  // The instant at which the group of this event closes; kNever: the event states none. See
  // EventMarks::close_at.
  std::function<EngineTime(std::string_view key, const Event&)> close_at;

  // The instant at which a group closes that an event of this stamp opened, for calendars, such as
  // nine o'clock of a zone; kNever: none. See StateOps::closing_time.
  std::function<EngineTime(EngineTime opened)> closing_time;

  // With FolderOptions::quiet_floor: the class of keys that learns its quiet period together, such
  // as a hash of the event's type; 0 is no class. See EventMarks::key_class.
  std::function<uint32_t(std::string_view key, const Event&)> key_class;

  // The name of the event among those of its key. A second event of one name is answered
  // kDuplicate, or kConflict if its `content` differs. A name is remembered for as long as an event
  // of that stamp would be accepted. Needs late.allowed_lateness, and OnLate::kReject.
  std::function<std::string_view(const Event&)> id;

  // A hash of all that the event says. Without this rule, events of one name have the same content.
  std::function<uint64_t(const Event&)> content;

  bool any() const noexcept {
    return starts || ends || condition || quiet_period || close_at || closing_time || key_class ||
           id;
  }
};

template <class Event, class State>
class Folder : public EmissionSource<State>,
               public detail::FolderMistakes<Folder<Event, State>, Event> {
  static_assert(CheckState<Event, State>());
  using Source = EmissionSource<State>;
  using Mistakes = detail::FolderMistakes<Folder, Event>;

 public:
  using Rules = FoldRules<Event, State>;
  using Mistakes::FoldBatch, Mistakes::Open;

  // Creates the collection `name`, in 2 KB. The engine keeps it and its rules until Close().
  // Errors: kInvalidArgument for an option out of range, which the message names; kAlreadyExists if
  // the engine has a collection of this name; kFailedPrecondition if the engine is gone.
  static absl::StatusOr<Folder> Open(Engine& engine, std::string_view name,
                                     const FolderOptions& options, Rules rules = {}) {
    const auto kept = rules.any() ? std::make_shared<Rules>(std::move(rules)) : nullptr;
    auto any = AnyFolder::Open(
        engine, name, options,
        kept ? StateOpsWith<Event, State>(*kept) : StateOpsFor<Event, State>(), kept);
    if (!any.ok()) return any.status();
    return Folder(*std::move(any));
  }

  // The same for options known to be right: an error ends the program, and prints why.
  Folder(Engine& engine, std::string_view name, const FolderOptions& options,
         Rules rules = {}) noexcept
      : Folder(OrEnd(name, Open(engine, name, options, std::move(rules)))) {}
  template <detail::IsMisplaced<FolderOptions> M = detail::Misplaced<FolderOptions>>
  Folder(Engine&, std::string_view, const M& options, Rules = {}) noexcept
      : Folder(detail::SayMisplaced<Folder>(options)) {}

  // Folds `event`, stamped `at`, into the group of `key`, opening one if none is open. A key is any
  // bytes, also empty, up to 64 KiB; it is copied. The event is not kept. Answers kOpened, kFolded
  // or kCorrected if the event was taken; outcome.h says how to react to the other answers.
  // A group that is due by the engine's time closes first; on arrival time, so does one that is due
  // by `at`. With a quiet period of 5 min, events at 0 and 6 min make two groups, also if nobody
  // called Advance() in between (on event time: unless the watermark delay is more than 1 min). A
  // stamp may be older than the engine's time: if its group is due already, it closes at once.
  // Cost: one lock and two cache lines; three for a key of more than 23 bytes.
  FoldOutcome Fold(std::string_view key, const Event& event, EngineTime at) noexcept {
    return folder_.Fold(key, &event, at);
  }

  // Folds many events, several times as fast as Fold() on each, with the same result: same groups,
  // same outcomes, same emissions. Batches of 64 to 256 are best; larger ones are worked on in
  // pieces of 256, each of which takes each partition's lock once. Batches of threads interleave.
  // Element i of `outcomes` becomes the outcome of event i. REQUIRES: empty, or as many as events.
  // With `only`, events of partitions outside that range are not folded, and are answered
  // kElsewhere; on event time their stamps still move the watermark. So workers with ranges of
  // their own never ask for the same lock. With `position`, see batch.h, the batch has a
  // place in a source that can be read again.
  FoldCounts FoldBatch(std::span<const KeyedEvent<Event>> events,
                       std::span<FoldOutcome> outcomes = {}, PartitionRange only = {},
                       std::optional<SourcePosition> position = {}) noexcept {
    return folder_.FoldBatch(AnyBatch::Of(events), outcomes, only, position);
  }

  // For an Intake (intake.h).
  using IntakeEvent = Event;
  using IntakeOutcome = FoldOutcome;

  // Closes the group of `key` now, with kFlush. Returns whether one was open. A partial that a
  // stamp ahead of the engine's time has passed is still handed out at its instant.
  bool Flush(std::string_view key) noexcept { return folder_.Flush(key); }

  // Drops the group of `key` without another emission. Returns whether one was open.
  bool Cancel(std::string_view key) noexcept { return folder_.Cancel(key); }

  // The open group of `key` closes at `deadline`, at once if that is past, with kClosingTime,
  // unless it closes before; kNever takes that back. Needs closing.settable.
  ControlOutcome SetDeadline(std::string_view key, EngineTime deadline) noexcept {
    return folder_.SetDeadline(key, deadline);
  }

  // The end of input: closes every open group now, by deadline and then by opening order, with
  // reason kEnd. Locks every partition, for O(n log n) of the most groups ever open at once.
  void CloseAll() noexcept { folder_.CloseAll(); }

  // Takes the memory for so many groups now, so that no event waits for it: see
  // untyped/any_folder.h.
  absl::Status Reserve(size_t groups, size_t key_bytes = 0) noexcept {
    return folder_.Reserve(groups, key_bytes);
  }

  // Changes the options while the folder runs, and shows them: see untyped/any_folder.h.
  absl::Status SetOptions(const FolderOptions& to) noexcept { return folder_.SetOptions(to); }
  FolderOptions options() const noexcept { return folder_.options(); }

  // Ends the collection: drops all that it holds, and frees the memory and the name. Waits for
  // calls that are under way. Consumers of it complete.
  void Close() noexcept { folder_.Close(); }

  // A copy of the open group of `key`, or nothing. One that is due counts as closed.
  std::optional<OpenGroup<State>> Peek(std::string_view key) const noexcept {
    static_assert(std::is_copy_constructible_v<State>,
                  "Peek() copies a State, and this one can only be moved: any().Peek() shows it");
    std::optional<OpenGroup<State>> out;
    folder_.Peek(key, [&](const GroupInfo& info, const void* state) {
      out.emplace(CopyOf(key, info, state));
    });
    return out;
  }

  // Appends copies of up to `max` open groups (0 counts as 1) to `out`, and moves `cursor` on.
  // Returns whether there may be more. Locks one partition at a time. A group that is open during
  // the whole scan is seen once; one that opens or closes meanwhile is seen once or not at all.
  //
  //   pleat::ScanCursor cursor;
  //   std::vector<pleat::OpenGroup<State>> groups;
  //   while (folder.Scan(cursor, 1000, groups)) { Use(groups); groups.clear(); }
  //   Use(groups);
  bool Scan(ScanCursor& cursor, size_t max, std::vector<OpenGroup<State>>& out) const noexcept {
    static_assert(std::is_copy_constructible_v<State>,
                  "Scan() copies states, and these can only be moved: any().Scan() shows them");
    return folder_.Scan(cursor, max, [&](auto key, const GroupInfo& info, const void* state) {
      out.push_back(CopyOf(key, info, state));
    });
  }

  // The same collection without the types.
  AnyFolder any() const noexcept { return folder_; }

  // Exact counts since Open(), and how much there is now. Locks the partitions one by one.
  Ledger ledger() const noexcept { return folder_.ledger(); }
  Sizes sizes() const noexcept { return folder_.sizes(); }
  // The bytes that the folder has from the system now, used or not: its tables and what belongs to
  // them, without what states own. A group by itself takes some 8 KB, most of which goes back when
  // it is popped; of many, a group takes little more than sizes().bytes counts. Locks likewise.
  size_t held_bytes() const noexcept { return folder_.held_bytes(); }

  // What other quiet periods would have done (analysis.h). Null without measure.gap_stats.
  std::unique_ptr<GapStats> gap_stats() const noexcept { return folder_.gap_stats(); }

 private:
  explicit Folder(AnyFolder folder) noexcept : Source(folder), folder_(std::move(folder)) {}

  static AnyFolder OrEnd(std::string_view name, absl::StatusOr<Folder> opened) noexcept {
    if (!opened.ok()) AnyFolder::OpenFailed(name, opened.status());
    return std::move(opened->folder_);
  }

  static OpenGroup<State> CopyOf(std::string_view key, const GroupInfo& info, const void* state) {
    return {info, std::string(key), *static_cast<const State*>(state)};
  }

  AnyFolder folder_;
};

}  // namespace pleat::inline v0_1
