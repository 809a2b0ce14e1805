// A Presence knows who is here: which users are on a page or in a room, by which connections, and
// who is away or has left. It tells of each change on time, also if nothing else ever happens.
//
//   auto engine = *pleat::Engine::Open({});
//   pleat::Presence<> readers(*engine, "readers", {.ttl = 75s, .grace = 30s});
//   const auto [outcome, ann] = readers.Enter("page 1", "ann", "tab 1", at);
//   readers.Beat("page 1", "ann", "tab 1", ann, at + 35s);
//   readers.Count("page 1").here;                               // 1
//   readers.Leave("page 1", "ann", "tab 1", ann, at + 60s);     // or: silent until at + 110s
//
// A user is here while a connection is live: until TTL after its latest call. Then the user is away
// for the grace, and then has left. A user whose last connection leaves has left at once. Each
// Enter() gives its connection a new generation, and the other calls act on the generation that
// they name only: a Leave() that arrives after the client has come back ends nothing.
//
// docs/semantics-presence.md has all rules; the options and the answers are in presence_options.h.
//
// Metadata: one value per user, such as a name or a status. As the Payload of a LiveSet: copied
// and compared without throwing, aligned to at most 8 bytes; one that owns heap memory may have
// `size_t HeapBytes() const noexcept`, in O(1).
//
// Thread safety: any thread may call any method at any time, also on one object.
// Ownership: a handle of a collection that the engine owns; copies mean the same one. When that is
// closed, or the engine is gone, calls answer kStopped or kClosed, or nothing. All strings are any
// bytes up to 64 KiB, and are copied.
// Allocation: Beat() allocates nothing. A failure to allocate ends the program.
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include <absl/status/statusor.h>
#include <pleat/change.h>
#include <pleat/detail/export.h>
#include <pleat/detail/misplaced_options.h>
#include <pleat/detail/payload_ops.h>
#include <pleat/detail/presence_mistakes.h>
#include <pleat/engine.h>
#include <pleat/live_set_options.h>
#include <pleat/presence_options.h>
#include <pleat/time.h>
#include <pleat/untyped/any_presence.h>

namespace pleat::inline v0_1 {

struct Connection {
  std::string id;
  uint64_t generation;
  EngineTime stamp;
  EngineTime deadline;  // live before it, overdue from it on; kNever: none
};

// A user that comes out of a Presence, with the connections. Plain data.
//
//   for (const pleat::PresentUser<Status>& user : readers.List("page 1")) {
//     Show(user.id, user.metadata, user.away ? "away" : "here");
//   }
template <class Metadata>
struct PresentUser {
  std::string id;
  Metadata metadata;
  EngineTime stamp;     // the latest one of the connections
  EngineTime deadline;  // of a user here: away from then on; of one away: left; kNever: none
  bool away;
  std::vector<Connection> connections;  // live and overdue, in the order of (stamp, position)
};

template <class Metadata = NoPayload>
  requires std::copy_constructible<Metadata> && std::equality_comparable<Metadata>
class Presence {
 public:
  using User = PresentUser<Metadata>;
  using ChangeType = Change<Metadata>;

  // Creates the collection `name`. The engine keeps it until Close().
  // Errors: kInvalidArgument for an option out of range, which the message names; kAlreadyExists if
  // the engine has a collection of this name; kFailedPrecondition if the engine is gone.
  static absl::StatusOr<Presence> Open(Engine& engine, std::string_view name,
                                       const PresenceOptions& options) {
    auto any = AnyPresence::Open(engine, name, options, PayloadOpsFor<Metadata>());
    if (!any.ok()) return any.status();
    return Presence(*std::move(any));
  }
  // The same for options known to be right: an error ends the program, and prints why.
  Presence(Engine& engine, std::string_view name, const PresenceOptions& options) noexcept
      : Presence(OrEnd(name, Open(engine, name, options))) {}

  template <detail::IsMisplaced<PresenceOptions> M = detail::Misplaced<PresenceOptions>>
  static absl::StatusOr<Presence> Open(Engine&, std::string_view, const M& options) {
    return detail::SayMisplaced<absl::StatusOr<Presence>>(options);
  }
  template <detail::IsMisplaced<PresenceOptions> M = detail::Misplaced<PresenceOptions>>
  Presence(Engine&, std::string_view, const M& options) noexcept
      : Presence(detail::SayMisplaced<Presence>(options)) {}

  // --- Calls of clients, stamped `at`. What is due in the partition happens before; the answer
  // says what this call did, and presence_options.h what to do about it. O(log n) of the users in
  // the series at most, and O(1) for each user or connection that is due.

  // A connection begins, or begins anew.
  Entered Enter(std::string_view series, std::string_view user, std::string_view connection,
                const Metadata& metadata, EngineTime at) noexcept {
    return any_.Enter(series, user, connection, &metadata, at);
  }
  Entered Enter(std::string_view series, std::string_view user, std::string_view connection,
                EngineTime at) noexcept
    requires std::is_empty_v<Metadata>
  {
    return any_.Enter(series, user, connection, nullptr, at);
  }
  // The connection is still there, and the user has this metadata.
  PresenceOutcome Update(std::string_view series, std::string_view user,
                         std::string_view connection, uint64_t generation, const Metadata& metadata,
                         EngineTime at) noexcept {
    return any_.Update(series, user, connection, generation, &metadata, at);
  }
  // The connection is still there.
  PresenceOutcome Beat(std::string_view series, std::string_view user, std::string_view connection,
                       uint64_t generation, EngineTime at) noexcept {
    return any_.Beat(series, user, connection, generation, at);
  }
  // The connection ends.
  PresenceOutcome Leave(std::string_view series, std::string_view user, std::string_view connection,
                        uint64_t generation, EngineTime at) noexcept {
    return any_.Leave(series, user, connection, generation, at);
  }

  // Changes the options while the presence runs, as one step: each call sees those of before, or
  // these. All may change but max_changes. Whoever is away or gone by the new TTL and grace becomes
  // so at once, and whoever was away and is here by them is here; who has left stays so. A limit
  // below what is there refuses who comes, and nobody who is there.
  // Cost and errors: as LiveSet::SetOptions().
  absl::Status SetOptions(const PresenceOptions& to) noexcept { return any_.SetOptions(to); }
  PresenceOptions options() const noexcept { return any_.options(); }

  // --- Reads, which change nothing. They see who is there at the engine's time, or at `now` if
  // that is later.

  // O(log n).
  PresenceCounts Count(std::string_view series, EngineTime now = kBeginningOfTime) const noexcept {
    return any_.Count(series, now);
  }
  // Appends copies of up to options.limit users (default: 100), here or away, to `out`, in the
  // order of their stamps, the newest first unless the options say otherwise (ListOptions), and
  // moves `cursor` behind them. Returns whether there may be more; the form that returns the users
  // does not say so. O(log n + limit), and O(1) for each connection.
  bool List(std::string_view series, const ListOptions& options, ListCursor& cursor,
            std::vector<User>& out) const noexcept {
    return any_.List(series, options, cursor, Into(out));
  }
  [[nodiscard]] std::vector<User> List(std::string_view series,
                                       const ListOptions& options = {}) const noexcept {
    std::vector<User> out;
    ListCursor cursor;
    List(series, options, cursor, out);
    return out;
  }
  // A copy of a user who is here or away, or nothing.
  std::optional<User> Find(std::string_view series, std::string_view user,
                           EngineTime now = kBeginningOfTime) const noexcept {
    std::optional<User> out;
    any_.Find(series, user, now, [&](const AnyUser& found) { out.emplace(CopyOf(found)); });
    return out;
  }
  // Of series and their users, here or away. As a LiveSet's.
  [[nodiscard]] std::vector<SeriesCount> TopSeries(
      size_t n, EngineTime now = kBeginningOfTime) const noexcept {
    std::vector<SeriesCount> out;
    any_.TopSeries(n, now, CountsInto(out));
    return out;
  }
  bool Scan(ScanCursor& cursor, size_t max, std::vector<SeriesCount>& out) const noexcept {
    return any_.Scan(cursor, max, CountsInto(out));
  }

  // --- Changes: of users, with their metadata as payload. As a LiveSet's.

  ChangeCursor Watch(std::string_view series, std::vector<User>& out) noexcept {
    return any_.Watch(series, Into(out));
  }
  ChangeCursor Watch(const WatchScope& scope, std::vector<SeriesCount>& out) noexcept {
    return any_.Watch(scope, CountsInto(out));
  }
  ReadChanges Read(const WatchScope& scope, ChangeCursor& cursor, size_t max,
                   std::vector<Change<Metadata>>& out) noexcept {
    return any_.Read(scope, cursor, max, ChangesInto(out));
  }

  PresenceLedger ledger() const noexcept { return any_.ledger(); }
  PresenceSizes sizes() const noexcept { return any_.sizes(); }
  size_t held_bytes() const noexcept { return any_.held_bytes(); }  // see Folder::held_bytes()

  // The same presence without the type of the metadata.
  AnyPresence any() const noexcept { return any_; }

  // Drops all that there is, without a change, and frees the name.
  void Close() noexcept { any_.Close(); }

 private:
  explicit Presence(AnyPresence any) noexcept : any_(std::move(any)) {}

  static AnyPresence OrEnd(std::string_view name, absl::StatusOr<Presence> opened) noexcept {
    if (!opened.ok()) AnyPresence::OpenFailed(name, opened.status());
    return std::move(opened->any_);
  }
  static auto Into(std::vector<User>& out) {
    return [&out](const AnyUser& user) { out.push_back(CopyOf(user)); };
  }
  static User CopyOf(const AnyUser& user) {
    User copy{std::string(user.id),
              PayloadOf<Metadata>(user.metadata),
              user.stamp,
              user.deadline,
              user.away,
              {}};
    for (const AnyConnection& c : user.connections) {
      copy.connections.push_back({std::string(c.id), c.generation, c.stamp, c.deadline});
    }
    return copy;
  }

  AnyPresence any_;
};

}  // namespace pleat::inline v0_1
