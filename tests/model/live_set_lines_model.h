// The reference model of `pleat live` on event time, under naive JSON: all members of all series in
// one list, searched from front to back for every question. Time goes instant by instant: what is
// due happens in its order, and only then the event. It shares no code with engine/lines and
// engine/live.
//
// Not modelled: input without --time, --idle, limits on memory.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <pleat/time.h>

#include "tests/model/plain_condition.h"
#include "tests/model/plain_fields.h"
#include "tests/model/plain_reorder.h"
#include "tests/support/plain_json.h"

namespace pleat::inline v0_1 {

struct LiveSetLinesOptions {
  std::vector<PlainField> key;
  std::vector<PlainField> member;
  Duration ttl{0};
  PlainPath ttl_path;  // these three: empty means that there is none
  PlainPath payload;
  PlainPath version;
  PlainCondition remove_when;
  std::string refresh = "latest";
  PlainPath time;
  std::string time_unit;
  Duration reorder{0};
  Duration future_limit = kForever;
  size_t max_series = SIZE_MAX;
  size_t max_members = SIZE_MAX;
  bool drops = false;

  bool refreshes = false;
  Duration every{0};  // 0: changes
  std::vector<std::pair<std::string, Duration>> within;
  size_t top = SIZE_MAX;
};

class LiveSetLinesModel {
 public:
  explicit LiveSetLinesModel(const LiveSetLinesOptions& options) : options_(options) {
    if (options.reorder > Duration{0}) reorder_.emplace(options.reorder, options.future_limit);
  }

  // Appends what falls due, and what the line changes, to `out`. False: the time is a number without a unit.
  bool AddLine(std::string_view line, std::string& out);
  void End(std::string& out);  // of the input

  // The numbers of the lines at which time has jumped so far that counts were left out.
  const std::vector<size_t>& jumps() const { return jumps_; }

  std::string Open() const;   // the live members, a line each
  std::string Stats() const;  // one JSON object

 private:
  using Count = std::map<std::string, uint64_t>;

  struct Member {
    std::string series;  // these two as they are written
    std::string id;
    EngineTime stamp;
    Duration own_ttl{0};
    std::optional<uint64_t> version;
    std::string payload = {};  // empty: null
    uint64_t position = 0;     // of the event that set the stamp
  };
  struct Tombstone {
    EngineTime stamp;
    EngineTime until;  // forgotten from then on
  };

  // The event of a line, and whether it removes; nothing if the line is invalid.
  std::optional<Member> ReadEvent(const PlainJson& json, bool removes);
  bool IsFuture(EngineTime at) const;

  struct Line {
    Member event;
    bool removes;
    size_t number;
  };
  void Take(Line line, std::string& out);
  void TakeInTurn(std::vector<Line> lines, std::string& out);

  void MoveTo(EngineTime now, size_t line, std::string& out);
  void Expire(EngineTime now, std::string& out);
  bool AnyLivesAt(EngineTime at) const;
  void WriteCounts(EngineTime at, std::string& out) const;

  void Remove(const Member& event, std::string& out);
  std::string Judge(const Member& event, std::string& out);
  std::string JudgeLive(size_t live, const Member& event, std::string& out);
  std::string Add(const Member& event, std::string& out);
  bool MakeRoom(const Member& event, std::string& out);

  size_t Find(const std::string& series, const std::string& id) const;  // or members_.size()
  size_t Next() const;
  size_t OldestOf(const std::string& series) const;
  size_t NextToDrop() const;  // the member that expires next, or members_.size()
  EngineTime DeadlineOf(const Member& member) const;
  size_t CountOf(const std::string& series) const;
  // The series that are not empty, in the order in which they came to be so.
  std::vector<std::string> Series() const;
  void End(size_t member, const std::string& cause, EngineTime at, std::string& out);
  void Write(const Member& member, const std::string& cause, EngineTime at, std::string& out);
  std::string Life(const Member& member) const;
  std::string Payload(const Member& member) const;

  const LiveSetLinesOptions options_;
  std::vector<Member> members_;
  std::map<std::pair<std::string, std::string>, Tombstone> tombstones_;
  std::map<std::string, uint64_t> since_;  // the position at which a series became non-empty
  std::optional<EngineTime> now_;
  size_t given_ = 0;  // lines, blank ones included
  uint64_t position_ = 0;
  std::vector<size_t> jumps_;
  std::optional<PlainReorder<Line>> reorder_;      // with a bound of disorder
  std::map<std::string, std::string> first_seen_;  // of equal keys and members
  bool no_unit_ = false;
  mutable Count counts_;
};

}  // namespace pleat::inline v0_1
