// The users that come out of a Presence, with their connections.
//
//   for (const pleat::PresentUser<Status>& user : readers.List("page 1")) {
//     Show(user.id, user.metadata, user.away ? "away" : "here");
//   }
//
// Ownership: plain data of its own.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include <pleat/export.h>
#include <pleat/time.h>

namespace pleat::inline v0_1 {

struct Connection {
  std::string id;
  uint64_t generation;
  EngineTime stamp;
  EngineTime deadline;  // live before it, overdue from it on; kNever: none
};

template <class Metadata>
struct PresentUser {
  std::string id;
  Metadata metadata;
  EngineTime stamp;     // the latest one of the connections
  EngineTime deadline;  // of a user here: away from then on; of one away: left; kNever: none
  bool away;
  std::vector<Connection> connections;  // live and overdue, in the order of (stamp, position)
};

}  // namespace pleat::inline v0_1
