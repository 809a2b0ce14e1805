// See the header, and docs/semantics-presence.md.
#include "tests/model/presence_model.h"

#include <algorithm>
#include <functional>
#include <tuple>
#include <utility>
#include <vector>

namespace pleat::inline v0_1 {

// Time.

void PresenceModel::MoveTime(EngineTime to) {
  clock_.Advance(to);
  for (;;) {
    const std::optional<Due> due = NextDue();
    if (!due || due->at > now()) break;
    EndByTime(*due);
  }
  DropLinksThatAreGone();
}

// By (instant, position of the call that set the user's stamp).
std::optional<PresenceModel::Due> PresenceModel::NextDue() const {
  std::optional<Due> next;
  for (const auto& [series, room] : rooms_) {
    for (const auto& [name, person] : room.users) {
      const Place place = PlaceOf(person);
      const EngineTime at = person.away ? GoneAt(place) : Deadline(place);
      if (!next || std::pair(at, place.second) < std::pair(next->at, next->position)) {
        next = Due{at, place.second, series, name};
      }
    }
  }
  return next;
}

// A user becomes away, or leaves. With a grace of zero, both at once, and only the end is told.
void PresenceModel::EndByTime(const Due& due) {
  Person& person = rooms_[due.series].users[due.user];
  const bool leaves = person.away || options_.grace == Duration{0};
  if (!person.away) ++ledger_.went_away;
  if (leaves) {
    ++ledger_.timed_out;
    ledger_.expired += person.links.size();
    return Remove(due.series, due.user, due.at);
  }
  person.away = true;
  Tell(Cause::kAway, due.series, due.user, due.at);
}

// Those of users who have others: the rest go with their users.
void PresenceModel::DropLinksThatAreGone() {
  for (auto& [series, room] : rooms_) {
    for (auto& [name, person] : room.users) {
      ledger_.expired += std::erase_if(
          person.links, [&](const auto& link) { return GoneAt(link.second.place) <= now(); });
    }
  }
}

EngineTime PresenceModel::FirstDeadline() const {
  const std::optional<Due> due = NextDue();
  return due ? due->at : kNever;
}

// Who is here again is told first, by their places; then who is away or gone, as time would have had
// it, but now. Who is gone is told once.
void PresenceModel::SetOptions(const PresenceOptions& options) {
  options_ = options;
  std::vector<std::tuple<Place, std::string, std::string>> back;
  for (const auto& [series, room] : rooms_) {
    for (const auto& [name, person] : room.users) {
      const Place place = PlaceOf(person);
      if (person.away && Deadline(place) > now()) back.emplace_back(place, series, name);
    }
  }
  std::sort(back.begin(), back.end());
  for (const auto& [place, series, name] : back) {
    rooms_[series].users[name].away = false;
    --ledger_.went_away;
    Tell(Cause::kRestored, series, name, now());
  }
  while (const std::optional<Due> due = NextDue()) {
    if (due->at > now()) break;
    Person& person = rooms_[due->series].users[due->user];
    if (!std::exchange(person.away, true)) {
      ++ledger_.went_away;
      if (GoneAt(PlaceOf(person)) > now()) {
        Tell(Cause::kAway, due->series, due->user, now());
        continue;
      }
    }
    ++ledger_.timed_out;
    ledger_.expired += person.links.size();
    Remove(due->series, due->user, now());
  }
  DropLinksThatAreGone();
}

void PresenceModel::Close() {
  stopped_ = true;
  rooms_.clear();
}

// Calls.

Entered PresenceModel::Enter(std::string_view series, std::string_view user,
                             std::string_view connection, uint64_t metadata, EngineTime at) {
  Call call{Verb::kEnter,
            std::string(series),
            std::string(user),
            std::string(connection),
            generations_ + 1,
            metadata,
            at};
  const PresenceOutcome outcome = Answer(std::move(call));
  using enum PresenceOutcome;
  const bool entered = outcome == kJoined || outcome == kReturned || outcome == kConnected ||
                       outcome == kReconnected;
  return {outcome, entered ? ++generations_ : 0};
}

PresenceOutcome PresenceModel::Beat(std::string_view series, std::string_view user,
                                    std::string_view connection, uint64_t generation,
                                    EngineTime at) {
  return Answer({Verb::kBeat, std::string(series), std::string(user), std::string(connection),
                 generation, std::nullopt, at});
}

PresenceOutcome PresenceModel::Update(std::string_view series, std::string_view user,
                                      std::string_view connection, uint64_t generation,
                                      uint64_t metadata, EngineTime at) {
  return Answer({Verb::kUpdate, std::string(series), std::string(user), std::string(connection),
                 generation, metadata, at});
}

PresenceOutcome PresenceModel::Leave(std::string_view series, std::string_view user,
                                     std::string_view connection, uint64_t generation,
                                     EngineTime at) {
  return Answer({Verb::kLeave, std::string(series), std::string(user), std::string(connection),
                 generation, std::nullopt, at});
}

PresenceOutcome PresenceModel::Answer(Call call) {
  if (stopped_) return PresenceOutcome::kStopped;
  call.at = Clamp(call.at);
  call.position = ++positions_;
  const PresenceOutcome outcome = Judge(call);
  Count(outcome);
  return outcome;
}

// The steps of one call.
PresenceOutcome PresenceModel::Judge(const Call& call) {
  // 1, 2
  if (IsTooLong(call.series) || IsTooLong(call.user) || IsTooLong(call.connection)) {
    return PresenceOutcome::kOverLimit;
  }
  if (clock_.IsFuture(call.at)) return PresenceOutcome::kFuture;
  // 3
  MoveTime(clock_.After(call.at));
  // 4
  const bool leaves = call.verb == Verb::kLeave;
  if (!leaves && Deadline({call.at, 0}) <= now()) return PresenceOutcome::kLate;
  const Link* const link = LinkOf(call);
  if (call.verb == Verb::kEnter) {
    // 6
    if (link == nullptr) {
      if (const auto refusal = Refusal(call)) return *refusal;
    }
  } else {
    // 5
    if (link == nullptr) return PresenceOutcome::kUnknown;
    if (link->generation != call.generation) return PresenceOutcome::kSuperseded;
  }
  if (link != nullptr && full_ && BringsMetadata(call)) return PresenceOutcome::kOverLimit;
  // 7
  return leaves ? End(call) : Refresh(call);
}

std::optional<PresenceOutcome> PresenceModel::Refusal(const Call& call) const {
  const PresenceLimits& limits = options_.limits;
  const auto shares = static_cast<size_t>(partitions_);
  const PresenceSizes sizes = SizesOf(home_(call.series));
  const Room* const room = RoomOf(call.series);
  const auto user = room != nullptr ? room->users.find(call.user) : decltype(room->users.end()){};
  const bool is_new = room == nullptr || user == room->users.end();

  if (!is_new && user->second.links.size() >= limits.max_per_user) return PresenceOutcome::kFull;
  if (is_new && room != nullptr && room->users.size() >= limits.max_per_series) {
    return PresenceOutcome::kFull;
  }
  const bool over = (room == nullptr && sizes.series >= limits.max_series / shares) ||
                    (is_new && sizes.users >= limits.max_users / shares) ||
                    sizes.connections >= limits.max_connections / shares || full_;
  if (over) return PresenceOutcome::kOverLimit;
  return std::nullopt;
}

// Whether a call of a connection that is there has other metadata for its user.
bool PresenceModel::BringsMetadata(const Call& call) const {
  return call.metadata && *call.metadata != rooms_.at(call.series).users.at(call.user).metadata;
}

// Enter, Beat and Update, once they act.
PresenceOutcome PresenceModel::Refresh(const Call& call) {
  Room& room = rooms_[call.series];
  if (room.users.empty()) room.turn = ++turns_;
  const bool joins = !room.users.contains(call.user);
  Person& person = room.users[call.user];
  const bool connects = !person.links.contains(call.connection);
  Link& link = person.links[call.connection];

  link.generation = call.generation;
  const bool is_newer = connects || call.at > link.place.first;
  if (is_newer) link.place = {call.at, call.position};
  const bool updates = call.metadata && *call.metadata != person.metadata;
  if (updates) person.metadata = *call.metadata;
  const bool returns = std::exchange(person.away, false);
  if (connects) ++ledger_.opened;

  const auto tell = [&](Cause cause) { Tell(cause, call.series, call.user, now()); };
  if (joins) {
    tell(Cause::kAdded);
  } else if (returns) {
    tell(Cause::kRestored);
  } else if (updates) {
    tell(Cause::kUpdated);
  }

  if (joins) return PresenceOutcome::kJoined;
  if (returns) return PresenceOutcome::kReturned;
  if (connects) return PresenceOutcome::kConnected;
  if (call.verb == Verb::kEnter) return PresenceOutcome::kReconnected;
  if (updates) return PresenceOutcome::kUpdated;
  return is_newer ? PresenceOutcome::kRefreshed : PresenceOutcome::kUnchanged;
}

// Leave, once it acts.
PresenceOutcome PresenceModel::End(const Call& call) {
  Person& person = rooms_[call.series].users[call.user];
  if (person.links.size() == 1) {
    if (person.away) ++ledger_.left_away;
    Remove(call.series, call.user, now());
    return PresenceOutcome::kLeft;
  }
  person.links.erase(call.connection);
  if (!person.away && Deadline(PlaceOf(person)) <= now()) {
    person.away = true;
    ++ledger_.went_away;
    Tell(Cause::kAway, call.series, call.user, now());
  }
  return PresenceOutcome::kDisconnected;
}

void PresenceModel::Count(PresenceOutcome outcome) {
  ++ledger_.events;
  switch (outcome) {
    case PresenceOutcome::kJoined: ++ledger_.joined; break;
    case PresenceOutcome::kReturned: ++ledger_.returned; break;
    case PresenceOutcome::kConnected: ++ledger_.connected; break;
    case PresenceOutcome::kReconnected: ++ledger_.reconnected; break;
    case PresenceOutcome::kRefreshed: ++ledger_.refreshed; break;
    case PresenceOutcome::kUpdated: ++ledger_.updated; break;
    case PresenceOutcome::kUnchanged: ++ledger_.unchanged; break;
    case PresenceOutcome::kDisconnected: ++ledger_.disconnected; break;
    case PresenceOutcome::kLeft: ++ledger_.left; break;
    case PresenceOutcome::kUnknown: ++ledger_.unknown; break;
    case PresenceOutcome::kSuperseded: ++ledger_.superseded; break;
    case PresenceOutcome::kLate: ++ledger_.late; break;
    case PresenceOutcome::kFuture: ++ledger_.future; break;
    default: ++ledger_.over_limit;
  }
}

// Parts.

PresenceModel::Place PresenceModel::PlaceOf(const Person& person) {
  Place latest = person.links.begin()->second.place;
  for (const auto& [name, link] : person.links) latest = std::max(latest, link.place);
  return latest;
}

const PresenceModel::Room* PresenceModel::RoomOf(std::string_view series) const {
  const auto room = rooms_.find(std::string(series));
  return room == rooms_.end() ? nullptr : &room->second;
}

PresenceModel::Link* PresenceModel::LinkOf(const Call& call) {
  const auto room = rooms_.find(call.series);
  if (room == rooms_.end()) return nullptr;
  const auto user = room->second.users.find(call.user);
  if (user == room->second.users.end()) return nullptr;
  const auto link = user->second.links.find(call.connection);
  return link == user->second.links.end() ? nullptr : &link->second;
}

void PresenceModel::Remove(const std::string& series, const std::string& user, EngineTime at) {
  Tell(Cause::kLeft, series, user, at);
  Room& room = rooms_[series];
  room.users.erase(user);
  if (room.users.empty()) rooms_.erase(series);
}

// The user is still there, also one who leaves.
void PresenceModel::Tell(Cause cause, const std::string& series, const std::string& user,
                         EngineTime at) {
  const Room& room = rooms_[series];
  const Person& person = room.users.at(user);
  const Place place = PlaceOf(person);
  const auto away = std::count_if(room.users.begin(), room.users.end(),
                                  [](const auto& entry) { return entry.second.away; });
  const bool leaves = cause == Cause::kLeft;
  const int partition = home_(series);
  ModelPresenceChange change;
  change.change = {static_cast<uint32_t>(partition), numbers_[partition]++};
  change.cause = cause;
  change.at = at;
  change.count = room.users.size() - (leaves ? 1 : 0);
  change.away = static_cast<size_t>(away) - (leaves && person.away ? 1 : 0);
  change.stamp = place.first;
  change.deadline = person.away ? GoneAt(place) : Deadline(place);
  change.series = series;
  change.user = user;
  change.metadata = person.metadata;
  changes_.push_back(std::move(change));
}

// Reads.

PresenceModel::User PresenceModel::Shown(const std::string& name, const Person& person,
                                         EngineTime now) const {
  std::vector<std::pair<Place, Connection>> links;
  for (const auto& [id, link] : person.links) {
    if (GoneAt(link.place) <= now) continue;
    const Connection shown{id, link.generation, link.place.first, Deadline(link.place)};
    links.emplace_back(link.place, shown);
  }
  std::sort(links.begin(), links.end(),
            [](const auto& a, const auto& b) { return a.first < b.first; });
  const Place place = PlaceOf(person);
  const bool away = Deadline(place) <= now;
  User user{name, person.metadata, place.first, away ? GoneAt(place) : Deadline(place), away, {}};
  for (const auto& [at, link] : links) user.connections.push_back(link);
  return user;
}

std::vector<PresenceModel::User> PresenceModel::UsersAt(std::string_view series,
                                                        EngineTime now) const {
  now = std::max(now, clock_.now());
  std::vector<std::pair<Place, User>> users;
  const Room* const room = RoomOf(series);
  if (room == nullptr) return {};
  for (const auto& [name, person] : room->users) {
    const Place place = PlaceOf(person);
    if (now < GoneAt(place)) users.emplace_back(place, Shown(name, person, now));
  }
  std::sort(users.begin(), users.end(),
            [](const auto& a, const auto& b) { return a.first < b.first; });
  std::vector<User> out;
  for (auto& [place, user] : users) out.push_back(std::move(user));
  return out;
}

PresenceCounts PresenceModel::Count(std::string_view series, EngineTime now) const {
  now = std::max(now, clock_.now());
  PresenceCounts counts;
  for (const User& user : UsersAt(series, now)) {
    ++(user.away ? counts.away : counts.here);
    for (const Connection& link : user.connections) {
      if (now < link.deadline) ++counts.connections;
    }
  }
  return counts;
}

std::vector<PresenceModel::User> PresenceModel::List(std::string_view series,
                                                     const ListOptions& options) const {
  std::vector<User> out = UsersAt(series, options.now);
  std::erase_if(out, [&](const User& u) { return options.since && u.stamp <= *options.since; });
  if (options.newest_first) std::reverse(out.begin(), out.end());
  return out;
}

std::optional<PresenceModel::User> PresenceModel::Find(std::string_view series,
                                                       std::string_view user,
                                                       EngineTime now) const {
  for (User& found : UsersAt(series, now)) {
    if (found.id == user) return std::move(found);
  }
  return std::nullopt;
}

std::vector<SeriesCount> PresenceModel::AllSeries(EngineTime now) const {
  std::map<uint64_t, SeriesCount> by_turn;
  for (const auto& [name, room] : rooms_) {
    const size_t count = UsersAt(name, now).size();
    if (count > 0) by_turn[room.turn] = {name, count};
  }
  std::vector<SeriesCount> out;
  for (const auto& [turn, series] : by_turn) out.push_back(series);
  return out;
}

// Of equal counts, a multimap keeps the order in which they come.
std::vector<SeriesCount> PresenceModel::TopSeries(size_t n, EngineTime now) const {
  std::multimap<size_t, SeriesCount, std::greater<>> by_count;
  for (const SeriesCount& series : AllSeries(now)) by_count.emplace(series.count, series);
  std::vector<SeriesCount> out;
  for (const auto& [count, series] : by_count) {
    if (out.size() < n) out.push_back(series);
  }
  return out;
}

// Of one partition, or of all.
PresenceSizes PresenceModel::SizesOf(std::optional<int> partition) const {
  PresenceSizes sizes;
  for (const auto& [name, room] : rooms_) {
    if (partition && home_(name) != *partition) continue;
    ++sizes.series;
    sizes.users += room.users.size();
    for (const auto& [user, person] : room.users) sizes.connections += person.links.size();
  }
  return sizes;
}

PresenceSizes PresenceModel::sizes() const { return SizesOf(std::nullopt); }

PresenceLedger PresenceModel::ledger() const {
  PresenceLedger ledger = ledger_;
  const PresenceSizes now = sizes();
  ledger.users = now.users;
  ledger.connections = now.connections;
  for (const auto& [name, room] : rooms_) {
    for (const auto& [user, person] : room.users) ledger.away += person.away ? 1 : 0;
  }
  ledger.changes = changes_.size();
  for (const auto& change : changes_) ++ledger.causes.at(IndexOf(change.cause));
  return ledger;
}

}  // namespace pleat::inline v0_1
