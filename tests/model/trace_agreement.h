// The trace of a folder against the steps of the model.
//
// The model does at once what the engine does when somebody comes along, so that steps of different
// groups may be told in another order. Compared are the steps of each group and those of each
// emission, each in their order; and that no emission has a step before the one that brings it
// about.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include <pleat/folder.h>
#include <pleat/trace.h>

#include "tests/model/agreement.h"
#include "tests/model/fold_model.h"

namespace pleat::inline v0_1 {

class TraceAgreement {
 public:
  // Reads on from another folder, such as the restored one.
  template <class Folder>
  void Follow(const Folder& folder) {
    reader_.emplace(folder);
    numbers_.clear();
  }

  // Reads what there is. `now`: the engine's time, in which calls of consumers have happened.
  void Read(EngineTime now, Agreement& agreement);

  // When nothing is due any more.
  void Compare(const FoldModel& model, Agreement& agreement, std::set<TraceStep>& seen) const;

 private:
  using Lines = std::vector<std::string>;
  using Groups = std::map<std::string, std::vector<Lines>>;  // of each key, in their order
  using Emissions = std::map<std::pair<uint32_t, uint64_t>, Lines>;

  static Groups ByGroup(const std::vector<TraceRecord>& records);
  static Emissions ByEmission(const std::vector<TraceRecord>& records);

  std::optional<TraceReader> reader_;
  std::map<uint32_t, uint64_t> numbers_;  // of each partition, the next
  std::vector<TraceRecord> of_groups_;
  std::vector<TraceRecord> of_emissions_;
  std::set<std::pair<uint32_t, uint64_t>> ready_;  // emissions that were brought about
};

}  // namespace pleat::inline v0_1
