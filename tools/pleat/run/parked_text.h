// Why lanes are parked, in the words of the options of `pleat run`.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include <pleat/processor.h>

namespace pleat::cli {

// Without the partition, so that one reason of several lanes is one text. REQUIRES: the lane is parked.
std::string WhyParked(const LaneStatus& lane);

// A line for each reason: "parked: partitions 0 to 3: WHY; the other partitions go on".
// `partitions`: how many there are; 0: that changes. `goes_on`: whether some of them do.
std::vector<std::string> ParkedTexts(const std::map<int, std::string>& why_by_partition,
                                     int partitions, bool goes_on);

}  // namespace pleat::cli
