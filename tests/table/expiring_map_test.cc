// An ExpiringMap against a std::map with expiries.
#include "engine/table/expiring_map.h"

#include <algorithm>
#include <map>
#include <random>
#include <utility>

#include <gtest/gtest.h>

namespace pleat {
namespace {

using namespace std::chrono_literals;

TEST(ExpiringMap, AgreesWithAMapWithExpiries) {
  for (uint64_t seed = 1; seed <= 5; ++seed) {
    SCOPED_TRACE(testing::Message() << "seed " << seed);
    std::mt19937_64 random(seed);
    PagePool pool;
    ExpiringMap map(pool, 1s);
    std::map<uint64_t, std::pair<uint64_t, EngineTime>> expected;
    EngineTime now = FromUnix(1'700'000'000s);
    for (int step = 0; step < 5'000; ++step) {
      const uint64_t key = random() % 200;
      const ExpiringMap::Name name{.low = key % 150, .high = key};
      switch (random() % 4) {
        case 0: {
          const EngineTime expires = now + Duration(random() % 2'000'000);
          const bool is_new = map.Find(name, now) == nullptr && random() % 2 == 0;
          is_new ? map.PutNew(name, random() % 3, expires) : map.Put(name, random() % 3, expires);
          expected[key] = {map.Find(name, now)->word, expires};
          break;
        }
        case 1:
          map.Erase(name);
          expected.erase(key);
          break;
        case 2: now += Duration(random() % 20'000); break;
        case 3: {
          Budget budget(random() % 8);
          if (!map.Expire(now, budget)) break;
          std::erase_if(expected, [&](const auto& each) { return each.second.second < now; });
          ASSERT_EQ(map.bytes(), expected.size() * ExpiringMap::kNameBytes);
          break;
        }
      }
      const ExpiringMap::Known* const known = map.Find(name, now);
      const auto it = expected.find(key);
      const bool lives = it != expected.end() && it->second.second >= now;
      ASSERT_EQ(known != nullptr, lives);
      if (lives) {
        ASSERT_EQ(std::pair(known->word, known->expires), it->second);
      }
      map.CheckWhole();
    }
    Budget budget;
    EXPECT_TRUE(map.Expire(map.forgets_all_at(), budget));
    EXPECT_EQ(map.bytes(), 0u);
    EXPECT_EQ(map.forgets_all_at(), kNever);
  }
}

}  // namespace
}  // namespace pleat
