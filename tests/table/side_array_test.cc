#include "engine/table/side_array.h"

#include <algorithm>
#include <cstdint>
#include <map>
#include <random>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "engine/table/slab.h"
#include "tests/support/seeds.h"

namespace pleat {
namespace {

struct Two {
  uint64_t first;
  uint64_t second;
};

constexpr uint32_t kPerPage = PagePool::kPageBytes / sizeof(Two);
constexpr uint32_t kPagesPerExtent = PagePool::kExtentBytes / PagePool::kPageBytes;

TEST(SideArray, KeepsWhatTheNumbersOfASlabHave) {
  const uint64_t seed = AnySeed();
  SCOPED_TRACE("PLEAT_SEED=" + std::to_string(seed));
  std::mt19937_64 random(seed);
  PagePool pool;
  Slab<NoCold, 8> slab(pool, 400);  // leaves gaps between its numbers
  SideArray<Two> side(pool);
  std::map<uint32_t, Two*> places;
  std::vector<uint32_t> numbers;
  for (const size_t wanted : {20'000, 100, 5'000, 0}) {
    while (numbers.size() != wanted) {
      if (random() % 4 == 0 ? numbers.empty() : numbers.size() < wanted) {
        numbers.push_back(slab.Allocate());
        Two& two = side.Add(numbers.back());
        two = {numbers.back(), ~uint64_t{numbers.back()}};
        places[numbers.back()] = &two;
      } else if (!numbers.empty()) {
        std::swap(numbers[random() % numbers.size()], numbers.back());
        slab.Free(numbers.back());
        side.Remove(numbers.back());
        places.erase(numbers.back());
        numbers.pop_back();
      }
    }
    for (const auto& [number, place] : places) {
      ASSERT_EQ(&side[number], place) << "has moved";
      ASSERT_EQ(place->first, number);
      ASSERT_EQ(place->second, ~uint64_t{number});
    }
  }
}

// Of an extent whose pages are all taken, a new page finds room only if another one has gone back.
TEST(SideArray, GivesAPageBackWithTheLastOfItsNumbers) {
  PagePool pool;
  SideArray<Two> side(pool);
  for (uint32_t page = 0; page < kPagesPerExtent; ++page) {
    side.Add(page * kPerPage);
    side.Add(page * kPerPage + kPerPage - 1);
  }
  EXPECT_EQ(pool.held_bytes(), PagePool::kExtentBytes);
  for (uint32_t page = 0; page < kPagesPerExtent; ++page) {
    side.Remove((page + 1) * kPerPage - 1);
    side[page * kPerPage].first = page;
    side.Remove(page * kPerPage);
    side.Add((page + kPagesPerExtent) * kPerPage);
    EXPECT_EQ(pool.held_bytes(), PagePool::kExtentBytes);
  }
  // The first of two numbers to go frees nothing.
  side.Add(kPagesPerExtent * kPerPage + 1);
  side.Remove(kPagesPerExtent * kPerPage);
  side.Add(0);
  EXPECT_EQ(pool.held_bytes(), 2 * PagePool::kExtentBytes);
}

TEST(SideArray, TakesPagesForItsNumbersOnly) {
  PagePool pool;
  {
    SideArray<Two> side(pool);
    EXPECT_EQ(pool.held_bytes(), 0u);
    uint32_t number = 1U << 26;
    for (uint32_t page = 0; page < kPagesPerExtent; ++page) {
      number -= 1U << 20;
      for (uint32_t i = 0; i < kPerPage; ++i) side.Add(number + i) = {page, i};
    }
    EXPECT_EQ(pool.held_bytes(), PagePool::kExtentBytes);
    EXPECT_EQ(side[number + kPerPage - 1].second, kPerPage - 1);
    side.Add(number + kPerPage);
    EXPECT_EQ(pool.held_bytes(), 2 * PagePool::kExtentBytes);
  }
  // With the array its pages have gone back: of empty extents the pool keeps one.
  EXPECT_EQ(pool.held_bytes(), PagePool::kExtentBytes);
}

TEST(SideArray, StartsLargeThingsOnCacheLines) {
  struct alignas(64) Large {
    uint8_t bytes[128];
  };
  PagePool pool;
  SideArray<Large> side(pool);
  for (uint32_t number = 0; number < 1000; ++number) {
    EXPECT_EQ(reinterpret_cast<uintptr_t>(&side.Add(number)) % 64, 0u);
  }
}

}  // namespace
}  // namespace pleat
