// StateOps: how a folder handles states and events whose types the engine does not know.
//
// Folder<Event, State> derives its StateOps from the two types. Adapters whose state is laid out at
// run time, such as the JSON one or a language binding, write a StateOps of their own and open an
// AnyFolder with it. With states that are one counter, and events that are ints:
//
//   pleat::StateOps ops;
//   ops.size = sizeof(int64_t);
//   ops.align = alignof(int64_t);
//   ops.open = [](void*, void* state) { *static_cast<int64_t*>(state) = 0; };
//   ops.fold = [](void*, void* state, const void* event) -> int64_t {
//     *static_cast<int64_t*>(state) += *static_cast<const int*>(event);
//     return 0;
//   };
//   ops.relocate = [](void*, void* to, void* from) { std::memcpy(to, from, sizeof(int64_t)); };
//   ops.destroy = [](void*, void*) {};
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include <pleat/detail/export.h>
#include <pleat/stored.h>
#include <pleat/time.h>

namespace pleat::inline v0_1 {

// The marks of an event: all that the engine has to know about it.
struct EventMarks {
  // The event opens a group. A group of its key that is open closes before it.
  bool starts = false;

  // The group of the event closes behind it.
  bool ends = false;

  // The quiet period after this event, above zero; 0: the folder's. A group's deadline is the
  // latest one that any of its events asks for.
  Duration quiet_period{0};

  // With StateOps::has_close_at: the instant at which the group closes, with reason kClosingTime,
  // if nothing closes it before; kNever: the event states none. The instant that was stated last
  // holds, by an event or by SetDeadline(), whether it is earlier or later than the one before. One
  // that is past by then means at once: the group closes behind the event.
  EngineTime close_at = kNever;

  // With FolderOptions::quiet_floor: the class of keys that learns its quiet period together, such
  // as a hash of the event's type. Any number; 0 is no class. Events without a class learn from all
  // events, and so do those of a class that has had few events so far, or that is beyond the first
  // 1,023 of its partition.
  uint32_t key_class = 0;

  // With StateOps::has_ids: the name of the event among those of its key, any bytes; and a hash of
  // the rest of the event. A second event of one id is a retry if it has the same `content`, and
  // otherwise a conflict. An event whose id is empty has none, and is neither.
  std::string_view id;
  uint64_t content = 0;
};

// The functions of one pair of types. Each gets `context`, as it was given.
//
// Called under a partition's lock, by any thread.
// REQUIRES: no function throws, nor calls an engine. Functions without "optional" are required.
struct StateOps {
  // Of the state. `align` is a power of two, at most 64.
  uint32_t size = 0;
  uint32_t align = 1;

  void* context = nullptr;

  // Constructs an empty state in raw memory.
  void (*open)(void* context, void* state) = nullptr;

  // Folds the event. Returns by how many bytes heap_bytes() has grown; 0 without heap_bytes.
  int64_t (*fold)(void* context, void* state, const void* event) = nullptr;

  // Optional: moves a state to raw memory; `from` is raw afterwards. For code that takes states out
  // of a folder. The engine itself moves a state where a group's closing time becomes an earlier
  // one, and never else.
  void (*relocate)(void* context, void* to, void* from) = nullptr;

  // Destroys a state. Its memory is raw afterwards.
  void (*destroy)(void* context, void* state) = nullptr;

  // Optional: the bytes that a state holds outside itself, in O(1). Only fold() may change the
  // answer. Null: none, ever.
  size_t (*heap_bytes)(void* context, const void* state) = nullptr;

  // Optional: constructs a copy in raw memory. Needed for edges other than kTrailing, and for
  // partials.
  void (*copy)(void* context, void* to, const void* from) = nullptr;

  // Optional: the marks of an event. Null: no event has any.
  EventMarks (*marks)(void* context, std::string_view key, const void* event) = nullptr;

  // Whether the marks of each event have an id. Needs late.allowed_lateness, and OnLate::kReject.
  bool has_ids = false;

  // Whether the marks of some event have `close_at`. Needs relocate().
  bool has_close_at = false;

  // Optional: the instant at which a group closes that an event stamped `opened` opened; behind
  // `opened`, and the same whenever it is asked for. kNever: none.
  EngineTime (*closing_time)(void* context, EngineTime opened) = nullptr;

  // Optional: whether the group closes now, with reason kCondition. Called after every fold.
  bool (*condition)(void* context, const void* state) = nullptr;

  // Optional: the weight that max_group_bytes limits. Null: size and heap_bytes().
  size_t (*weight)(void* context, const void* state) = nullptr;

  // Optional, these three or none: without them a folder cannot be part of a snapshot (stored.h).
  // Writes the fields of a state.
  void (*save)(void* context, const void* state, FieldWriter& out) = nullptr;
  // Constructs a state in raw memory and reads its fields; constructs it also where `in` fails.
  void (*load)(void* context, void* state, FieldReader& in) = nullptr;
  // The types of the fields that version `version` has, as text. It may also be several lines, each
  // "name: value" and a newline: an error then names the one that differs.
  std::string (*shape)(void* context, uint32_t version) = nullptr;
  // The version that save() writes; load() reads this one and those before it.
  uint32_t stored_version = 1;
};

}  // namespace pleat::inline v0_1
