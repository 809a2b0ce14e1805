// Counters by name: how often something has come up, so that a test can tell whether it was hard enough.
#pragma once

#include <cstdint>
#include <map>
#include <ostream>
#include <string_view>

namespace pleat::inline v0_1 {

class Tally {
 public:
  // The name has to live as long as the tally, as a literal does.
  uint64_t& operator[](std::string_view name) { return counts_[name]; }

  Tally& operator+=(const Tally& other) {
    for (const auto& [name, count] : other.counts_) counts_[name] += count;
    return *this;
  }
  friend std::ostream& operator<<(std::ostream& out, const Tally& tally) {
    const char* before = "";
    for (const auto& [name, count] : tally.counts_) {
      out << before << count << " " << name;
      before = ", ";
    }
    return out;
  }

 private:
  std::map<std::string_view, uint64_t> counts_;
};

}  // namespace pleat::inline v0_1
