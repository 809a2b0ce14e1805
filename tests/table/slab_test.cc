#include "engine/table/slab.h"

#include <algorithm>
#include <cstring>
#include <set>
#include <vector>

#include <gtest/gtest.h>

namespace pleat {
namespace {

TEST(Slab, NeverMovesAPlace) {
  PagePool pool;
  Slab<int> slab(pool, 64);
  std::vector<uint32_t> numbers;
  std::vector<std::byte*> places;
  for (int i = 0; i < 5000; ++i) {
    numbers.push_back(slab.Allocate());
    places.push_back(slab.hot(numbers.back()));
    std::memset(places.back(), i, 64);
    slab.cold(numbers.back()) = i;
  }
  for (size_t i = 0; i < numbers.size(); ++i) {
    ASSERT_EQ(slab.hot(numbers[i]), places[i]);
    ASSERT_EQ(places[i][63], static_cast<std::byte>(i));
    ASSERT_EQ(slab.cold(numbers[i]), static_cast<int>(i));
  }
  EXPECT_EQ(std::set<uint32_t>(numbers.begin(), numbers.end()).size(), numbers.size());
  EXPECT_EQ(std::set<std::byte*>(places.begin(), places.end()).size(), places.size());
}

TEST(Slab, HandsOutTheLowestChunkFirstAndInItTheLastFreed) {
  PagePool pool;
  Slab<int> slab(pool, 64);
  std::vector<uint32_t> numbers;
  for (int i = 0; i < 5000; ++i) numbers.push_back(slab.Allocate());
  slab.Free(numbers[7]);
  slab.Free(numbers[9]);
  slab.Free(numbers[4000]);
  EXPECT_EQ(slab.Allocate(), numbers[9]);
  EXPECT_EQ(slab.Allocate(), numbers[7]);
  EXPECT_EQ(slab.Allocate(), numbers[4000]);
  EXPECT_GT(slab.Allocate(), numbers.back());
}

TEST(Slab, GivesBackTheChunksOfASpike) {
  PagePool pool;
  Slab<int> slab(pool, 64);
  std::vector<uint32_t> numbers;
  for (int i = 0; i < 10'000; ++i) numbers.push_back(slab.Allocate());
  const size_t before = pool.held_bytes();
  for (int i = 0; i < 90'000; ++i) numbers.push_back(slab.Allocate());
  EXPECT_GT(pool.held_bytes(), 3 * before);
  EXPECT_EQ(slab.CheckWhole(), numbers.size());
  while (numbers.size() > 10'000) slab.Free(numbers.back()), numbers.pop_back();
  EXPECT_EQ(slab.CheckWhole(), numbers.size());
  EXPECT_LE(pool.held_bytes(), 2 * before + (2 << 20));
  // What is left is untouched, and the numbers come back.
  numbers.push_back(slab.Allocate());
  size_t visited = 0;
  slab.ForEach([&](uint32_t) { ++visited; });
  EXPECT_GE(visited, numbers.size());
}

TEST(Slab, StartsSixtyFourBytePlacesOnCacheLines) {
  PagePool pool;
  Slab<int> slab(pool, 64);
  Slab<> small(pool, 64);
  for (int i = 0; i < 3000; ++i) {
    EXPECT_EQ(reinterpret_cast<uintptr_t>(slab.hot(slab.Allocate())) % 64, 0u);
    EXPECT_EQ(reinterpret_cast<uintptr_t>(small.hot(small.Allocate())) % 64, 0u);
  }
}

TEST(Slab, GrowsFromABlockToPages) {
  for (const size_t stride : {8, 40, 64, 800, 4096}) {
    SCOPED_TRACE(testing::Message() << "places of " << stride << " bytes");
    PagePool pool;
    PageAccount pages(pool);
    Slab<uint64_t> slab(pages, stride);
    std::vector<uint32_t> numbers;
    const auto add = [&](size_t count) {
      for (; numbers.size() < count;) {
        numbers.push_back(slab.Allocate());
        std::memset(slab.hot(numbers.back()), static_cast<int>(numbers.size()), stride);
        slab.cold(numbers.back()) = numbers.size();
      }
      EXPECT_EQ(slab.CheckWhole(), count);
    };
    add(1);
    EXPECT_LE(pages.bytes(), std::max<size_t>(256, 4 * (stride + 64)));
    for (size_t count = 2; count < 3000; count *= 3) {
      add(count);
      EXPECT_LE(pages.bytes(), std::max<size_t>(1024, 6 * count * (stride + 8) + 4 * 4096));
    }
    for (size_t i = 0; i < numbers.size(); ++i) {
      ASSERT_EQ(slab.hot(numbers[i])[stride - 1], static_cast<std::byte>(i + 1));
      ASSERT_EQ(slab.cold(numbers[i]), i + 1);
    }
    for (const uint32_t number : numbers) slab.Free(number);
    EXPECT_EQ(slab.CheckWhole(), 0u);
    EXPECT_EQ(pages.bytes(), 0u);
    EXPECT_EQ(slab.Allocate(), numbers.front());
  }
}

// A slab whose first chunks had the room of a page can be restored: numbers of before stay.
TEST(Slab, TakesBackPlacesOfLargerFirstChunks) {
  PagePool pool;
  Slab<uint64_t> slab(pool, 64);
  std::vector<uint32_t> numbers;
  for (const uint32_t number : {0u, 1u, 5u, 700u, 1023u, 1024u, 1025u, 1700u, 2048u, 5000u}) {
    ASSERT_TRUE(slab.HasPlace(number));
    std::vector<uint32_t> skipped;
    slab.AllocateAt(number, [&](uint32_t place) { skipped.push_back(place); });
    EXPECT_TRUE(skipped.empty() || skipped.back() == number - 1);
    numbers.push_back(number);
    std::memset(slab.hot(number), static_cast<int>(numbers.size()), 64);
    slab.cold(number) = number;
    for (size_t i = 0; i < numbers.size(); ++i) {
      ASSERT_EQ(slab.hot(numbers[i])[63], static_cast<std::byte>(i + 1));
      ASSERT_EQ(slab.cold(numbers[i]), numbers[i]);
    }
    EXPECT_EQ(slab.CheckWhole(), numbers.size());
  }
  std::set<uint32_t> taken(numbers.begin(), numbers.end());
  for (int i = 0; i < 3000; ++i) EXPECT_TRUE(taken.insert(slab.Allocate()).second);
  EXPECT_EQ(slab.CheckWhole(), taken.size());
  for (const uint32_t number : taken) slab.Free(number);
  EXPECT_EQ(slab.CheckWhole(), 0u);
}

TEST(Slab, TakesNoPageForPlacesThatWereReserved) {
  for (const size_t stride : {40, 64, 4096, 200'000}) {
    SCOPED_TRACE(testing::Message() << "places of " << stride << " bytes");
    PagePool pool;
    Slab<> slab(pool, stride);
    std::vector<uint32_t> numbers = {slab.Allocate()};
    slab.Reserve(3000);
    const size_t taken = pool.taken_bytes();
    EXPECT_EQ(slab.CheckWhole(), 1u);
    for (int round = 0; round < 2; ++round) {
      while (numbers.size() < 3000) numbers.push_back(slab.Allocate());
      EXPECT_EQ(pool.taken_bytes(), taken);
      EXPECT_EQ(slab.CheckWhole(), 3000u);
      for (const uint32_t number : numbers) slab.Free(number);
      numbers.clear();
      EXPECT_EQ(pool.taken_bytes(), taken) << "they stay";
      EXPECT_EQ(slab.CheckWhole(), 0u);
    }
  }
}

TEST(Slab, GivesBackWhatIsBeyondTheReserved) {
  PagePool pool;
  Slab<> slab(pool, 64);
  slab.Reserve(2000);
  slab.Reserve(100);  // is there
  const size_t taken = pool.taken_bytes();
  std::vector<uint32_t> numbers;
  for (int i = 0; i < 9000; ++i) numbers.push_back(slab.Allocate());
  EXPECT_GT(pool.taken_bytes(), taken);
  for (const uint32_t number : numbers) slab.Free(number);
  EXPECT_EQ(pool.taken_bytes(), taken);
}

TEST(Slab, HoldsPlacesLargerThanAPage) {
  PagePool pool;
  Slab<int> slab(pool, 2 * PagePool::kPageBytes);
  const uint32_t a = slab.Allocate();
  const uint32_t b = slab.Allocate();
  std::memset(slab.hot(a), 1, 2 * PagePool::kPageBytes);
  std::memset(slab.hot(b), 2, 2 * PagePool::kPageBytes);
  slab.cold(a) = 3;
  EXPECT_EQ(slab.hot(a)[2 * PagePool::kPageBytes - 1], std::byte{1});
  slab.Free(a);
  EXPECT_EQ(slab.hot(b)[0], std::byte{2});
  EXPECT_EQ(slab.Allocate(), a);
}

}  // namespace
}  // namespace pleat
