// SharedCounts are the counters of a book that are read without a lock, each as long as somebody has
// its CounterRef. They belong to the process: no snapshot has them.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <unordered_map>

#include <pleat/time.h>

#include "engine/rollup/shared_count.h"

namespace pleat::inline v0_1 {

class SharedCounts {
 public:
  bool empty() const noexcept { return counts_.empty(); }
  bool IsHeld(uint32_t counter) const {
    const auto found = counts_.find(counter);
    return found != counts_.end() && found->second.use_count() > 1;
  }
  // The count of a counter, or null.
  SharedCount* Find(uint32_t counter) {
    if (counts_.empty()) return nullptr;
    const auto found = counts_.find(counter);
    return found == counts_.end() ? nullptr : found->second.get();
  }
  // The same to be held. `write(count)` writes a new one.
  template <class Write>
  std::shared_ptr<const SharedCount> Share(uint32_t counter, const Write& write) {
    std::shared_ptr<SharedCount>& count = counts_[counter];
    if (count == nullptr) {
      count = std::make_shared<SharedCount>(final_time_);
      write(*count);
    }
    return count;
  }

  // All windows of the book that end by `time` are final.
  void Reach(EngineTime time) noexcept { final_time_->time.store(time, std::memory_order_release); }

  void Forget(uint32_t counter) { counts_.erase(counter); }
  // Drops the counts without a CounterRef. Looks at all of them once in as many calls as there are
  // counts.
  void ForgetUnheld() {
    if (++visits_ <= counts_.size()) return;
    visits_ = 0;
    std::erase_if(counts_, [](const auto& each) { return each.second.use_count() == 1; });
  }

 private:
  const std::shared_ptr<FinalTime> final_time_ = std::make_shared<FinalTime>();
  std::unordered_map<uint32_t, std::shared_ptr<SharedCount>> counts_;  // by counter
  size_t visits_ = 0;  // since the latest look at all of them
};

}  // namespace pleat::inline v0_1
