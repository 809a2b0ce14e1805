// An EventSpec made ready to run: every path becomes a slot of one tree, so that one walk over a
// line finds all values.
//
// A collection adds the marks and the values that it wants besides key and time. Afterwards the
// plan never changes, so that any thread may read it; only `identity_keys` do, when a snapshot is
// restored, and nobody reads lines meanwhile.
#pragma once

#include <algorithm>
#include <array>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <pleat/json.h>
#include <pleat/json_lines.h>
#include <pleat/json_live_set.h>

#include "engine/base/hash.h"
#include "engine/lines/plan/condition.h"
#include "engine/lines/scan/event.h"
#include "engine/lines/scan/path.h"
#include "engine/lines/scan/unseen_paths.h"
#include "engine/lines/time/time_rules.h"

namespace pleat::inline v0_1 {

// The fields of a key that are members of the events: none if all events are of one key.
inline std::span<const KeyField> KeyMembers(const EventSpec& spec) noexcept {
  const bool one_key = spec.key.size() == 1 && spec.key[0].path.empty() && spec.key[0].name.empty();
  return one_key ? std::span<const KeyField>() : spec.key;
}

struct EventPlan {
  // A member that has to be a scalar.
  struct ScalarMember {
    int slot;
    bool optional;          // it may be absent, and counts as null then
    std::string absent;     // why a line that lacks it is invalid
    std::string container;  // why a line where it is an object or an array is invalid
    OptionPath path;
  };
  struct WantedValue {
    ValueForm form;
    int slot = PathTree::kNone;  // of a member
  };
  struct AskedPath {
    int slot;
    OptionPath path;
  };

  // REQUIRES: Validate(spec) is OK; likewise of what is added.
  explicit EventPlan(const EventSpec& spec);

  void AddMarks(const MarkSpec& marks);

  // Every event has an id among those of its key. The collection compares contents.
  void AddId(const std::string& path);

  // Every event is about a member of the series that its key names.
  void AddMember(const MemberSpec& member);

  // Each event gets one more value, behind those added before. `option` is what asks for the path.
  void AddValue(std::string_view option, const std::string& path, ValueForm form);

  // The same for a form without a path.
  void AddValue(ValueForm form) {
    values.push_back({form});
    if (form == ValueForm::kLine || form == ValueForm::kMembers) paths.AskForAll();
  }

  // The paths that led to no member in any line so far. There are none as long as no line was an
  // object.
  std::vector<OptionPath> Absent(const UnseenPaths& unseen) const;

  // All paths, each with the option that asks for it.
  std::vector<OptionPath> Asked() const;

  PathTree paths;
  std::vector<AskedPath> asked;  // all paths, each with the option that asks for it

  std::vector<ScalarMember> keys;
  int time_slot = PathTree::kNone;  // kNone: events are stamped by the caller
  std::string time_absent;          // why a line without it is invalid
  OptionPath time_path;
  // Of a time whose parts are several members, which are joined by blanks. Else empty.
  std::vector<ScalarMember> time_parts;
  TimeUnit time_unit = TimeUnit::kNotStated;
  TimeRules time_rules;  // of a time that is text
  int time_shift = 0;    // the power of ten that takes a number of the unit to microseconds
  bool waits = false;    // events go through a reorder stage (reorder_stage.h)

  bool untyped = false;        // lines have no types: see EventSpec
  bool has_selection = false;  // some line may be excluded
  ConditionPlan where;         // the places of all conditions are slots
  bool has_range = false;      // of event time:
  EngineTime from;
  EngineTime to;

  bool has_marks = false;               // some event may have marks
  int quiet_slot = PathTree::kNone;     // of an event's own quiet period
  int close_at_slot = PathTree::kNone;  // of the instant at which its group closes
  std::optional<ScalarMember> key_class;
  std::optional<ScalarMember> id;
  bool id_has_content = true;  // the whole line; if false, ids over 64 KiB are invalid
  ConditionPlan start_when;
  ConditionPlan end_when;

  std::vector<ScalarMember> member;    // the parts of the id of a member; empty: there are none
  int ttl_slot = PathTree::kNone;      // of a TTL of the member's own
  int version_slot = PathTree::kNone;  // of its version

  bool has_control = false;  // some event may flush, cancel or remove
  ConditionPlan flush_when;
  ConditionPlan cancel_when;  // or remove

  // Whether the stamp of some line may be known only to the thread that takes the lines.
  bool has_open_times() const noexcept {
    return time_slot != PathTree::kNone && time_rules.may_be_open;
  }
  // The instant to which the first time is near that may mean several: none, or when its line came.
  std::optional<EngineTime> FirstNear(EngineTime arrival) const noexcept {
    if (!time_rules.lacks_year || time_rules.year != 0) return std::nullopt;
    return arrival;
  }

  bool has_identities() const noexcept {
    const auto is_one = [](const WantedValue& each) { return each.form == ValueForm::kIdentities; };
    return std::ranges::any_of(values, is_one);
  }

  std::vector<WantedValue> values;
  std::set<std::string, std::less<>> taken_names;  // quoted; kMembers leaves these members out
  std::array<HashKey, 2> identity_keys{};          // kIdentities: secret, drawn or from a snapshot

 private:
  int AddPath(std::string_view option, const std::string& path);
  ScalarMember AddScalar(std::string_view option, const std::string& path);
};

}  // namespace pleat::inline v0_1
