// AnyFolder is a Folder without the types: state and event are bytes that a table of functions knows
// how to handle. Folder<Event, State> wraps it; adapters whose state is laid out at run time (the
// JSON one, a language binding) use it directly. If you have a struct, you want folder.h.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <type_traits>

#include <absl/functional/function_ref.h>
#include <absl/status/statusor.h>
#include <pleat/engine.h>
#include <pleat/export.h>
#include <pleat/outcome.h>
#include <pleat/stats.h>
#include <pleat/time.h>

namespace pleat::inline v0 {

class FolderCore;

inline constexpr uint64_t kNoEventCap = UINT64_MAX;
inline constexpr size_t kKeyBytesMax = 64 * 1024;

struct FolderOptions {
  // A group closes when nothing has folded into it for this long. Above zero; required.
  Duration quiet_period{0};

  // A group closes this long after it opened, however busy it is. Above zero; must be named:
  // kForever says that a key which never goes quiet may hold its group without end.
  Duration max_hold{0};

  // A group closes when it holds this many events. At least 1.
  uint64_t max_events = kNoEventCap;

  // An event older than the engine's time by more than this is answered kLate. Zero or more.
  Duration accept_limit = kForever;

  // Open groups, and bytes held by groups (open, or closed and not yet popped). At the limit an
  // event that would open a group is answered kOverLimit, and so is, at max_bytes, one for a state
  // that can grow. Each partition gets an equal share, so that the answer does not depend on
  // threads: a key can be refused somewhat before the total is reached. At least one per partition.
  // Bytes are counted, not measured: what a group costs at the usual load of the tables.
  size_t max_groups = 50'000'000;
  size_t max_bytes = size_t{4} << 30;
};

// How to handle one pair of types. All of these run under a partition's lock: they must not throw and
// must not call the engine. `context` is passed through.
struct StateOps {
  uint32_t size = 0;   // of the state, in bytes
  uint32_t align = 1;  // a power of two, at most 64
  void* context = nullptr;
  void (*open)(void* context, void* state) = nullptr;  // constructs an empty state
  // Folds, and returns by how many bytes what heap_bytes counts has grown; 0 without heap_bytes.
  int64_t (*fold)(void* context, void* state, const void* event) = nullptr;
  void (*relocate)(void* context, void* to, void* from) = nullptr;  // moves; `from` is raw after
  void (*destroy)(void* context, void* state) = nullptr;
  // Bytes that the state holds outside itself. Null: none, ever.
  size_t (*heap_bytes)(void* context, const void* state) = nullptr;
};

// Names an emission: no two of one collection in one Engine object share it, also when a key comes
// back. Nothing is stored yet, so the next process counts from 0 again.
struct EmissionId {
  uint32_t partition = 0;
  uint64_t generation = 0;  // counts the partition's closed groups, from 0

  friend bool operator==(const EmissionId&, const EmissionId&) = default;
};

// What is known of a group beside its key and state.
struct GroupInfo {
  uint64_t count = 0;  // events folded, the opening one included
  EngineTime first;    // smallest stamp
  EngineTime last;     // largest stamp
};

// A closed group on its way out. The views are valid during the call that hands it over.
struct ClosedGroup : GroupInfo {
  std::string_view key;
  void* state = nullptr;  // relocate or destroy it: nobody else will
  EngineTime closed;  // the deadline it closed at; engine time for what an event or a call closed
  Reason reason = Reason::kQuiet;
  EmissionId id;
};

// An event with the key it goes to and its stamp. `key` and what `event` refers to must stay valid
// during the call they are handed to, and no longer.
template <class Event>
struct KeyedEvent {
  std::string_view key;
  EngineTime at;
  Event event;
};

// A span of KeyedEvent<Event> without the type: `stride` bytes apart, the event `event_offset` bytes
// into each.
struct AnyBatch {
  const void* first = nullptr;
  size_t size = 0;
  size_t stride = 0;
  size_t event_offset = 0;

  template <class Event>
  static AnyBatch Of(std::span<const KeyedEvent<Event>> events) noexcept {
    static_assert(std::is_standard_layout_v<KeyedEvent<Event>>);
    return {events.data(), events.size(), sizeof(KeyedEvent<Event>),
            offsetof(KeyedEvent<Event>, event)};
  }
};

// Thread safety: as Engine; any thread, any time, also on one object. Cheap to copy: it refers to a
// collection that the engine owns, and must not be used after the engine.
class PLEAT_EXPORT AnyFolder {
 public:
  using Take = absl::FunctionRef<void(const ClosedGroup&)>;
  using Look = absl::FunctionRef<void(const GroupInfo&, const void* state)>;

  // Creates the collection `name` in the engine. `ops.context` must outlive the engine.
  // Errors: kInvalidArgument for an option out of range, naming it; kAlreadyExists.
  static absl::StatusOr<AnyFolder> Open(Engine& engine, std::string_view name,
                                        const FolderOptions& options, const StateOps& ops);

  // See Folder for the meaning of all of these. `look` and `take` run under partitions' locks: copy or
  // move the state out and return. Calling the engine from them deadlocks; throwing terminates.
  FoldOutcome Fold(std::string_view key, const void* event, EngineTime at) noexcept;
  FoldCounts FoldBatch(const AnyBatch& batch, FoldOutcome* outcomes) noexcept;
  bool Flush(std::string_view key) noexcept;
  bool Cancel(std::string_view key) noexcept;
  bool Peek(std::string_view key, Look look) const noexcept;
  void CloseAll() noexcept;

  size_t Pop(size_t max, Take take) noexcept;
  size_t PopPartition(int partition, size_t max, Take take) noexcept;

  Ledger ledger() const noexcept;
  Sizes sizes() const noexcept;
  const StateOps& ops() const noexcept;
  Engine& engine() const noexcept { return *engine_; }

 private:
  AnyFolder(Engine* engine, FolderCore* core) : engine_(engine), core_(core) {}

  Engine* engine_;
  FolderCore* core_;
};

}  // namespace pleat::inline v0
