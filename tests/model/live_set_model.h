// The reference model of live sets: what a LiveSet in an Engine promises, written from
// docs/semantics-live-sets.md so that one can see that it is right. Where engine and model differ,
// one of the two is wrong, and the document decides which.
//
// A series is two sorted maps, by stamp and then by position: the members that are live, and those
// that expired and may come back. Everything else is found by looking at all of them. There are no
// threads, hashes, wheels or partitions: the point of all those is that they do not show.
//
//   time       moves only forward; everything due by it happens the moment it moves, so no live
//              member is ever due by the model's time
//   position   the number of an event among all; a member has that of the event that it shows
//   changes    what watchers are told, in the order of all output
//
// It models one partition with its limits, but for max_bytes; and several, as long as no limit is
// reached.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <pleat/batch.h>
#include <pleat/change.h>
#include <pleat/engine.h>
#include <pleat/live_set.h>
#include <pleat/live_set_options.h>
#include <pleat/time.h>

#include "tests/model/model_clock.h"

namespace pleat::inline v0_1 {

struct ModelChange {
  Cause cause = Cause::kAdded;
  std::string series;
  std::string id;
  uint64_t payload = 0;
  EngineTime at;
  size_t count = 0;  // live members of the series after this very change
  EngineTime stamp;
  EngineTime deadline;

  friend bool operator==(const ModelChange&, const ModelChange&) = default;
};

class LiveSetModel {
 public:
  using Event = LiveSetEvent<uint64_t>;
  using Row = KeyedEvent<Event>;
  using Member = LiveMember<uint64_t>;

  LiveSetModel(const EngineOptions& engine, const LiveSetOptions& live_set)
      : clock_(engine), options_(live_set) {}

  void Advance(EngineTime now) { MoveTime(now); }
  void Stop() { stopped_ = true; }

  LiveSetOutcome Add(std::string_view series, const Event& event, EngineTime at);
  // An event of a batch that is elsewhere.
  LiveSetOutcome PassBy(std::string_view series, std::string_view id, EngineTime at);
  LiveSetOutcome Touch(std::string_view series, std::string_view id, EngineTime at);
  LiveSetCounts Import(std::string_view series, std::span<const Row> rows);
  LiveSetControl Remove(std::string_view series, std::string_view id,
                        const RemoveOptions& options = {});
  size_t Remove(std::string_view series, EngineTime from, EngineTime to);
  LiveSetControl SetTtl(std::string_view series, Duration ttl);
  void SetOptions(const LiveSetOptions& options);
  size_t Clear(std::string_view series);

  size_t Count(std::string_view series, EngineTime now = kBeginningOfTime) const;
  size_t CountSince(std::string_view series, EngineTime since,
                    EngineTime now = kBeginningOfTime) const;
  size_t CountBetween(std::string_view series, EngineTime from, EngineTime to,
                      EngineTime now = kBeginningOfTime) const;
  // The whole list: without limit and cursor.
  std::vector<Member> List(std::string_view series, const ListOptions& options = {}) const;
  std::optional<Member> Find(std::string_view series, std::string_view id,
                             EngineTime now = kBeginningOfTime) const;
  std::optional<size_t> Rank(std::string_view series, std::string_view id,
                             EngineTime now = kBeginningOfTime) const;
  std::vector<SeriesCount> TopSeries(size_t n, EngineTime now = kBeginningOfTime) const;
  std::vector<SeriesCount> Scan() const;  // by name

  LiveSetLedger ledger() const;
  LiveSetSizes sizes() const;  // but for bytes
  const std::vector<ModelChange>& changes() const { return changes_; }
  EngineTime now() const { return clock_.now(); }
  EngineTime FirstDeadline() const;  // kNever: there is none

 private:
  using Place = std::pair<EngineTime, uint64_t>;  // stamp and position

  struct Kept {
    std::string id;
    uint64_t payload = 0;
    std::optional<uint64_t> version = {};
    Duration own_ttl{0};  // zero: that of the series
  };
  using Members = std::map<Place, Kept>;

  struct Series {
    Members live = {};
    Members retained = {};
    std::optional<Duration> ttl = {};
    uint64_t turn = 0;  // the order in which series last became non-empty
  };

  struct Tombstone {
    EngineTime stamp;
    EngineTime until;
  };

  // An event, a touch or a row of an import, as the rules see it.
  struct Offer {
    std::string series;
    Kept member;  // what the event says
    EngineTime at;
    uint64_t position = 0;
    Refresh refresh = Refresh::kLatest;
    bool is_touch = false;
    bool is_row = false;
  };

  // A member that would have to go; a retained one goes unseen.
  struct Victim {
    EngineTime ends;
    std::string series;
    Place place;
    bool is_live;
  };

  void MoveTime(EngineTime to);
  void MoveWatermark(EngineTime at) {
    if (clock_.After(at) > now()) MoveTime(clock_.After(at));
  }
  void ForgetWhatIsOver();

  LiveSetOutcome Answer(Offer offer);
  LiveSetOutcome Judge(const Offer& offer);
  LiveSetOutcome Meet(const Offer& offer, Members::iterator live);
  LiveSetOutcome AddNew(const Offer& offer);

  LiveSetOutcome MakeRoom(const Offer& offer, EngineTime deadline);
  LiveSetOutcome DropNext(bool whole_series, EngineTime deadline);
  std::vector<Victim> LiveByDeadline() const;
  std::optional<Victim> NextVictim() const;

  Duration TtlOf(std::string_view series) const;
  Duration TtlOf(const Series& series, const Kept& member) const;
  EngineTime DeadlineOf(const Series& series, const Members::value_type& member) const;
  Member Shown(const Series& series, const Members::value_type& member) const;
  std::vector<Member> LiveAt(std::string_view series, EngineTime now) const;

  void Begin(const std::string& series, Place place, const Kept& member);
  void End(const std::string& series, Members::iterator member, Cause cause, EngineTime at);
  void Tell(Cause cause, const std::string& series, const Members::value_type& member,
            EngineTime at);
  void LeaveTombstone(const std::string& series, const std::string& id, EngineTime stamp,
                      Duration own_ttl);

  ModelClock clock_;
  LiveSetOptions options_;
  bool stopped_ = false;
  uint64_t positions_ = 0;
  uint64_t turns_ = 0;
  std::map<std::string, Series> series_;
  std::map<std::pair<std::string, std::string>, Tombstone> tombstones_;
  std::vector<ModelChange> changes_;
  LiveSetLedger ledger_;  // without what counts the present
};

}  // namespace pleat::inline v0_1
