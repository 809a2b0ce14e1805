// A presence that was saved and loaded is the one that it was: it says the same of itself, and goes
// on alike. Damaged bytes make a presence that is whole, or none.
#include <algorithm>
#include <chrono>
#include <map>
#include <random>
#include <sstream>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <gtest/gtest.h>
#include <pleat/presence.h>

#include "engine/live/presence_book.h"
#include "tests/live/book_home.h"
#include "tests/support/seeds.h"
#include "tests/support/share.h"
#include "tests/support/start.h"

namespace pleat::inline v0_1 {
namespace {

using namespace std::chrono_literals;
using PresenceHome = BookHome<PresenceBook>;

struct Setting {
  PresenceOptions options;
  int series;
  int users;
  int connections;
  int steps;
};

Setting DrawSetting(std::mt19937_64& random) {
  Setting setting{.options = {}, .series = 3, .users = 6, .connections = 3, .steps = 400};
  if (random() % 6 == 0) setting = {{.ttl = 10min}, 1, 150, 2, 1'500};
  if (random() % 6 == 0) setting = {{.ttl = 10min}, 1, 2, 300, 2'500};
  PresenceOptions& options = setting.options;
  if (random() % 4 == 0) options.grace = Duration{0};
  if (random() % 6 == 0) options.grace = kForever;
  if (setting.steps > 400) return setting;
  if (random() % 8 == 0) options.ttl = kForever;
  if (random() % 4 == 0) options.limits.max_per_user = 2;
  if (random() % 4 == 0) options.limits.max_per_series = 4;
  if (random() % 4 == 0) options.limits.max_series = 2;
  if (random() % 4 == 0) options.limits.max_bytes = 3'000 + random() % 5'000;
  return setting;
}

struct Step {
  enum class Verb : uint8_t { kEnter, kBeat, kUpdate, kLeave, kWait };
  Verb verb;
  std::string series;
  std::string user;
  std::string connection;
  bool stale;  // goes by another generation
  EngineTime stamp;
  Note note;
  Moment moment;
};

class Script {
 public:
  Script(const Setting& setting, std::mt19937_64& random) : setting_(setting), random_(random) {}

  Step Draw() {
    using Verb = Step::Verb;
    if (random_() % 3 == 0) now_ += Duration(random_() % 2'000'000);
    if (random_() % 60 == 0) now_ += Duration(random_() % 90'000'000);
    const uint64_t verb = random_() % 16;
    Step step{.verb = verb < 6    ? Verb::kEnter
                      : verb < 11 ? Verb::kBeat
                      : verb < 13 ? Verb::kUpdate
                      : verb < 15 ? Verb::kLeave
                                  : Verb::kWait,
              .series = NameOf(setting_.series),
              .user = NameOf(setting_.users),
              .connection = NameOf(setting_.connections),
              .stale = random_() % 16 == 0,
              .stamp = now_ - Duration(random_() % 4 == 0 ? random_() % 80'000'000 : 0),
              .note = {std::string(random_() % 8 == 0 ? random_() % 60 : 0, 'n'), 1},
              .moment = {now_, position_}};
    position_ += 1 + random_() % 3;
    return step;
  }
  Moment Here() const { return {now_, position_}; }

 private:
  std::string NameOf(int count) {
    const uint64_t number = random_() % static_cast<uint64_t>(count);
    return std::string(number % 5 == 1 ? 30 : number % 7, 'x') + std::to_string(number);
  }

  const Setting& setting_;
  std::mt19937_64& random_;
  EngineTime now_ = kT0;
  uint64_t position_ = 100;
};

// Clients know their generations.
using Generations = std::map<std::string, uint64_t>;

std::string Apply(PresenceHome& home, const Step& step, Generations& generations) {
  using Verb = Step::Verb;
  const PackedKey name = home.NameOf(step.series);
  const PresenceBook::Who who{{name, home.HashOf(name)}, step.user, step.connection};
  uint64_t& generation = generations[step.series + "/" + step.user + "/" + step.connection];
  const uint64_t known = generation + (step.stale ? 1 : 0);
  std::ostringstream out;
  home.Do(step.moment, [&](const Instant& at) {
    PresenceBook& book = home.book();
    switch (step.verb) {
      case Verb::kEnter: {
        const Entered entered = book.Enter(who, &step.note, step.stamp, at);
        if (entered.generation != 0) generation = entered.generation;
        out << static_cast<int>(entered.outcome) << ' ' << entered.generation;
        break;
      }
      case Verb::kBeat:
        out << static_cast<int>(book.Beat(who, known, nullptr, step.stamp, at));
        break;
      case Verb::kUpdate:
        out << static_cast<int>(book.Beat(who, known, &step.note, step.stamp, at));
        break;
      case Verb::kLeave: out << static_cast<int>(book.Leave(who, known, at)); break;
      case Verb::kWait: break;
    }
  });
  return out.str();
}

// All that can be read.
std::string Describe(const PresenceHome& home, const Moment& moment) {
  const PresenceBook& book = home.book();
  std::ostringstream out;
  std::map<uint64_t, std::pair<std::string, size_t>> series;  // by `since`
  book.ForEachSeries(moment.now, [&](std::string_view name, size_t count, uint64_t since) {
    series[since] = {std::string(name), count};
  });
  for (const auto& [since, named] : series) {
    const PackedKey name = home.NameOf(named.first);
    const FeedBook::SeriesRef ref{name, home.HashOf(name)};
    const PresenceCounts counts = book.Count(ref, moment.now);
    out << named.first << ' ' << named.second << ' ' << since << ' ' << counts.here << ' '
        << counts.away << ' ' << counts.connections << '\n';
    ListCursor cursor;
    book.List(ref, {.newest_first = false, .limit = SIZE_MAX}, moment.now, cursor,
              [&](const AnyUser& user) {
                out << user.id << ' ' << user.stamp.time_since_epoch().count() << ' '
                    << user.deadline.time_since_epoch().count() << ' ' << user.away << ' '
                    << static_cast<const Note*>(user.metadata)->text << ':';
                for (const AnyConnection& connection : user.connections) {
                  out << ' ' << connection.id << ' ' << connection.generation << ' '
                      << connection.stamp.time_since_epoch().count();
                }
                out << '\n';
              });
    out << cursor.position << '\n';
  }
  const PresenceSizes sizes = book.sizes();
  out << sizes.series << ' ' << sizes.users << ' ' << sizes.connections << ' ' << sizes.bytes;
  return out.str();
}

TEST(PresenceStored, ALoadedPresenceSaysAndDoesWhatTheSavedOneDoes) {
  const PayloadOps ops = PayloadOpsFor<Note>();
  size_t away = 0;
  size_t users = 0;
  size_t connections = 0;
  const uint64_t seeds = ShareOf({.whole = 40, .usual = 40, .sanitized = 6});
  const bool all = ForEachSeed(1, seeds, [&](uint64_t seed) {
    std::mt19937_64 random(seed);
    const Setting setting = DrawSetting(random);
    PagePool pool;
    PresenceHome saved(pool, setting.options, ops, seed);
    Script script(setting, random);
    Generations generations;
    if (random() % 2 == 0) saved.Keep();
    for (int i = 0; i < setting.steps; ++i) Apply(saved, script.Draw(), generations);
    if (random() % 2 == 0) {
      // Time was at work, and has not come to its end.
      Budget budget(random() % 4);
      const Moment later{script.Here().now + 100s, script.Here().position};
      saved.Do(later, [&](const Instant& at) { return saved.book().CloseDue(at, budget); });
    }

    const std::string bytes = saved.Saved();
    PresenceHome loaded(pool, setting.options, ops, seed + 1'000);
    ASSERT_TRUE(loaded.Load(bytes, script.Here()));
    loaded.book().CheckWhole();
    EXPECT_EQ(loaded.Saved(), bytes);
    EXPECT_EQ(saved.Saved(), bytes);
    EXPECT_EQ(loaded.book().ledger(), saved.book().ledger());
    EXPECT_EQ(Describe(loaded, script.Here()), Describe(saved, script.Here()));
    EXPECT_EQ(loaded.book().changes().next(), saved.book().changes().next());
    away += saved.book().ledger().away;
    users = std::max(users, saved.book().sizes().users);
    connections = std::max(connections, saved.book().sizes().connections);

    if (random() % 4 != 0) {
      saved.Keep();
      loaded.Keep();
    }
    for (int i = 0; i < setting.steps / 2; ++i) {
      const Step step = script.Draw();
      Generations others = generations;
      ASSERT_EQ(Apply(saved, step, generations), Apply(loaded, step, others)) << i;
      if (saved.book().changes().keeps() && loaded.book().changes().keeps()) {
        ASSERT_EQ(saved.Changes(), loaded.Changes()) << i;
      }
      ASSERT_EQ(saved.book().ledger(), loaded.book().ledger()) << i;
      if (i % 8 != 0) continue;
      saved.CloseDue(step.moment);
      loaded.CloseDue(step.moment);
      ASSERT_EQ(Describe(saved, step.moment), Describe(loaded, step.moment)) << i;
    }
    saved.book().CheckWhole();
    loaded.book().CheckWhole();
  });
  if (!all || kSanitized) return;
  EXPECT_GT(away, 0u);
  EXPECT_GT(users, 128u);
  EXPECT_GT(connections, 256u);
}

TEST(PresenceStored, NoGenerationIsGivenTwiceWhereNumbersAreSkipped) {
  PagePool pool;
  PresenceHome home(pool, PresenceOptions{}, PayloadOpsFor<Note>(), 1);
  Generations generations;
  Step step{.series = "s", .user = "ann", .connection = "tab", .stamp = kT0, .moment = {kT0, 1}};
  EXPECT_EQ(Apply(home, step, generations), "0 1");
  PresenceHome loaded(pool, PresenceOptions{}, PayloadOpsFor<Note>(), 2);
  ASSERT_TRUE(loaded.Load(home.Saved(), step.moment));
  loaded.Do(step.moment, [&](const Instant& at) { loaded.book().SkipNumbers(100, at); });
  EXPECT_EQ(Apply(loaded, step, generations), "11 102");  // kReconnected
  EXPECT_EQ(loaded.book().changes().next(), 101u);
}

// Whether the bytes are those of a presence, which then goes on.
bool LoadsWhole(std::string_view bytes, const Setting& setting, const Moment& moment,
                PagePool& pool) {
  PresenceHome home(pool, setting.options, PayloadOpsFor<Note>(), 2);
  if (!home.Load(bytes, moment)) return false;
  home.book().CheckWhole();
  home.Keep();
  std::mt19937_64 random(1);
  Script script(setting, random);
  Generations generations;
  for (int i = 0; i < 30; ++i) {
    Step step = script.Draw();
    step.moment.now += moment.now - kT0;
    step.stamp += moment.now - kT0;
    step.moment.position += moment.position;
    Apply(home, step, generations);
  }
  home.CloseDue({moment.now + 1h, moment.position + 1'000});
  home.book().CheckWhole();
  return true;
}

TEST(PresenceStored, DamagedBytesLoadAWholePresenceOrNone) {
  size_t loaded = 0;
  const uint64_t every = ShareOf({.whole = 1, .usual = 1, .sanitized = 4});
  const bool all = ForEachSeed(1, 3, [&](uint64_t seed) {
    std::mt19937_64 random(seed);
    const Setting setting{.options = {.grace = seed == 3 ? Duration{0} : 30s},
                          .series = 2,
                          .users = 3,
                          .connections = 3,
                          .steps = 60};
    PagePool pool;
    PresenceHome home(pool, setting.options, PayloadOpsFor<Note>(), 1);
    Script script(setting, random);
    Generations generations;
    for (int i = 0; i < setting.steps; ++i) Apply(home, script.Draw(), generations);
    const Moment moment = script.Here();
    const std::string bytes = home.Saved();
    ASSERT_TRUE(LoadsWhole(bytes, setting, moment, pool));
    for (size_t size = 0; size < bytes.size(); ++size) {
      EXPECT_FALSE(LoadsWhole(bytes.substr(0, size), setting, moment, pool)) << size;
    }
    for (size_t at = seed % every; at < bytes.size(); at += every) {
      for (const int flip : {1, 2, 4, 16, 128, 255}) {
        std::string damaged = bytes;
        damaged[at] = static_cast<char>(damaged[at] ^ flip);
        loaded += LoadsWhole(damaged, setting, moment, pool);
      }
    }
    for (int i = 0; i < 500; ++i) {
      std::string damaged = bytes;
      for (uint64_t left = 1 + random() % 4; left > 0; --left) {
        const uint64_t byte = random() % 4 == 0 ? random() : random() % 8;
        damaged[random() % bytes.size()] = static_cast<char>(byte);
      }
      loaded += LoadsWhole(damaged, setting, moment, pool);
    }
  });
  if (all) {
    EXPECT_GT(loaded, 0u);
  }
}

}  // namespace
}  // namespace pleat::inline v0_1
