// A live set that was saved and loaded is the one that it was: it says the same of itself, and goes
// on alike. Damaged bytes make a live set that is whole, or none.
#include <algorithm>
#include <array>
#include <chrono>
#include <deque>
#include <map>
#include <optional>
#include <random>
#include <set>
#include <span>
#include <sstream>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include <gtest/gtest.h>
#include <pleat/live_set.h>

#include "engine/lines/feed/payload_text.h"
#include "engine/live/live_set_book.h"
#include "tests/live/book_home.h"
#include "tests/support/seeds.h"
#include "tests/support/share.h"
#include "tests/support/start.h"

namespace pleat::inline v0_1 {
namespace {

using namespace std::chrono_literals;
using LiveSetHome = BookHome<LiveSetBook>;

// --- Types

struct Plain {
  int number;
  friend bool operator==(const Plain&, const Plain&) = default;
};
enum class Colour : uint8_t { kRed };

static_assert(detail::IsStored<bool> && detail::IsStored<uint64_t> && detail::IsStored<Colour>);
static_assert(detail::IsStored<float> && detail::IsStored<EngineTime> && detail::IsStored<Note>);
static_assert(detail::IsStored<std::map<std::string, std::vector<std::optional<double>>>>);
static_assert(detail::IsStored<std::array<std::pair<int, std::set<Duration>>, 3>>);
static_assert(detail::IsStored<std::deque<LeaseTime>>);
static_assert(!detail::IsStored<Plain> && !detail::IsStored<std::vector<Plain>>);
static_assert(!detail::IsStored<std::string_view> && !detail::IsStored<const char*>);
static_assert(!detail::IsStored<std::map<int, std::string_view>> && !detail::IsStored<long double>);
static_assert(!detail::IsStored<std::unordered_map<int, int>>);
static_assert(!detail::IsStored<std::optional<std::pair<int, Plain>>>);

TEST(LiveSetStored, PayloadsSayWhetherTheyCanBeStored) {
  EXPECT_FALSE(PayloadOpsFor<Plain>().stored());
  EXPECT_TRUE(PayloadOpsFor<NoPayload>().stored());
  EXPECT_TRUE(PayloadOpsFor<std::string>().stored());
  EXPECT_TRUE(PayloadTextOps().stored());
  const PayloadOps note = PayloadOpsFor<Note>();
  EXPECT_EQ(note.stored_version, 2u);
  EXPECT_EQ(note.shape(note.context, 1), "text");
  EXPECT_EQ(note.shape(note.context, 2), "text int64");
  EXPECT_EQ(PayloadOpsFor<int>().shape(nullptr, 1), "int32");
}

// --- Episodes

struct Step {
  enum class Verb : uint8_t {
    kAdd,
    kTouch,
    kImport,
    kRemove,
    kRemoveBetween,
    kSetTtl,
    kClear,
    kWait
  };
  Verb verb;
  std::string series;
  std::string id;
  EngineTime stamp;
  EngineTime to;
  Duration ttl;
  std::optional<uint64_t> version;
  Note note;
  bool flag;
  Moment moment;
};

struct Setting {
  LiveSetOptions options;
  int series;
  int ids;
  int steps;
};

Setting DrawSetting(std::mt19937_64& random) {
  Setting setting{.options = {.ttl = 10s}, .series = 4, .ids = 12, .steps = 400};
  const bool large = random() % 6 == 0;
  if (large) {
    setting = {.options = {.ttl = 10min}, .series = 2, .ids = 400, .steps = 1'500};
  }
  LiveSetOptions& options = setting.options;
  options.retention = random() % 2 == 0 ? Duration{0} : 40s;
  if (random() % 8 == 0) options.ttl = kForever;
  options.refresh = static_cast<Refresh>(random() % 3);
  if (random() % 2 == 0) options.limits.on_limit = OnLiveSetLimit::kDropOldest;
  if (large) return setting;
  if (random() % 3 == 0) options.limits.max_per_series = 7;
  if (random() % 3 == 0) options.limits.max_members = 20;
  if (random() % 3 == 0) options.limits.max_series = 3;
  if (random() % 3 == 0) options.limits.max_bytes = 4'000 + random() % 8'000;
  return setting;
}

class Script {
 public:
  Script(const Setting& setting, std::mt19937_64& random) : setting_(setting), random_(random) {}

  Step Draw() {
    using Verb = Step::Verb;
    if (random_() % 3 == 0) now_ += Duration(random_() % 2'000'000);
    if (random_() % 200 == 0) now_ += 30s;
    Step step{};
    const uint64_t verb = random_() % 40;
    step.verb = verb < 26   ? Verb::kAdd
                : verb < 28 ? Verb::kTouch
                : verb < 29 ? Verb::kImport
                : verb < 32 ? Verb::kRemove
                : verb < 33 ? Verb::kRemoveBetween
                : verb < 34 ? Verb::kSetTtl
                : verb < 35 ? (random_() % 16 == 0 ? Verb::kClear : Verb::kWait)
                            : Verb::kWait;
    step.series = NameOf(random_() % static_cast<uint64_t>(setting_.series));
    step.id = NameOf(random_() % static_cast<uint64_t>(setting_.ids));
    step.stamp =
        now_ - Duration(random_() % 4 == 0 ? random_() % 12'000'000 : 0) + Duration(random_() % 3);
    step.to = step.stamp + Duration(random_() % 3'000'000);
    if (random_() % 6 == 0) step.ttl = Duration(1 + random_() % 30'000'000);
    if (step.verb == Verb::kSetTtl) {
      const auto usual =
          static_cast<uint64_t>(std::min<Duration>(setting_.options.ttl, 10min).count());
      step.ttl = random_() % 4 == 0 ? setting_.options.ttl : Duration(1 + random_() % (3 * usual));
    }
    if (random_() % 6 == 0) step.version = random_() % 3;
    step.note = {std::string(random_() % 4 == 0 ? random_() % 60 : 0, 'n'),
                 static_cast<int64_t>(random_() % 2)};
    step.flag = random_() % 2 == 0;
    step.moment = {now_, position_};
    position_ += 1 + random_() % 3;
    return step;
  }
  Moment Here() const { return {now_, position_}; }

 private:
  // Short and long ones, and the empty one.
  static std::string NameOf(uint64_t number) {
    if (number == 0) return "";
    return std::string(number % 5 == 0 ? 30 : number % 7, 'x') + std::to_string(number);
  }

  const Setting& setting_;
  std::mt19937_64& random_;
  EngineTime now_ = kT0;
  uint64_t position_ = 100;
};

using Event = LiveSetEvent<Note>;
Event EventOf(const Step& step) {
  return {.id = KeyView(step.id.data(), step.id.size()),
          .ttl = step.ttl,
          .version = step.version,
          .payload = step.note};
}

// What the book answers.
std::string Apply(LiveSetHome& home, const Step& step) {
  using Verb = Step::Verb;
  const PackedKey name = home.NameOf(step.series);
  const FeedBook::SeriesRef series{name, home.HashOf(name)};
  LiveSetBook& book = home.book();
  std::ostringstream out;
  home.Do(step.moment, [&](const Instant& at) {
    const Event event = EventOf(step);
    switch (step.verb) {
      case Verb::kAdd: {
        const EventRef ref{name, series.hash, &event, step.stamp};
        const LiveSetBook::Entry entry = book.Find(ref);
        const bool plainly = book.FoldPlainly(ref, entry, at);
        book.Settle(at);
        out << static_cast<int>(plainly ? LiveSetBook::kPlain : book.FoldSlowly(ref, entry, at));
        break;
      }
      case Verb::kTouch:
        out << static_cast<int>(book.Touch(series, step.id, step.stamp, at));
        break;
      case Verb::kImport: {
        const std::string other = step.id + "+";
        std::vector<KeyedEvent<Event>> rows(2);
        rows[0] = {.key = {}, .at = step.stamp, .event = event};
        rows[1] = rows[0];
        rows[1].event.id = other;
        const LiveSetCounts counts = book.Import(
            series, AnyBatch::Of(std::span<const KeyedEvent<Event>>(rows)),
            [](EngineTime) { return false; }, at);
        for (size_t i = 0; i < kLiveSetOutcomes; ++i) out << counts[static_cast<LiveSetOutcome>(i)];
        break;
      }
      case Verb::kRemove: {
        const auto stamp = step.flag ? std::optional(step.stamp) : std::nullopt;
        out << static_cast<int>(book.Remove(
            series, step.id, {.at = stamp, .only_if_not_newer = step.version.has_value()}, at));
        break;
      }
      case Verb::kRemoveBetween: out << book.RemoveBetween(series, step.stamp, step.to, at); break;
      case Verb::kSetTtl: out << static_cast<int>(book.SetTtl(series, step.ttl, at)); break;
      case Verb::kClear: out << book.Clear(series, at); break;
      case Verb::kWait: break;
    }
  });
  return out.str();
}

// All that can be read, once what is due has ended: until then tombstones that are over may count.
std::string Describe(LiveSetHome& home, const Moment& moment) {
  home.CloseDue(moment);
  const LiveSetBook& book = home.book();
  std::ostringstream out;
  size_t counted = 0;
  std::map<uint64_t, std::string> series;  // by `since`: a book shows them in any order
  book.ForEachSeries(moment.now, [&](std::string_view name, size_t count, uint64_t since) {
    series[since] = std::string(name);
    counted += count;
  });
  out << counted << '\n';
  for (const auto& [since, text] : series) {
    out << text << ' ' << since << '\n';
    const PackedKey name = home.NameOf(text);
    const FeedBook::SeriesRef ref{name, home.HashOf(name)};
    for (const bool newest_first : {false, true}) {
      ListCursor cursor;
      book.List(ref, {.newest_first = newest_first, .limit = SIZE_MAX}, moment.now, cursor,
                [&](const AnyLive& live) {
                  const Note& note = *static_cast<const Note*>(live.payload);
                  out << live.id << ' ' << live.stamp.time_since_epoch().count() << ' '
                      << live.deadline.time_since_epoch().count() << ' '
                      << live.version.value_or(99) << ' ' << note.text << note.number << ' '
                      << book.Rank(ref, live.id, moment.now).value_or(0) << '\n';
                });
      out << cursor.position << '\n';
    }
    out << book.Count(ref, moment.now) << ' '
        << book.CountBetween(ref, moment.now - 5s, moment.now, moment.now) << '\n';
  }
  const LiveSetSizes sizes = book.sizes();
  out << sizes.series << ' ' << sizes.members << ' ' << sizes.tombstones << ' ' << sizes.bytes;
  return out.str();
}

TEST(LiveSetStored, ALoadedLiveSetSaysAndDoesWhatTheSavedOneDoes) {
  const PayloadOps ops = PayloadOpsFor<Note>();
  size_t retained = 0;
  size_t tombstones = 0;
  size_t large = 0;
  const uint64_t seeds = ShareOf({.whole = 40, .usual = 20, .sanitized = 6});
  const bool all = ForEachSeed(1, seeds, [&](uint64_t seed) {
    std::mt19937_64 random(seed);
    const Setting setting = DrawSetting(random);
    PagePool pool;
    LiveSetHome saved(pool, setting.options, ops, seed);
    Script script(setting, random);
    if (random() % 2 == 0) saved.Keep();
    for (int i = 0; i < setting.steps; ++i) Apply(saved, script.Draw());

    // It is not settled by time as a rule, and its tombstones may be over.
    const std::string bytes = saved.Saved();
    LiveSetHome loaded(pool, setting.options, ops, seed + 1'000);
    ASSERT_TRUE(loaded.Load(bytes, script.Here()));
    loaded.book().CheckWhole();
    EXPECT_EQ(loaded.Saved(), bytes);
    EXPECT_EQ(saved.Saved(), bytes);
    EXPECT_EQ(loaded.book().ledger(), saved.book().ledger());
    EXPECT_EQ(loaded.book().sizes(), saved.book().sizes());
    EXPECT_EQ(loaded.book().changes().next(), saved.book().changes().next());
    retained += saved.book().sizes().members - saved.book().ledger().live;
    tombstones += saved.book().sizes().tombstones;
    large += saved.book().sizes().members > 200;

    if (random() % 4 != 0) {
      saved.Keep();
      loaded.Keep();
    }
    for (int i = 0; i < setting.steps / 2; ++i) {
      const Step step = script.Draw();
      ASSERT_EQ(Apply(saved, step), Apply(loaded, step)) << i;
      if (saved.book().changes().keeps() && loaded.book().changes().keeps()) {
        ASSERT_EQ(saved.Changes(), loaded.Changes()) << i;
      }
      ASSERT_EQ(saved.book().ledger(), loaded.book().ledger()) << i;
      if (i % 8 != 0) continue;
      ASSERT_EQ(Describe(saved, step.moment), Describe(loaded, step.moment)) << i;
    }
    saved.book().CheckWhole();
    loaded.book().CheckWhole();
    const Moment end{script.Here().now + 24h, script.Here().position};
    ASSERT_EQ(Describe(saved, end), Describe(loaded, end));
  });
  if (!all || kSanitized) return;
  EXPECT_GT(retained, 0u);
  EXPECT_GT(tombstones, 0u);
  EXPECT_GT(large, 0u);
}

// A reader who has read everything goes on; one who is behind, or ahead, starts over.
TEST(LiveSetStored, ChangeNumbersGoOnAndOldChangesAreGone) {
  const PayloadOps ops = PayloadOpsFor<Note>();
  PagePool pool;
  const LiveSetOptions options{.ttl = 10s};
  LiveSetHome saved(pool, options, ops, 1);
  Step step{.verb = Step::Verb::kAdd, .series = "s", .moment = {kT0, 1}};
  step.stamp = kT0;
  saved.Keep();
  for (const char* id : {"a", "b", "c"}) {
    step.id = id;
    Apply(saved, step);
  }
  LiveSetHome loaded(pool, options, ops, 2);
  ASSERT_TRUE(loaded.Load(saved.Saved(), step.moment));
  const WatchScope scope{.name = "s", .is_prefix = false};
  const ChangeLog& log = loaded.book().changes();
  EXPECT_EQ(log.next(), 3u);
  EXPECT_TRUE(log.HasAll(scope, 3));
  EXPECT_FALSE(log.HasAll(scope, 2));
  EXPECT_FALSE(log.HasAll(scope, 4));
  loaded.Do(step.moment, [&](const Instant& at) { loaded.book().SkipNumbers(100, at); });
  EXPECT_EQ(log.next(), 103u);
  EXPECT_FALSE(log.HasAll(scope, 3));
  loaded.Keep();
  step.id = "d";
  Apply(loaded, step);
  EXPECT_EQ(loaded.Changes().substr(0, 10), "103 added ");
}

TEST(LiveSetStored, AFieldThatAVersionDoesNotHaveKeepsItsDefault) {
  const PayloadOps ops = PayloadOpsFor<Note>();
  FieldWriter out;
  out(std::string("old"));
  FieldReader in(out.bytes());
  in.set_version(1);
  Note note{"", 7};
  ops.load(ops.context, &note, in);
  EXPECT_TRUE(in.done());
  EXPECT_EQ(note, (Note{"old", 0}));
}

TEST(LiveSetStored, TextsOfJsonAreLoaded) {
  const PayloadOps ops = PayloadTextOps();
  for (const std::string_view text : {"", R"({"a":1})"}) {
    const PayloadText before = PayloadText::Of(text);
    FieldWriter out;
    ops.save(ops.context, &before, out);
    FieldReader in(out.bytes());
    PayloadText after;
    ops.load(ops.context, &after, in);
    EXPECT_TRUE(in.done());
    EXPECT_EQ(after.view(), text);
    ops.destroy(ops.context, &after);
  }
}

// --- Damage

// A few members of each kind.
std::string SmallLiveSet(const Setting& setting, std::mt19937_64& random, PagePool& pool,
                         Moment& moment) {
  LiveSetHome home(pool, setting.options, PayloadOpsFor<Note>(), 1);
  Script script(setting, random);
  for (int i = 0; i < setting.steps; ++i) Apply(home, script.Draw());
  moment = script.Here();
  return home.Saved();
}

// Loads the bytes, and goes on with the book if there is one. Returns whether there is.
bool LoadsWhole(std::string_view bytes, const Setting& setting, const Moment& moment,
                PagePool& pool) {
  LiveSetHome home(pool, setting.options, PayloadOpsFor<Note>(), 2);
  if (!home.Load(bytes, moment)) return false;
  home.book().CheckWhole();
  home.Keep();
  std::mt19937_64 random(1);
  Script script(setting, random);
  for (int i = 0; i < 30; ++i) {
    Step step = script.Draw();
    step.moment.now += moment.now - kT0;
    step.stamp += moment.now - kT0;
    step.moment.position += moment.position;
    Apply(home, step);
  }
  home.CloseDue({moment.now + 1h, moment.position + 1'000});
  home.book().CheckWhole();
  return true;
}

TEST(LiveSetStored, DamagedBytesLoadAWholeLiveSetOrNone) {
  size_t loaded = 0;
  const uint64_t every = ShareOf({.whole = 1, .usual = 1, .sanitized = 4});
  const bool all = ForEachSeed(1, 3, [&](uint64_t seed) {
    std::mt19937_64 random(seed);
    const Setting setting{
        .options = {.ttl = 10s, .retention = 40s}, .series = 3, .ids = 5, .steps = 60};
    PagePool pool;
    Moment moment{};
    const std::string bytes = SmallLiveSet(setting, random, pool, moment);
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
        damaged[random() % bytes.size()] =
            static_cast<char>(random() % 4 == 0 ? random() : random() % 8);
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
