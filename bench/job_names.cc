#include "bench/job_names.h"

namespace pleat::bench {

static_assert(sizeof(Name) == 16);

void NameSet::FoldMore(const NameNumbers& event) noexcept {
  if (more_ == nullptr) more_ = std::make_unique<std::vector<uint32_t>>();
  for (uint32_t number : event.more) {
    if (number == 0) return;
    if (std::find(more_->begin(), more_->end(), number) == more_->end()) more_->push_back(number);
  }
}

uint32_t NameDictionary::Learn(const Name& name) {
  const auto number = static_cast<uint32_t>(names_.size());
  names_.push_back(name);
  if (names_.size() * 2 > slots_.size()) {
    --shift_;
    slots_.assign(size_t{1} << (64 - shift_), Slot());
    for (uint32_t i = 0; i < number; ++i) SlotOf(names_[i]) = {names_[i], i};
  }
  SlotOf(name) = {name, number};
  return number;
}

}  // namespace pleat::bench
