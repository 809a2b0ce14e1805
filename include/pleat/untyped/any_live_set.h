// AnyLiveSet is a LiveSet without the type of its payload: payloads are bytes, and PayloadOps
// says how to handle them. LiveSet<Payload> wraps it. Adapters whose payload is laid out at run
// time use it directly. If you have a struct, or no payload, you want live_set.h.
//
//   auto live_set = *pleat::AnyLiveSet::Open(*engine, "readers", options, ops);
//   const pleat::AnyMember ann{.id = "ann"};
//   live_set.Add("page 1", &ann, at);
//   live_set.Count("page 1");
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include <absl/functional/function_ref.h>
#include <absl/status/status.h>
#include <absl/status/statusor.h>
#include <pleat/batch.h>
#include <pleat/change.h>
#include <pleat/detail/export.h>
#include <pleat/engine.h>
#include <pleat/live_set_options.h>
#include <pleat/stored.h>
#include <pleat/time.h>
#include <pleat/untyped/any_batch.h>
#include <pleat/untyped/any_feed.h>

namespace pleat::inline v0_1 {

class AnyIntake;
class EngineCore;
class IntakeTarget;
class LiveSetCore;

// An event of a live set, but for its payload: an event is these members, and then the payload at
// PayloadOps::offset.
struct AnyMember {
  KeyView id;

  // The member's own TTL. Zero: that of the series, or the one that the live member has. Below
  // zero: the event is late.
  Duration ttl{0};

  std::optional<uint64_t> version;
};

// How a live set handles payloads.
//
// Called under a partition's lock, by any thread.
// REQUIRES: no function throws, nor calls an engine.
struct PayloadOps {
  // Of the payload; 0: there is none, and the functions are not called. `align` is at most 8.
  uint32_t size = 0;
  uint32_t align = 1;
  // Where the payload lies in an event.
  uint32_t offset = sizeof(AnyMember);

  void* context = nullptr;

  // Constructs a copy in raw memory; destroys one.
  void (*copy)(void* context, void* to, const void* from) = nullptr;
  void (*destroy)(void* context, void* payload) = nullptr;

  // Whether two payloads say the same.
  bool (*equal)(void* context, const void* a, const void* b) = nullptr;

  // Optional: the bytes that a payload holds outside itself, in O(1).
  size_t (*heap_bytes)(void* context, const void* payload) = nullptr;

  // Optional, all three or none: without them a live set with payloads cannot be part of a snapshot
  // (stored.h). Writes the fields of a payload.
  void (*save)(void* context, const void* payload, FieldWriter& out) = nullptr;
  // Constructs a payload in raw memory and reads its fields; constructs it also where `in` fails.
  void (*load)(void* context, void* payload, FieldReader& in) = nullptr;
  // The types of the fields that version `version` has, as text.
  std::string (*shape)(void* context, uint32_t version) = nullptr;
  // The version that save() writes; load() reads this one and those before it.
  uint32_t stored_version = 1;

  // Whether all that members hold can be stored.
  bool stored() const noexcept { return size == 0 || (save != nullptr && load != nullptr); }
};

// A live member, on its way out. The views are valid during the call that hands it over.
struct AnyLive {
  std::string_view id;
  EngineTime stamp;
  EngineTime deadline;  // kNever: none
  std::optional<uint64_t> version;
  const void* payload = nullptr;
};

// Thread safety: any thread may call any method at any time, also on one object.
// Ownership: a handle, cheap to copy. When the live set is closed or its engine is gone, calls
// answer kStopped or kClosed, or nothing.
class PLEAT_EXPORT AnyLiveSet : public AnyFeed {
 public:
  using See = absl::FunctionRef<void(const AnyLive&)>;

  // As LiveSet::Open().
  static absl::StatusOr<AnyLiveSet> Open(Engine& engine, std::string_view name,
                                         const LiveSetOptions& options, const PayloadOps& ops,
                                         std::shared_ptr<void> context_owner = nullptr);
  // Prints why the live set `name` was not opened, and ends the program: for constructors.
  [[noreturn]] static void OpenFailed(std::string_view name, const absl::Status& why) noexcept;

  // See LiveSet for the meaning of all of these. `see` runs under a partition's lock: copy and
  // return. A call on an engine from there does nothing (see Engine); throwing ends the program.

  LiveSetOutcome Add(std::string_view series, const void* event, EngineTime at) noexcept;
  LiveSetCounts AddBatch(const AnyBatch& batch, std::span<LiveSetOutcome> outcomes,
                         PartitionRange only = {},
                         std::optional<SourcePosition> position = {}) noexcept;
  // Has the intake feed this collection; see untyped/any_intake.h.
  void Join(AnyIntake& intake, std::unique_ptr<IntakeTarget> target) const noexcept;
  LiveSetOutcome Touch(std::string_view series, std::string_view id, EngineTime at) noexcept;
  // Each row is a KeyedEvent, whose key is ignored.
  LiveSetCounts Import(std::string_view series, const AnyBatch& rows) noexcept;
  LiveSetControl Remove(std::string_view series, std::string_view id,
                        const RemoveOptions& options) noexcept;
  size_t Remove(std::string_view series, EngineTime from, EngineTime to) noexcept;
  LiveSetControl SetTtl(std::string_view series, Duration ttl) noexcept;
  size_t Clear(std::string_view series) noexcept;
  absl::Status SetOptions(const LiveSetOptions& options) noexcept;
  LiveSetOptions options() const noexcept;

  size_t Count(std::string_view series, EngineTime now) const noexcept;
  size_t CountSince(std::string_view series, EngineTime since, EngineTime now) const noexcept;
  size_t CountBetween(std::string_view series, EngineTime from, EngineTime to,
                      EngineTime now) const noexcept;
  bool List(std::string_view series, const ListOptions& options, ListCursor& cursor,
            See see) const noexcept;
  bool Find(std::string_view series, std::string_view id, EngineTime now, See see) const noexcept;
  std::optional<size_t> Rank(std::string_view series, std::string_view id,
                             EngineTime now) const noexcept;
  void CountMany(std::span<const KeyView> series, std::span<size_t> counts,
                 EngineTime now) const noexcept;

  using AnyFeed::Watch;
  ChangeCursor Watch(std::string_view series, See see) noexcept;

  LiveSetLedger ledger() const noexcept;
  LiveSetSizes sizes() const noexcept;
  size_t held_bytes() const noexcept;

 private:
  AnyLiveSet(std::shared_ptr<EngineCore> engine, std::shared_ptr<LiveSetCore> core) noexcept;

  LiveSetCore& core() const noexcept;
};

}  // namespace pleat::inline v0_1
