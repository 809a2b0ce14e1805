// The proof of linearizability can fail: this program is linked with a copy of
// engine/core/outbox_collection.cc in which a Pop() of several emissions lets go of the lock between
// them. See CMakeLists.txt.
#include <iostream>

#include <gtest/gtest.h>

#include "tests/threads/history.h"

namespace pleat::inline v0_1 {
namespace {

TEST(MutantOfPop, IsFoundInAHistory) {
  const HistoryFound found = SearchHistories({.first_seed = 1, .histories = 40'000});
  std::cout << found.histories << " histories, " << found.calls << " calls\n";
  EXPECT_TRUE(found.failure.has_value());
}

}  // namespace
}  // namespace pleat::inline v0_1
