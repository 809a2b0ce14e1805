// AllSeries() shows each series once, also while series come and go.
#include <chrono>
#include <cstddef>
#include <functional>
#include <memory>
#include <set>
#include <string>
#include <string_view>

#include <gtest/gtest.h>
#include <pleat/live_set.h>

#include "tests/support/start.h"

namespace pleat::inline v0_1 {
namespace {

using namespace std::chrono_literals;

// More than twice as many as are kept at a time, so that there are several rounds.
constexpr size_t kSeries = 40'000;

class AllSeries : public testing::Test {
 protected:
  static std::string Name(size_t number) { return "series " + std::to_string(number); }
  bool Add(std::string_view name) {
    return live_set_.Add(name, {.id = "ann"}, kT0) == LiveSetOutcome::kAdded;
  }
  void AddSeries() {
    for (size_t i = 0; i < kSeries; ++i) ASSERT_TRUE(Add(Name(i)));
  }

  // How often series were shown, while `see(name)` did what it likes. Were there five times as many as
  // in the beginning, nothing changes from then on, so that every call ends.
  template <class See>
  size_t Shown(const See& see) {
    size_t shown = 0;
    live_set_.any().AllSeries(kT0, [&](std::string_view name, size_t) {
      if (++shown <= 5 * kSeries) see(name);
    });
    return shown;
  }

  std::unique_ptr<Engine> engine_ = *Engine::Open({.partitions = 4});
  LiveSet<> live_set_{*engine_, "live_set", {.ttl = 1min}};
};

TEST_F(AllSeries, OneThatEmptiesAndFillsAgainIsShownOnce) {
  AddSeries();
  std::set<std::string, std::less<>> names;
  const size_t shown = Shown([&](std::string_view name) {
    EXPECT_TRUE(names.emplace(name).second) << name;
    EXPECT_EQ(live_set_.Clear(name), 1u);
    EXPECT_TRUE(Add(name));
  });
  EXPECT_EQ(shown, kSeries);
  EXPECT_EQ(names.size(), kSeries);
}

TEST_F(AllSeries, EndsThoughOthersBeginMeanwhile) {
  AddSeries();
  size_t last = kSeries;
  const size_t shown = Shown([&](std::string_view) { EXPECT_TRUE(Add(Name(last++))); });
  EXPECT_EQ(shown, kSeries);
}

// Every second one ends behind the first one that is shown, and half of these begin again.
TEST_F(AllSeries, OneThatHasMembersThroughoutIsShownWhateverOthersDo) {
  AddSeries();
  std::set<std::string, std::less<>> names;
  Shown([&](std::string_view name) {
    if (names.empty()) {
      for (size_t i = 1; i < kSeries; i += 2) live_set_.Clear(Name(i));
      for (size_t i = 1; i < kSeries; i += 4) EXPECT_TRUE(Add(Name(i)));
    }
    EXPECT_TRUE(names.emplace(name).second) << name;
  });
  for (size_t i = 0; i < kSeries; i += 2) EXPECT_TRUE(names.contains(Name(i))) << i;
}

}  // namespace
}  // namespace pleat::inline v0_1
