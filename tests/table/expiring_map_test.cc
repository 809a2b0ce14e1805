// An ExpiringMap against a std::map with expiries.
#include "engine/table/expiring_map.h"

#include <algorithm>
#include <map>
#include <random>
#include <string>
#include <string_view>
#include <utility>

#include <gtest/gtest.h>

#include "tests/support/share.h"

namespace pleat {
namespace {

using namespace std::chrono_literals;

TEST(ExpiringMap, AgreesWithAMapWithExpiries) {
  for (uint64_t seed = 1; seed <= ShareOf({.whole = 5, .usual = 5, .sanitized = 2}); ++seed) {
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

// --- Saved and loaded

std::string BytesOf(ExpiringMap& map) {
  FieldWriter out;
  UncountedCopies copies;
  map.BeginSave(copies);
  while (map.SaveNext(out)) {
  }
  return std::string(out.bytes());
}

// Whether the bytes are those of a map; it has to be whole then.
bool Loads(std::string_view bytes, PagePool& pool) {
  ExpiringMap map(pool, 1s);
  FieldReader in(bytes);
  map.Load(in);
  if (in.done()) map.CheckWhole();
  return in.done();
}

TEST(ExpiringMap, GoesOnAfterItWasSavedAndLoaded) {
  for (uint64_t seed = 1; seed <= ShareOf({.whole = 5, .usual = 5, .sanitized = 2}); ++seed) {
    SCOPED_TRACE(testing::Message() << "seed " << seed);
    std::mt19937_64 random(seed);
    PagePool pool;
    ExpiringMap map(pool, 1s);
    EngineTime now = FromUnix(1'700'000'000s);
    const auto name_of = [](uint64_t number) {
      return ExpiringMap::Name{number / 2 * 0x9e3779b97f4a7c15, number % 2};
    };
    const auto draw_name = [&] { return name_of(random() % 6'000); };
    for (int step = 0; step < 4'000; ++step) {
      map.Put(draw_name(), random() % 2 == 0 ? random() : 0, now + Duration(random() % 2'000'000));
      if (random() % 4 == 0) map.Erase(draw_name());
      if (random() % 64 != 0) continue;
      now += Duration(random() % 50'000);
      Budget budget(random() % 200);
      map.Expire(now, budget);
    }
    const std::string bytes = BytesOf(map);
    ExpiringMap loaded(pool, 1s);
    FieldReader in(bytes);
    loaded.Load(in);
    ASSERT_TRUE(in.done());
    loaded.CheckWhole();
    EXPECT_EQ(BytesOf(loaded), bytes);
    EXPECT_EQ(loaded.size(), map.size());
    EXPECT_EQ(loaded.forgets_all_at(), map.forgets_all_at());
    for (const EngineTime end = now + 3s; now < end; now += 300ms) {
      for (uint64_t number = 0; number < 6'000; ++number) {
        const ExpiringMap::Known* const a = map.Find(name_of(number), now);
        const ExpiringMap::Known* const b = loaded.Find(name_of(number), now);
        ASSERT_EQ(a == nullptr, b == nullptr);
        if (a == nullptr) continue;
        ASSERT_EQ(std::pair(a->word, a->expires), std::pair(b->word, b->expires));
      }
      Budget budget;
      Budget other;
      ASSERT_TRUE(map.Expire(now, budget) && loaded.Expire(now, other));
      ASSERT_EQ(loaded.size(), map.size());
      loaded.CheckWhole();
    }
  }
}

// Twins get the same calls; one of them is saved at the cut, the other while the calls go on.
TEST(ExpiringMap, IsSavedAsItWasAtTheCutWhileItChanges) {
  for (uint64_t seed = 1; seed <= ShareOf({.whole = 20, .usual = 20, .sanitized = 3}); ++seed) {
    SCOPED_TRACE(testing::Message() << "seed " << seed);
    std::mt19937_64 random(seed);
    PagePool pool;
    ExpiringMap map(pool, 1s);
    ExpiringMap twin(pool, 1s);
    EngineTime now = FromUnix(1'700'000'000s);
    const auto call_both = [&](uint64_t calls) {
      for (; calls > 0; --calls) {
        const uint64_t key = random() % 900;
        const ExpiringMap::Name name{.low = key * 0x9e3779b97f4a7c15, .high = key};
        const uint64_t kind = random() % 16;
        const uint64_t drawn = random() % 2'000'000;
        for (ExpiringMap* const each : {&map, &twin}) {
          if (kind < 12) each->Put(name, drawn % 5, now + Duration(drawn));
          if (kind == 12 || kind == 13) each->Erase(name);
          Budget budget(kind == 14 ? drawn % 200 : 0);
          each->Expire(now, budget);
        }
        if (kind == 15) now += Duration(drawn / 50);
      }
      map.CheckWhole();
    };
    for (int round = 0; round < 10; ++round) {
      call_both(random() % 2'000);
      const std::string at_cut = BytesOf(twin);
      UncountedCopies copies;
      map.BeginSave(copies);
      FieldWriter out;
      bool more = true;
      while (more && random() % 60 != 0) {
        call_both(random() % 60);
        more = map.SaveNext(out);
      }
      ASSERT_TRUE(more || out.bytes() == at_cut);
      map.EndSave();
      ASSERT_FALSE(map.SaveNext(out));
      ASSERT_EQ(BytesOf(map), BytesOf(twin));
    }
  }
}

TEST(ExpiringMap, AnEmptyOneLoadsEmpty) {
  PagePool pool;
  ExpiringMap empty(pool, 1s);
  EXPECT_TRUE(Loads(BytesOf(empty), pool));
}

TEST(ExpiringMap, DamagedBytesLoadAWholeMapOrNone) {
  PagePool pool;
  ExpiringMap map(pool, 1s);
  const EngineTime now = FromUnix(1'700'000'000s);
  for (uint64_t i = 0; i < 4; ++i) map.PutNew({i, i * i}, i, now + i * 1s);
  const std::string bytes = BytesOf(map);
  for (size_t size = 0; size < bytes.size(); ++size) {
    EXPECT_FALSE(Loads(std::string_view(bytes).substr(0, size), pool)) << size;
  }
  for (size_t at = 0; at < bytes.size(); ++at) {
    for (int bit = 0; bit < 8; ++bit) {
      std::string damaged = bytes;
      damaged[at] = static_cast<char>(damaged[at] ^ 1 << bit);
      Loads(damaged, pool);
    }
  }
}

// Made-up names do not make the index large: neither equal ones nor those that agree in the bits
// that choose a place.
TEST(ExpiringMap, NamesThatCollideAreNotLoaded) {
  PagePool pool;
  for (const uint64_t step : {uint64_t{0}, uint64_t{1} << 32, uint64_t{64}}) {
    FieldWriter out;
    out.PutNumber(5'000);
    out(FromUnix(1'700'000'000s));
    for (uint64_t i = 0; i < 5'000; ++i) {
      out.PutWord(i * step);
      out.PutWord(i);
      out.PutWord(0);
      out.PutNumber(1);
    }
    EXPECT_FALSE(Loads(out.bytes(), pool)) << step;
  }
}

}  // namespace
}  // namespace pleat
