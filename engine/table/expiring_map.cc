#include "engine/table/expiring_map.h"

#include <algorithm>

namespace pleat::inline v0_1 {

void ExpiringMap::PutNew(const Name& name, uint64_t word, EngineTime expires) {
  const uint32_t number = table_.New();
  At(number) = {name, {word, expires}};
  table_.Index(name.low, number);
  table_.Arm(number);
  last_expiry_ = std::max(last_expiry_, expires + Duration{1});
}

void ExpiringMap::Erase(const Name& name) {
  const auto is_name = [&](uint32_t number) { return At(number).name == name; };
  for (uint32_t number; (number = table_.Find(name.low, is_name)) != kNone;) {
    table_.Unindex(number);
    table_.Free(number);
  }
}

bool ExpiringMap::Expire(EngineTime now, Budget& budget) {
  return table_.ApplyDue(now, budget, [this](const Due& due) {
    table_.Unindex(due.number);
    table_.Free(due.number);
  });
}

}  // namespace pleat::inline v0_1
