#include "engine/table/slab.h"

#include <cstring>
#include <set>
#include <vector>

#include <gtest/gtest.h>

namespace pleat {
namespace {

TEST(Slab, NeverMovesAPlaceAndReusesTheLastFreed) {
  Slab<int> slab(64);
  std::vector<std::byte*> places;
  for (uint32_t i = 0; i < 2000; ++i) {
    ASSERT_EQ(slab.Allocate(), i);
    places.push_back(slab.hot(i));
    std::memset(slab.hot(i), static_cast<int>(i), 64);
    slab.cold(i) = static_cast<int>(i);
  }
  for (uint32_t i = 0; i < 2000; ++i) {
    ASSERT_EQ(slab.hot(i), places[i]);
    ASSERT_EQ(slab.cold(i), static_cast<int>(i));
  }
  slab.Free(7);
  slab.Free(1500);
  EXPECT_EQ(slab.Allocate(), 1500u);
  EXPECT_EQ(slab.Allocate(), 7u);
  EXPECT_EQ(slab.Allocate(), 2000u);
}

TEST(Slab, StartsSixtyFourBytePlacesOnCacheLines) {
  Slab<int> slab(64);
  for (int i = 0; i < 300; ++i) {
    EXPECT_EQ(reinterpret_cast<uintptr_t>(slab.hot(slab.Allocate())) % 64, 0u);
  }
}

}  // namespace
}  // namespace pleat
