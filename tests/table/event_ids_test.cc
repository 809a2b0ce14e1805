// Names of events: what has another key or another id has another name.
#include "engine/table/event_ids.h"

#include <set>
#include <string>
#include <vector>

#include <gtest/gtest.h>

namespace pleat {
namespace {

TEST(EventIds, NamesTellKeysAndIdsApart) {
  const HashKey hash_key = MakeHashKey(1, 2);
  PagePool pool;
  const EventIds ids(pool, hash_key, Duration{1});
  // Short and long ones, parts of one another, and zeros, which fill the words of short ones.
  std::vector<std::string> texts;
  for (const size_t size : {0, 1, 7, 8, 9, 15, 16, 17, 22, 23, 24, 25, 40}) {
    for (const char byte : {'\0', 'a'}) texts.emplace_back(size, byte);
    if (size > 0) texts.back().back() = 'b';
  }
  std::set<std::string> distinct(texts.begin(), texts.end());
  std::set<uint64_t> low;
  std::set<uint64_t> high;
  for (const std::string& key : distinct) {
    const PackedKey packed(key);
    for (const std::string& id : distinct) {
      const EventIds::Name name = ids.NameOf(packed, id);
      EXPECT_TRUE(low.insert(name.low).second && high.insert(name.high).second);
      EXPECT_NE(name.low, name.high);
    }
  }
}

// Of two events of one name, one after the other was forgotten, the second one is known.
TEST(EventIds, AnIdIsTakenAgainOnceItIsOver) {
  const HashKey hash_key = MakeHashKey(1, 2);
  PagePool pool;
  EventIds ids(pool, hash_key, Duration{10});
  const PackedKey key("key");
  const EventIds::Name name = ids.NameOf(key, "id");
  const EngineTime start = FromUnix(Duration{1'000'000});
  ids.Remember(name, 1, start, start);
  EXPECT_EQ(ids.Find(name, start + Duration{10}), 1u);
  EXPECT_EQ(ids.Find(name, start + Duration{11}), std::nullopt);
  ids.Remember(name, 2, start + Duration{11}, start + Duration{11});
  EXPECT_EQ(ids.Find(name, start + Duration{21}), 2u);
  ids.CheckWhole();
  Budget budget;
  EXPECT_TRUE(ids.Forget(start + Duration{21}, budget));
  EXPECT_EQ(ids.size(), 1u);
}

}  // namespace
}  // namespace pleat
