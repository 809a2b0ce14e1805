// A FoldSpec made ready to run: every path a slot of one tree, every merge a place in the state.
//
// It never changes after it was made (but for a scratch text), so that any thread may read it; it is the
// context that the engine passes to the functions in ops(). A state begins with the number of heap
// bytes it owns.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include <absl/status/statusor.h>
#include <pleat/json.h>

#include "engine/base/hash.h"
#include "engine/json/condition.h"
#include "engine/json/line_writer.h"
#include "engine/json/path.h"
#include "engine/json/reducers.h"

namespace pleat::inline v0_1 {

struct FoldPlan {
  struct Key {
    int slot;
    std::string label;      // "name":
    std::string absent;     // the reason of a line that lacks the key
    std::string container;  // and of one where it is no scalar
  };
  struct Id {
    int slot;
    std::string absent;     // the reason of a line that lacks it
    std::string container;  // and of one where it is no scalar
  };
  struct MergedValue : MergeRule {
    int slot;         // PathTree::kNone: count(); or kWholeEvent
    uint32_t offset;  // of its state
    std::string label;
    std::string quoted_name;
  };
  static constexpr int kWholeEvent = -2;

  struct AskedPath {
    int slot;
    OptionPath path;
  };

  // Of an emission, joined by commas: the quoted names of the values with a caveat.
  struct CaveatNames {
    std::string saturated;
    std::string cut;
  };

  // REQUIRES: Validate(spec) is OK.
  explicit FoldPlan(const FoldSpec& spec);

  // Whether the state meets close_when. Only on the thread that folds.
  bool MeetsCloseWhen(const void* state);

  // What an engine needs to keep our states; refers to this plan.
  StateOps ops() noexcept;

  // Appends what `state` has merged, each value with a comma before it and its name, and adds the names
  // of those with a caveat.
  void AppendMerges(const void* state, LineWriter& out, CaveatNames& names) const;

  PathTree paths;
  std::vector<AskedPath> asked;  // what they are asked for by
  std::vector<Key> keys;
  std::vector<MergedValue> merges;         // of the spec, and behind them the raw events
  std::array<HashKey, 2> identity_keys{};  // for `distinct`: secret, and different for each plan
  Rest rest = Rest::kDrop;
  uint32_t rest_offset = 0;                    // of its state
  std::set<std::string, std::less<>> no_rest;  // quoted names of members that do not belong to it
  int time_slot = PathTree::kNone;             // kNone: stamped by the caller
  std::string time_absent;                     // why a line without it is bad
  TimeUnit time_unit = TimeUnit::kNotStated;
  int time_shift = 0;  // the power of ten that takes a number of the unit to microseconds
  bool meta = true;
  bool raw = false;
  bool revisions = false;     // "_fold" has them
  bool emission_ids = false;  // likewise

  int quiet_slot = PathTree::kNone;  // of an event's own quiet period
  int class_slot = PathTree::kNone;  // of the class of its key
  std::string class_container;       // the reason of a line where that is no scalar
  std::optional<Id> id;
  ConditionPlan start_when;  // their places are slots
  ConditionPlan end_when;
  ConditionPlan flush_when;
  ConditionPlan cancel_when;
  ConditionPlan close_when;  // its places are merges
  bool has_marks = false;    // some event may
  bool has_control = false;  // some event may flush or cancel

  // What close_when looks at is written here. Only the thread that folds touches it.
  LineWriter merged_text;

  uint32_t weight_offset = 0;  // of the sum of line bytes in the state; 0: none
  uint32_t state_bytes = sizeof(uint64_t);
  bool grows = false;

 private:
  int AddPath(std::string_view option, const std::string& path);
  void AddMerge(const Merge& merge, int slot);
  void AddRest(const FoldSpec& spec);
  void AddMarks(const FoldSpec& spec);
};

}  // namespace pleat::inline v0_1
