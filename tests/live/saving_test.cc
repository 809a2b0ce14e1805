// A live set that is saved while it changes.
#include <algorithm>
#include <chrono>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <gtest/gtest.h>
#include <pleat/live_set.h>

#include "engine/live/live_set_book.h"
#include "tests/live/drawn_feed.h"

namespace pleat::inline v0_1 {
namespace {

using namespace std::chrono_literals;

struct SavedLiveSetOptions {
  std::string name;
  LiveSetOptions live_set = {.ttl = 10s};
  uint64_t series = 30;
  uint64_t ids = 20;
  bool own_ttls = false;
  bool versions = false;
  bool set_ttls = false;
  bool watched = false;
};

// One live set, to which the same calls happen for the same seed.
class DrawnLiveSet final : public DrawnFeed<LiveSetBook> {
 public:
  DrawnLiveSet(PagePool& pool, const SavedLiveSetOptions& options, uint64_t seed, uint64_t secret)
      : DrawnFeed(pool, options.live_set, seed, secret), options_(options) {
    if (options.watched) home_.Keep();
  }

 private:
  using Event = LiveSetEvent<Note>;
  struct Drawn {
    std::string series;
    std::string id;
    EngineTime stamp;
    Event event;
  };

  Drawn DrawEvent() {
    const bool late = Draw(5) == 0;
    Drawn drawn{.series = NameOf(Draw(options_.series)),
                .id = NameOf(Draw(options_.ids)),
                .stamp = now_ - Duration(late ? Draw(6'000'000) : 0) + Duration(Draw(3)),
                .event = {}};
    if (options_.own_ttls && Draw(4) == 0) drawn.event.ttl = Duration(1 + Draw(20'000'000));
    if (options_.versions && Draw(2) == 0) drawn.event.version = Draw(4);
    if (Draw(8) == 0) drawn.event.payload = {std::string(Draw(40), 'n'), 1};
    return drawn;
  }

  // Calls `change(series, instant)`.
  template <class Change>
  auto Do(const std::string& text, const Change& change) {
    const PackedKey name = home_.NameOf(text);
    const FeedBook::SeriesRef series{name, home_.HashOf(name)};
    return home_.Do(Next(), [&](const Instant& at) { return change(series, at); });
  }

  size_t Call() override {
    switch (Draw(100)) {
      case 0:
      case 1: return Touch();
      case 2: return Import();
      case 3:
      case 4:
      case 5:
      case 6: return Remove();
      case 7: return RemoveBetween();
      case 8: return Draw(10) == 0 ? Clear() : SetTtl();
      case 9: return Wait();
      case 10:
      case 11:
      case 12: return AddMany();
      default: return Add();
    }
  }

  size_t Add() {
    Drawn drawn = DrawEvent();
    drawn.event.id = KeyView(drawn.id.data(), drawn.id.size());
    return Do(drawn.series, [&](const FeedBook::SeriesRef& series, const Instant& at) {
      const EventRef ref{series.name, series.hash, &drawn.event, drawn.stamp};
      const LiveSetBook::Entry entry = book().Find(ref);
      const bool plainly = book().FoldPlainly(ref, entry, at);
      book().Settle(at);
      return static_cast<size_t>(plainly ? LiveSetBook::kPlain : book().FoldSlowly(ref, entry, at));
    });
  }

  // As a batch does: it looks ahead for all, and then takes one after the other.
  size_t AddMany() {
    std::vector<Drawn> drawn(1 + Draw(32));
    for (Drawn& each : drawn) each = DrawEvent();
    std::vector<PackedKey> names;
    std::vector<EventRef> refs;
    names.reserve(drawn.size());
    for (Drawn& each : drawn) {
      each.event.id = KeyView(each.id.data(), each.id.size());
      names.push_back(home_.NameOf(each.series));
      refs.push_back({names.back(), home_.HashOf(names.back()), &each.event, each.stamp});
    }
    std::vector<LiveSetBook::Guess> guesses(drawn.size());
    for (size_t i = 0; i < drawn.size(); ++i) book().PrefetchDirectory(refs[i], guesses[i]);
    for (size_t i = 0; i < drawn.size(); ++i) book().PrefetchIndex(refs[i], guesses[i]);
    for (size_t i = 0; i < drawn.size(); ++i) book().PrefetchEntry(refs[i], guesses[i]);
    for (size_t i = 0; i < drawn.size(); ++i) book().PrefetchRest(guesses[i]);
    size_t outcomes = 0;
    for (size_t i = 0; i < drawn.size(); ++i) {
      home_.Do(Next(), [&](const Instant& at) {
        const LiveSetBook::Entry entry = book().Find(refs[i], guesses[i], Newcomers());
        const bool plainly = book().FoldPlainly(refs[i], entry, at);
        outcomes =
            31 * outcomes + static_cast<size_t>(plainly ? LiveSetBook::kPlain
                                                        : book().FoldSlowly(refs[i], entry, at));
      });
    }
    home_.Do(Here(), [&](const Instant& at) { book().Settle(at); });
    return outcomes;
  }

  size_t Touch() {
    const Drawn drawn = DrawEvent();
    return Do(drawn.series, [&](const FeedBook::SeriesRef& series, const Instant& at) {
      return static_cast<size_t>(book().Touch(series, drawn.id, drawn.stamp, at));
    });
  }
  size_t Import() {
    std::vector<Drawn> drawn(1 + Draw(5));
    for (Drawn& each : drawn) each = DrawEvent();
    std::vector<KeyedEvent<Event>> rows;
    for (Drawn& each : drawn) {
      each.event.id = KeyView(each.id.data(), each.id.size());
      rows.push_back({.key = {}, .at = each.stamp, .event = each.event});
    }
    position_ += rows.size();
    const AnyBatch batch = AnyBatch::Of(std::span<const KeyedEvent<Event>>(rows));
    const size_t added =
        Do(drawn[0].series, [&](const FeedBook::SeriesRef& series, const Instant& at) {
          const auto never = [](EngineTime) { return false; };
          return book().Import(series, batch, never, at)[LiveSetOutcome::kAdded];
        });
    position_ += rows.size();
    return added;
  }
  size_t Remove() {
    const Drawn drawn = DrawEvent();
    const auto stamp = Draw(2) == 0 ? std::optional(drawn.stamp) : std::nullopt;
    const bool only_if_not_newer = Draw(2) == 0;
    return Do(drawn.series, [&](const FeedBook::SeriesRef& series, const Instant& at) {
      return static_cast<size_t>(book().Remove(
          series, drawn.id, {.at = stamp, .only_if_not_newer = only_if_not_newer}, at));
    });
  }
  size_t RemoveBetween() {
    const Drawn drawn = DrawEvent();
    const EngineTime to = drawn.stamp + Duration(Draw(2'000'000));
    return Do(drawn.series, [&](const FeedBook::SeriesRef& series, const Instant& at) {
      return book().RemoveBetween(series, drawn.stamp, to, at);
    });
  }
  size_t Clear() {
    const Drawn drawn = DrawEvent();
    return Do(drawn.series, [&](const FeedBook::SeriesRef& series, const Instant& at) {
      return book().Clear(series, at);
    });
  }
  size_t SetTtl() {
    if (!options_.set_ttls) return 0;
    const Drawn drawn = DrawEvent();
    const Duration ttl =
        Draw(4) == 0 ? options_.live_set.ttl : Duration(1 + static_cast<int64_t>(Draw(30'000'000)));
    return Do(drawn.series, [&](const FeedBook::SeriesRef& series, const Instant& at) {
      return static_cast<size_t>(book().SetTtl(series, ttl, at));
    });
  }
  size_t Wait() {
    Budget budget(Draw(20) + 1);
    return home_.Do(Next(),
                    [&](const Instant& at) -> size_t { return book().CloseDue(at, budget); });
  }

  const SavedLiveSetOptions& options_;
};

std::vector<SavedLiveSetOptions> AllSavedLiveSets() {
  std::vector<SavedLiveSetOptions> all(12);
  all[0].name = "plain";
  all[1].name = "large_series";
  all[1].series = 2;
  all[1].ids = 400;
  all[2].name = "retention";
  all[2].live_set.retention = 20s;
  all[2].set_ttls = true;
  all[3].name = "own_ttls";
  all[3].own_ttls = true;
  all[4].name = "versions";
  all[4].versions = true;
  all[5].name = "watched";
  all[5].watched = true;
  all[6].name = "first";
  all[6].live_set.refresh = Refresh::kFirst;
  all[7].name = "replace";
  all[7].live_set.refresh = Refresh::kReplace;
  all[7].own_ttls = true;
  all[8].name = "caps";
  all[8].live_set.limits.max_per_series = 7;
  all[8].live_set.limits.on_limit = OnLiveSetLimit::kDropOldest;
  all[9].name = "few_series";
  all[9].live_set.limits.max_series = 12;
  all[9].live_set.limits.max_members = 150;
  all[9].live_set.limits.on_limit = OnLiveSetLimit::kDropOldest;
  all[9].set_ttls = true;
  all[10].name = "few_bytes";
  all[10].live_set.limits.max_bytes = 25'000;
  all[10].live_set.limits.on_limit = OnLiveSetLimit::kDropOldest;
  all[11].name = "everything";
  all[11].live_set.retention = 20s;
  all[11].live_set.limits.max_bytes = 40'000;
  all[11].own_ttls = all[11].versions = all[11].set_ttls = true;
  return all;
}

class SavingLiveSet : public testing::TestWithParam<SavedLiveSetOptions> {};

TEST_P(SavingLiveSet, HasTheBytesOfTheMomentAtWhichItBegan) {
  ExpectBytesOfTheBeginning<DrawnLiveSet>(GetParam(), GetParam().live_set);
}

INSTANTIATE_TEST_SUITE_P(Options, SavingLiveSet, testing::ValuesIn(AllSavedLiveSets()),
                         [](const auto& each) { return each.param.name; });

}  // namespace
}  // namespace pleat::inline v0_1
