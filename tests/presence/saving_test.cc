// A presence that is saved while it changes: the bytes are those of the moment at which the saving
// began, whatever happens meanwhile, and the presence goes on as if it had not been saved.
#include <chrono>
#include <cstdint>
#include <map>
#include <random>
#include <string>
#include <vector>

#include <gtest/gtest.h>
#include <pleat/presence.h>

#include "engine/window/presence_book.h"
#include "tests/support/seeds.h"
#include "tests/support/start.h"
#include "tests/window/book_home.h"

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
class DrawnPresence {
 public:
  DrawnPresence(PagePool& pool, const SavedPresenceOptions& options, uint64_t seed, uint64_t secret)
      : options_(options),
        home_(pool, options.presence, PayloadOpsFor<Note>(), secret),
        random_(seed) {
    if (options.watched) home_.Keep();
  }

  PresenceBook& book() { return home_.book(); }
  std::string Saved() const { return home_.Saved(); }
  Moment Here() const { return {now_, position_}; }

  // Returns what the presence has answered.
  std::string Calls(int count) {
    std::string answers;
    for (; count > 0; --count) answers += std::to_string(Call()) + ' ';
    return answers + home_.Changes();
  }

 private:
  uint64_t Draw(uint64_t below) { return random_() % below; }

  // Short and long ones.
  static std::string NameOf(uint64_t number) {
    return std::string(number % 5 == 1 ? 30 : number % 7, 'x') + std::to_string(number);
  }
  Moment Next() {
    if (Draw(4) == 0) now_ += Duration(Draw(30'000));
    if (Draw(1000) == 0) now_ += Duration(Draw(8'000'000));
    return {now_, position_ += 1 + Draw(2)};
  }

  size_t Call() {
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
  BookHome<PresenceBook> home_;
  std::mt19937_64 random_;
  EngineTime now_ = kT0;
  uint64_t position_ = 100;
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
  ForEachSeed(1, 4, [](uint64_t seed) {
    std::mt19937_64 random(seed);
    PagePool pool;
    DrawnPresence presence(pool, GetParam(), seed, 1);
    DrawnPresence twin(pool, GetParam(), seed, 2);
    const auto call_both = [&](int count) { ASSERT_EQ(presence.Calls(count), twin.Calls(count)); };
    for (int round = 0; round < 4 && !testing::Test::HasFailure(); ++round) {
      call_both(static_cast<int>(random() % 2000));
      const std::string expected = twin.Saved();
      FieldWriter out;
      for (bool more = presence.book().BeginSave(out); more;) {
        call_both(static_cast<int>(random() % 30));
        if (random() % 400 == 0) break;
        more = presence.book().SaveNext(out);
        ASSERT_TRUE(more || out.bytes() == expected);
      }
      presence.book().EndSave();
      presence.book().CheckWhole();
      ASSERT_EQ(presence.book().ledger(), twin.book().ledger());
      ASSERT_EQ(presence.book().sizes(), twin.book().sizes());
      ASSERT_TRUE(presence.Saved() == twin.Saved());
    }
    BookHome<PresenceBook> loaded(pool, GetParam().presence, PayloadOpsFor<Note>(), 3);
    const std::string bytes = presence.Saved();
    ASSERT_TRUE(loaded.Load(bytes, presence.Here()));
    loaded.book().CheckWhole();
    ASSERT_TRUE(loaded.Saved() == bytes);
  });
}

INSTANTIATE_TEST_SUITE_P(Options, SavingPresence, testing::ValuesIn(AllSavedPresences()),
                         [](const auto& each) { return each.param.name; });

}  // namespace
}  // namespace pleat::inline v0_1
