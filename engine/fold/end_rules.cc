#include "engine/fold/end_rules.h"

namespace pleat::inline v0_1 {

// The order decides which reason is told when several hold.
std::optional<Reason> EndRules::ReasonOf(const GroupTable& groups, uint32_t number) const {
  if (ops_.condition != nullptr && ops_.condition(ops_.context, groups.state(number))) {
    return Reason::kCondition;
  }
  return ReasonByCaps(groups, number);
}

std::optional<Reason> EndRules::ReasonByCaps(const GroupTable& groups, uint32_t number) const {
  if (groups.CountOf(number) >= max_events_) return Reason::kMaxEvents;
  if (max_bytes_ != kNoByteCap && WeightOf(groups, number) >= max_bytes_) return Reason::kMaxBytes;
  return std::nullopt;
}

size_t EndRules::WeightOf(const GroupTable& groups, uint32_t number) const {
  if (ops_.weight == nullptr) return ops_.size + groups.HeapBytesOf(number);
  return ops_.weight(ops_.context, groups.state(number));
}

}  // namespace pleat::inline v0_1
