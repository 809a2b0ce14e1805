// The reference model of `pleat fold` on event time: plain_folder under naive JSON. A group is a list of
// events, an event its whole document; only when a group is handed out are values looked up and reduced.
// It shares no code with engine/lines.
//
//   plain_folder      which events make a group, when it is handed out, in which order
//   plain_condition   what a condition says of an event or of merged values
//   plain_merge       what the events of a group amount to
//   ndjson_model      from lines to events, and from groups to lines
//
// Not modelled: input without --time, --idle, --open, limits on memory and keys.
#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "tests/model/plain_condition.h"
#include "tests/model/plain_fields.h"
#include "tests/model/plain_folder.h"
#include "tests/model/plain_merge.h"
#include "tests/model/plain_path.h"
#include "tests/model/plain_reorder.h"
#include "tests/support/plain_json.h"

namespace pleat::inline v0_1 {

struct NdjsonOptions {
  std::vector<PlainField> key;
  std::vector<PlainMerge> merges;
  PlainPath time;
  std::string time_unit;
  PlainPath quiet;      // of an event's own quiet period; empty: none has one
  PlainPath close_at;   // of the instant at which a group closes; empty: none is stated
  PlainPath key_class;  // empty: keys are of none
  PlainPath id;         // empty: events have no ids
  PlainCondition where;
  EngineTime from = kBeginningOfTime;
  EngineTime to = kNever;
  PlainCondition start_when;
  PlainCondition end_when;
  PlainCondition close_when;
  PlainCondition flush_when;
  PlainCondition cancel_when;
  Duration reorder{0};
  EngineOptions engine{.axis = Axis::kEvent};
  FolderOptions folder{.max_wait = kForever};
  std::string rest = "drop";
  uint64_t raw = 0;
  uint64_t raw_last = 0;
  bool meta = true;
  bool emission_id = false;
  bool drop_at_end = false;
};

class NdjsonModel {
 public:
  explicit NdjsonModel(const NdjsonOptions& options);
  NdjsonModel(const NdjsonModel&) = delete;
  NdjsonModel& operator=(const NdjsonModel&) = delete;

  // Appends what falls due to `out`. False: the event time is a number without a unit.
  bool AddLine(std::string_view line, std::string& out);
  void End(std::string& out);
  std::string Stats() const;                        // after End(), one JSON object
  const Ledger& ledger() const { return ledger_; }  // as of the end

 private:
  bool selects() const;
  bool IsSpoiled(const PlainJson& event) const;  // by a name that comes twice

  // The event of a line, with its key and time; nothing if the line is invalid or excluded.
  std::optional<PlainEvent> ReadEvent(std::string_view line);

  // Adds what an event to be folded needs beyond that. False: the line is invalid.
  bool ReadMarks(PlainEvent& event);

  // Such an event, or one that flushes or cancels.
  struct Usable {
    PlainEvent event;
    bool cancels;
    bool flushes;
  };
  bool Take(const Usable& line);  // false: beyond the future limit
  void TakeInTurn(const std::vector<Usable>& lines);
  bool Fold(const PlainEvent& event);

  void Write(const PlainEmission& emission, std::string& out) const;
  std::string MetaOf(const PlainEmission& emission, const std::string& saturated,
                     const std::string& cut) const;

  const NdjsonOptions options_;
  PlainFolder folder_;
  std::optional<PlainReorder<Usable>> reorder_;  // with a bound of disorder
  std::set<std::string> no_rest_;                // names at the top that are no rest members
  bool no_unit_ = false;
  Ledger ledger_;
  uint64_t lines_ = 0;
  uint64_t invalid_ = 0;
  uint64_t excluded_ = 0;
  bool is_excluded_ = false;  // the line that was read last
  uint64_t control_ = 0;
  uint64_t mismatched_ = 0;
  std::vector<EngineTime> stamps_;  // of all events, in order
};

}  // namespace pleat::inline v0_1
