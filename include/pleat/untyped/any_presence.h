// AnyPresence is a Presence without the type of its metadata: that is bytes, and PayloadOps says
// how to handle them. Presence<Metadata> wraps it. If you have a struct, or no metadata, you want
// presence.h.
//
//   auto presence = *pleat::AnyPresence::Open(*engine, "readers", {}, ops);
//   presence.Enter("page 1", "ann", "tab 1", &metadata, at);
//   presence.Count("page 1", at).here;
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string_view>

#include <absl/functional/function_ref.h>
#include <absl/status/status.h>
#include <absl/status/statusor.h>
#include <pleat/detail/export.h>
#include <pleat/engine.h>
#include <pleat/live_set_options.h>
#include <pleat/presence_options.h>
#include <pleat/time.h>
#include <pleat/untyped/any_feed.h>
#include <pleat/untyped/any_live_set.h>

namespace pleat::inline v0_1 {

class PresenceCore;

// A connection and a user on their way out. The views are valid during the call that hands them
// over.
struct AnyConnection {
  std::string_view id;
  uint64_t generation;
  EngineTime stamp;
  EngineTime deadline;  // live before it, overdue from it on; kNever: none
};
struct AnyUser {
  std::string_view id;
  EngineTime stamp;
  EngineTime deadline;  // when time would change the state of this user next; kNever: none
  bool away;
  std::span<const AnyConnection> connections;  // live and overdue, in the order of their stamps
  const void* metadata = nullptr;
};

// Thread safety: any thread may call any method at any time, also on one object.
// Ownership: a handle, cheap to copy. When the presence is closed or its engine is gone, calls
// answer kStopped or kClosed, or nothing.
class PLEAT_EXPORT AnyPresence : public AnyFeed {
 public:
  using See = absl::FunctionRef<void(const AnyUser&)>;

  // As Presence::Open(). PayloadOps::offset means nothing here.
  static absl::StatusOr<AnyPresence> Open(Engine& engine, std::string_view name,
                                          const PresenceOptions& options, const PayloadOps& ops,
                                          std::shared_ptr<void> context_owner = nullptr);
  // Prints why the presence `name` was not opened, and ends the program: for constructors.
  [[noreturn]] static void OpenFailed(std::string_view name, const absl::Status& why) noexcept;

  // See Presence for the meaning of all of these. `see` runs under a partition's lock: copy and
  // return. A call on an engine from there does nothing (see Engine); throwing ends the program.

  Entered Enter(std::string_view series, std::string_view user, std::string_view connection,
                const void* metadata, EngineTime at) noexcept;
  PresenceOutcome Update(std::string_view series, std::string_view user,
                         std::string_view connection, uint64_t generation, const void* metadata,
                         EngineTime at) noexcept;
  PresenceOutcome Beat(std::string_view series, std::string_view user, std::string_view connection,
                       uint64_t generation, EngineTime at) noexcept;
  PresenceOutcome Leave(std::string_view series, std::string_view user, std::string_view connection,
                        uint64_t generation, EngineTime at) noexcept;

  absl::Status SetOptions(const PresenceOptions& options) noexcept;
  PresenceOptions options() const noexcept;

  PresenceCounts Count(std::string_view series, EngineTime now) const noexcept;
  bool List(std::string_view series, const ListOptions& options, ListCursor& cursor,
            See see) const noexcept;
  bool Find(std::string_view series, std::string_view user, EngineTime now, See see) const noexcept;

  using AnyFeed::Watch;
  ChangeCursor Watch(std::string_view series, See see) noexcept;

  PresenceLedger ledger() const noexcept;
  PresenceSizes sizes() const noexcept;
  size_t held_bytes() const noexcept;

 private:
  AnyPresence(std::shared_ptr<EngineCore> engine, std::shared_ptr<PresenceCore> core) noexcept;

  PresenceCore& core() const noexcept;
};

}  // namespace pleat::inline v0_1
