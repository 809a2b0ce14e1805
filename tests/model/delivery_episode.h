// The calls about emissions in an episode: made on engine and model, their answers compared. It keeps the tokens
// that the engine has given out: the n-th is the model's delivery n.
#pragma once

#include <cstddef>
#include <cstdint>
#include <set>
#include <vector>

#include <pleat/emission.h>
#include <pleat/folder.h>

#include "tests/model/agreement.h"
#include "tests/model/chain.h"
#include "tests/model/episode.h"
#include "tests/model/fold_model.h"

namespace pleat::inline v0_1 {

class DeliveryEpisode {
 public:
  DeliveryEpisode(const Config& config, Folder<Tick, Chain>& folder, FoldModel& model,
                  Agreement& agreement, Seen& seen)
      : config_(config), folder_(folder), model_(model), agreement_(agreement), seen_(seen) {}

  // Of the operations that are about emissions.
  void Apply(const Op& op);

  void Pop(size_t max, PartitionRange from);
  void ScanDeadLetters(size_t step);
  void DropAllDeadLetters();

 private:
  // A token and which delivery of the model it names; 0 if none. `but_for_place`: the same, but for the place.
  struct Named {
    LeaseToken token;
    uint64_t delivery = 0;
    uint64_t but_for_place = 0;
  };
  Named TokenOf(const Op& op) const;
  Named LetterOf(const Op& op) const;
  void Ack(const Named& named);
  void AckAndTake(const Named& named);
  void Lease(const Op& op);
  template <class Leases>
  void ExpectLeases(const Op& op, const Leases& leases);
  void Extend(const Op& op, const LeaseToken& token, uint64_t delivery);

  template <class Key>
  void ExpectEmission(const Emission<Chain, Key>& emission, const ModelGroup& model);
  void ExpectOutcome(LeaseOutcome engine, LeaseOutcome model);

  const Config& config_;
  Folder<Tick, Chain>& folder_;
  FoldModel& model_;
  Agreement& agreement_;
  Seen& seen_;
  std::vector<LeaseToken> tokens_;
  EmissionBuffer<Chain> popped_;
  LeaseBuffer<Chain> lent_;
  size_t pops_ = 0;
  size_t leases_ = 0;
  size_t acks_ = 0;
};

// The state is what the events of the model's group make of it.
void ExpectState(const Chain& state, const ModelGroup& model, Agreement& agreement);

}  // namespace pleat::inline v0_1
