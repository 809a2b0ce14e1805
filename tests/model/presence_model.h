// The reference model of presence: what a Presence in an Engine promises, written from
// docs/semantics-presence.md so that one can see that it is right. Where engine and model differ, one
// of the two is wrong, and the document decides which.
//
// A room is a sorted map of users, a user a sorted map of connections, and a connection its
// generation, its stamp and the position of the call that set it. The place of a user is the latest
// (stamp, position) of the connections; everything else follows from it, and is found by looking at
// all of them.
//
//   time       moves only forward; everything due by it happens the moment it moves, so a user is
//              away if and only if the place says so, and whoever is there has not left
//   position   the number of a call among all
//   changes    what watchers are told, in the order of all output
//
// It models any number of partitions with their shares of the limits. Of max_bytes it has to be
// told: bytes are counted by rules that no document gives.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <pleat/change.h>
#include <pleat/engine.h>
#include <pleat/live_set_options.h>
#include <pleat/presence.h>
#include <pleat/presence_options.h>
#include <pleat/time.h>

#include "tests/model/model_clock.h"

namespace pleat::inline v0_1 {

struct ModelPresenceChange : ChangeInfo {
  std::string series;
  std::string user;
  uint64_t metadata = 0;
};

class PresenceModel {
 public:
  using User = PresentUser<uint64_t>;

  // `home`: the partition of a series.
  using Home = std::function<int(std::string_view series)>;

  PresenceModel(const EngineOptions& engine, const PresenceOptions& presence, Home home)
      : partitions_(engine.partitions),
        home_(std::move(home)),
        options_(presence),
        clock_(engine) {}

  void Advance(EngineTime now) { MoveTime(now); }
  void Stop() { stopped_ = true; }
  void Close();
  void SetOptions(const PresenceOptions& options);

  // Whether what the next calls bring, a connection or other metadata, would exceed max_bytes: the
  // model knows no bytes.
  void SetFull(bool full) { full_ = full; }

  // Generations are those of the model: 1, 2, 3 and so on.
  Entered Enter(std::string_view series, std::string_view user, std::string_view connection,
                uint64_t metadata, EngineTime at);
  PresenceOutcome Beat(std::string_view series, std::string_view user, std::string_view connection,
                       uint64_t generation, EngineTime at);
  PresenceOutcome Update(std::string_view series, std::string_view user,
                         std::string_view connection, uint64_t generation, uint64_t metadata,
                         EngineTime at);
  PresenceOutcome Leave(std::string_view series, std::string_view user, std::string_view connection,
                        uint64_t generation, EngineTime at);

  PresenceCounts Count(std::string_view series, EngineTime now = kBeginningOfTime) const;
  // The whole list: without limit and cursor.
  std::vector<User> List(std::string_view series, const ListOptions& options = {}) const;
  std::optional<User> Find(std::string_view series, std::string_view user,
                           EngineTime now = kBeginningOfTime) const;
  std::vector<SeriesCount> TopSeries(size_t n, EngineTime now = kBeginningOfTime) const;
  // In the order in which they last became non-empty.
  std::vector<SeriesCount> AllSeries(EngineTime now = kBeginningOfTime) const;

  PresenceLedger ledger() const;
  PresenceSizes sizes() const;  // but for bytes
  const std::vector<ModelPresenceChange>& changes() const { return changes_; }
  EngineTime now() const { return clock_.now(); }
  EngineTime FirstDeadline() const;  // of a user; kNever: there is none

 private:
  using Place = std::pair<EngineTime, uint64_t>;  // stamp and position

  struct Link {
    uint64_t generation = 0;
    Place place;
  };
  struct Person {
    uint64_t metadata = 0;
    bool away = false;
    std::map<std::string, Link> links = {};
  };
  struct Room {
    uint64_t turn = 0;  // the order in which series became non-empty
    std::map<std::string, Person> users = {};
  };

  enum class Verb { kEnter, kBeat, kUpdate, kLeave };
  struct Call {
    Verb verb;
    std::string series;
    std::string user;
    std::string connection;
    uint64_t generation;
    std::optional<uint64_t> metadata;
    EngineTime at;
    uint64_t position = 0;
  };

  // The next change that time makes to a user.
  struct Due {
    EngineTime at;
    uint64_t position;
    std::string series;
    std::string user;
  };

  void MoveTime(EngineTime to);
  std::optional<Due> NextDue() const;
  void EndByTime(const Due& due);
  void DropLinksThatAreGone();

  PresenceOutcome Answer(Call call);
  PresenceOutcome Judge(const Call& call);
  std::optional<PresenceOutcome> Refusal(const Call& call) const;
  bool BringsMetadata(const Call& call) const;
  PresenceOutcome Refresh(const Call& call);
  PresenceOutcome End(const Call& call);
  void Count(PresenceOutcome outcome);

  EngineTime Deadline(const Place& place) const { return DeadlineAfter(place.first, options_.ttl); }
  EngineTime GoneAt(const Place& place) const {
    return DeadlineAfter(Deadline(place), options_.grace);
  }
  static Place PlaceOf(const Person& person);
  const Room* RoomOf(std::string_view series) const;
  Link* LinkOf(const Call& call);
  User Shown(const std::string& name, const Person& person, EngineTime now) const;
  std::vector<User> UsersAt(std::string_view series, EngineTime now) const;  // oldest first
  PresenceSizes SizesOf(std::optional<int> partition) const;

  void Tell(Cause cause, const std::string& series, const std::string& user, EngineTime at);
  void Remove(const std::string& series, const std::string& user, EngineTime at);

  const int partitions_;
  const Home home_;
  bool full_ = false;
  PresenceOptions options_;
  ModelClock clock_;
  bool stopped_ = false;
  uint64_t positions_ = 0;
  uint64_t generations_ = 0;
  uint64_t turns_ = 0;
  std::map<std::string, Room> rooms_;
  std::vector<ModelPresenceChange> changes_;
  std::map<int, uint64_t> numbers_;  // of the next change of each partition
  PresenceLedger ledger_;            // without what counts the present
};

}  // namespace pleat::inline v0_1
