// A presence that is saved while it changes.
#include <chrono>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include <gtest/gtest.h>
#include <pleat/presence.h>

#include "engine/live/presence_book.h"
#include "tests/live/drawn_feed.h"

namespace pleat::inline v0_1 {
namespace {

using namespace std::chrono_literals;

struct SavedPresenceOptions {
  std::string name;
  PresenceOptions presence = {.ttl = 10s, .grace = 5s};
  uint64_t series = 30;
  uint64_t users = 20;
  uint64_t connections = 3;
  bool metadata = true;
  bool watched = false;
};

// One presence, to which the same calls happen for the same seed.
class DrawnPresence final : public DrawnFeed<PresenceBook> {
 public:
  DrawnPresence(PagePool& pool, const SavedPresenceOptions& options, uint64_t seed, uint64_t secret)
      : DrawnFeed(pool, options.presence, seed, secret), options_(options) {
    if (options.watched) home_.Keep();
  }

 private:
  size_t Call() override {
    const std::string series = NameOf(Draw(options_.series));
    const std::string user = NameOf(Draw(options_.users));
    const std::string connection = NameOf(Draw(options_.connections));
    const bool late = Draw(5) == 0;
    const EngineTime stamp = now_ - Duration(late ? Draw(12'000'000) : 0) + Duration(Draw(3));
    const bool says = options_.metadata && Draw(8) == 0;
    const Note note{std::string(says ? Draw(40) : 0, 'n'), 1};
    const PackedKey name = home_.NameOf(series);
    const PresenceBook::Who who{{name, home_.HashOf(name)}, user, connection};
    uint64_t& generation = generations_[series + "/" + user + "/" + connection];
    const uint64_t known = generation + (Draw(16) == 0 ? 1 : 0);
    const uint64_t verb = Draw(20);
    return home_.Do(Next(), [&](const Instant& at) -> size_t {
      if (verb < 8) {
        const Entered entered = book().Enter(who, &note, stamp, at);
        if (entered.generation != 0) generation = entered.generation;
        return static_cast<size_t>(entered.outcome) + 100 * entered.generation;
      }
      if (verb < 16) {
        return static_cast<size_t>(book().Beat(who, known, says ? &note : nullptr, stamp, at));
      }
      if (verb < 19) return static_cast<size_t>(book().Leave(who, known, at));
      Budget budget(verb);
      return book().CloseDue(at, budget);
    });
  }

  const SavedPresenceOptions& options_;
  std::map<std::string, uint64_t> generations_;  // clients know theirs
};

std::vector<SavedPresenceOptions> AllSavedPresences() {
  std::vector<SavedPresenceOptions> all(8);
  all[0].name = "plain";
  all[1].name = "no_grace";
  all[1].presence.grace = Duration{0};
  all[2].name = "one_connection_without_metadata";
  all[2].connections = 1;
  all[2].metadata = false;
  all[3].name = "large_series";
  all[3].series = 1;
  all[3].users = 300;
  all[4].name = "many_connections";
  all[4].series = 1;
  all[4].users = 3;
  all[4].connections = 300;
  all[5].name = "watched";
  all[5].watched = true;
  all[6].name = "caps";
  all[6].presence.limits.max_per_user = 2;
  all[6].presence.limits.max_per_series = 8;
  all[6].presence.limits.max_series = 12;
  all[7].name = "few_bytes";
  all[7].presence.limits.max_bytes = 40'000;
  return all;
}

class SavingPresence : public testing::TestWithParam<SavedPresenceOptions> {};

TEST_P(SavingPresence, HasTheBytesOfTheMomentAtWhichItBegan) {
  ExpectBytesOfTheBeginning<DrawnPresence>(GetParam(), GetParam().presence);
}

INSTANTIATE_TEST_SUITE_P(Options, SavingPresence, testing::ValuesIn(AllSavedPresences()),
                         [](const auto& each) { return each.param.name; });

}  // namespace
}  // namespace pleat::inline v0_1
