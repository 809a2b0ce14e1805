// A FoldSpec made ready to run: the values to read from a line (EventPlan), and the place of every
// merge in the state of a group.
//
// A plan never changes after it was made, so that any thread may read it; but for a scratch text,
// the tally of lines and those that wait, and what comes back from a snapshot: the secret keys of
// `distinct`. The engine passes it as the context to the functions in ops(), and keeps it as long as
// the collection. A state begins with the number of heap bytes that it owns.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <pleat/json.h>
#include <pleat/untyped/any_folder.h>

#include "engine/lines/feed/closing_calendar.h"
#include "engine/lines/feed/line_tally.h"
#include "engine/lines/feed/stored_stage.h"
#include "engine/lines/plan/condition.h"
#include "engine/lines/plan/event_plan.h"
#include "engine/lines/reduce/line_writer.h"
#include "engine/lines/reduce/reducers.h"

namespace pleat::inline v0_1 {

struct FoldPlan {
  struct StatePart : MergeRule {
    uint32_t offset;  // in the state of a group
  };
  // A member of the output. Several can be told from one part.
  struct MergedValue : StatePart {
    std::string label;  // "name":
    std::string quoted_name;
  };

  // The quoted names of the values of an emission that have a caveat, joined by commas.
  struct CaveatNames {
    std::string saturated;
    std::string cut;
  };

  // REQUIRES: Validate(spec) is OK.
  explicit FoldPlan(const FoldSpec& spec);

  // Whether the state meets close_when. REQUIRES: the thread that folds.
  bool MeetsCloseWhen(const void* state);

  // The functions with which an engine keeps our states. They refer to this plan.
  StateOps ops() noexcept;

  // Saves and loads the keys and counts that all states have in common.
  void SaveCommon(FieldWriter& out) const;
  void LoadCommon(FieldReader& in);

  // Appends the merged values of `state`, each with a comma and its name before it. Adds the names
  // of those with a caveat to `names`.
  void AppendMerges(const void* state, LineWriter& out, CaveatNames& names) const;

  // The first value that no reducer could take, if there was one.
  std::optional<MergeMismatch> Mismatch() const;

  // The values of an event are those of `parts`, in their order, and then that of the last events
  // and that of the rest.
  EventPlan events;

  std::vector<std::string> key_labels;  // "name":
  std::vector<StatePart> parts;         // what events fold into
  std::vector<MergedValue> merges;      // of the spec, and behind them the raw events
  Rest rest = Rest::kDrop;
  uint32_t rest_offset = 0;  // of its state
  bool raw = false;
  uint64_t raw_last = 0;         // how many of the last events are kept
  uint32_t raw_last_offset = 0;  // of their state
  bool meta = true;
  bool revisions = false;                   // "_fold" has them
  bool emission_ids = false;                // likewise
  ConditionPlan close_when;                 // its places are merges
  std::optional<ClosingCalendar> calendar;  // closing times by the clock of a zone

  // The merged values that close_when compares are written here. Only the thread that folds uses
  // it.
  LineWriter merged_text;

  LineTally tally;                      // of the lines folded so far
  std::unique_ptr<ReorderStage> stage;  // null without a bound of disorder

  // The options on which the meaning of a stored state depends, as StateOps::shape() gives them.
  std::string shape;

  uint32_t weight_offset = 0;  // of the sum of line bytes in the state; 0: none
  uint32_t state_bytes = sizeof(uint64_t);
  bool has_more = false;  // than merges: the last events, or a rest
  bool grows = false;

 private:
  void AddMerge(const Merge& merge);
  void AddMergedValue(const Merge& merge, uint32_t offset);
  void AddLastEvents(const FoldSpec& spec);
  void AddRest(const FoldSpec& spec);
};

}  // namespace pleat::inline v0_1
