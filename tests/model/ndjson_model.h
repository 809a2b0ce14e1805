// The reference model of `pleat fold` on event time: fold_model under naive JSON. A group is a list
// of events, an event the list of its values, one per merge; only when a group has closed are the
// values reduced, each reducer being a plain walk over the list. It shares no code with engine/json.
//
// Not modelled: input without --time, limits on memory and keys, and sums beyond the doubles.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "tests/model/fold_model.h"
#include "tests/support/plain_json.h"

namespace pleat::inline v0 {

using PlainPath = std::vector<std::string>;  // one member name per step

struct NdjsonOptions {
  struct Field {
    std::string name;
    PlainPath path;
  };
  struct Merge {
    std::string name;
    std::string reducer;
    PlainPath path;  // empty for count()
  };

  std::vector<Field> key;
  std::vector<Merge> merges;
  PlainPath time;
  std::string time_unit;
  EngineOptions engine{.axis = Axis::kEvent};
  FolderOptions folder{.max_hold = kForever};
  bool meta = true;
  bool drop_at_end = false;
};

class NdjsonModel {
 public:
  explicit NdjsonModel(const NdjsonOptions& options)
      : options_(options), folder_(options.engine, options.folder) {}

  // Appends what falls due to `out`. False: the event time is a number without a unit.
  bool AddLine(std::string_view line, std::string& out);
  void End(std::string& out);
  std::string Stats() const;  // after End(), one JSON object

 private:
  struct Event {
    EngineTime at;
    std::vector<PlainJson> values;  // one per merge; null for an absent one
  };

  void WriteClosed(std::string& out);
  std::string Reduce(size_t merge, const ModelGroup& group, std::string& saturated) const;

  const NdjsonOptions options_;
  FoldModel folder_;
  std::map<uint64_t, Event> events_;  // by line number, until their group has closed
  Ledger ledger_;                     // as of the end
  uint64_t lines_ = 0;
  uint64_t bad_ = 0;
  uint64_t mismatched_ = 0;
};

}  // namespace pleat::inline v0
