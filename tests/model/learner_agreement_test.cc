// The engine's learner against the model's, for longer than the episodes of fold_property_test last: counts are halved,
// runs get long, and there are more classes than the table has room for.
#include <map>
#include <random>
#include <string>

#include <gtest/gtest.h>

#include "engine/fold/quiet_learner.h"
#include "tests/model/plain_learner.h"
#include "tests/support/sanitized.h"

namespace pleat::inline v0_1 {
namespace {

void ExpectAgreement(Duration floor, Duration ceiling, uint32_t classes, uint64_t seed) {
  SCOPED_TRACE("seed " + std::to_string(seed));
  std::mt19937_64 random(seed);
  QuietLearner learner(floor, ceiling);
  PlainLearner plain(floor, ceiling);
  struct Key {
    EngineTime last;
    QuietLearner::Memo memo;
  };
  std::map<std::string, Key> keys;
  EngineTime now{};
  for (int i = 0; i < (kSanitized ? 5'000 : 60'000); ++i) {
    now += Duration{static_cast<int64_t>(random() % 4)};
    // Some keys are busy, some come rarely; what class an event has depends on the key, mostly.
    const uint64_t number = random() % (uint64_t{1} << random() % 12);
    const uint64_t odd = random() % 8 == 0 ? random() : 0;
    const auto key_class = static_cast<uint32_t>((number * 31 + odd) % classes);
    const std::string name = std::to_string(number);
    const bool opens = random() % 2 == 0;
    Key& key = keys[name];
    const QuietLearner::Answer answer = learner.Ask(key_class, now - key.last, key.memo);
    const Duration quiet =
        plain.QuietAfter(name, key_class == 0 ? "" : std::to_string(key_class), now, now, opens);
    ASSERT_EQ(answer.quiet, quiet) << "event " << i;
    key = {now, answer.memo};
  }
}

TEST(LearnerAgreement, OneClass) { ExpectAgreement(Duration{7}, Duration{3000}, 1, 1); }

TEST(LearnerAgreement, SomeClasses) { ExpectAgreement(Duration{50}, Duration{999}, 7, 2); }

TEST(LearnerAgreement, MoreClassesThanThereIsRoomFor) {
  ExpectAgreement(Duration{1}, Duration{20'000}, 3000, 3);
}

}  // namespace
}  // namespace pleat::inline v0_1
