// Live sets: what is true of a project right now, and the moment at which it stops being true.
//
// A site shows four things of each project: its contributions within 24 hours, who contributed
// within 30 minutes, its news for five minutes, and who is on its page. Nobody has to ask again and
// again: the live sets say when a member ends, also when nothing else happens.
#include <chrono>
#include <cstdio>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <pleat/engine.h>
#include <pleat/live_set.h>
#include <pleat/presence.h>

using namespace std::chrono_literals;

const pleat::EngineTime kBegin = pleat::FromUnix(1'700'000'000s);
const pleat::WatchScope kAll{.name = "", .is_prefix = true};

// News are an id, by which they are withdrawn, and a title, which may be edited.
struct News {
  std::string title;
  bool operator==(const News&) const = default;
};

std::string Shown(const pleat::NoPayload&) { return ""; }
std::string Shown(const News& news) { return " \"" + news.title + "\""; }

// Prints the changes of a live set or of a presence, each once.
template <class Collection, class Payload>
class Feed {
 public:
  Feed(std::string_view what, Collection collection)
      : what_(what), collection_(std::move(collection)) {
    std::vector<pleat::SeriesCount> live;  // none yet; a page that is opened later begins with them
    cursor_ = collection_.Watch(kAll, live);
  }

  void Print() {
    std::vector<pleat::Change<Payload>> changes;
    while (collection_.Read(kAll, cursor_, 100, changes) == pleat::ReadChanges::kMore) {
    }
    for (const pleat::Change<Payload>& change : changes) {
      if (change.cause == pleat::Cause::kRefreshed) continue;
      const auto seconds = static_cast<int>((change.at - kBegin) / 1s);
      std::printf("%2d:%02d:%02d  %s of %s: %s%s %s, %zu now\n", seconds / 3600, seconds / 60 % 60,
                  seconds % 60, what_.c_str(), change.series.c_str(), change.id.c_str(),
                  Shown(change.payload).c_str(), std::string(CauseName(change.cause)).c_str(),
                  change.count);
    }
  }

 private:
  std::string what_;
  Collection collection_;
  pleat::ChangeCursor cursor_;
};
template <class Payload>
Feed(std::string_view, pleat::LiveSet<Payload>) -> Feed<pleat::LiveSet<Payload>, Payload>;
template <class Payload>
Feed(std::string_view, pleat::Presence<Payload>) -> Feed<pleat::Presence<Payload>, Payload>;

int main() {
  auto engine = *pleat::Engine::Open({.partitions = 4});
  pleat::LiveSet<> contributions(*engine, "contributions", {.ttl = 24h});
  pleat::LiveSet<> contributors(*engine, "contributors", {.ttl = 30min});
  pleat::LiveSet<News> news(*engine, "news", {.ttl = 5min});
  pleat::Presence<> visitors(*engine, "visitors", {.ttl = 75s, .grace = 30s});
  Feed contributions_feed("contributions", contributions);
  Feed contributors_feed("contributors", contributors);
  Feed news_feed("news", news);
  Feed visitors_feed("visitors", visitors);
  const auto print = [&] {
    contributions_feed.Print();
    contributors_feed.Print();
    news_feed.Print();
    visitors_feed.Print();
  };

  // A service has a driver (asio.h) that sleeps until the next deadline. Here time is a number of
  // ours, so this program prints the same each time.
  const auto pass_until = [&](pleat::EngineTime to) {
    for (auto due = engine->NextDeadline(); due && *due <= to; due = engine->NextDeadline()) {
      engine->Advance(*due);
      print();
    }
    engine->Advance(to);
  };

  // One event feeds two live sets: each contribution counts by itself, and its author once.
  const auto contribute = [&](std::string_view id, std::string_view author, pleat::EngineTime at) {
    pass_until(at);
    contributions.Add("pleat", {.id = id}, at);
    contributors.Add("pleat", {.id = author}, at);
    print();
  };
  engine->Advance(kBegin);
  const uint64_t tab = visitors.Enter("pleat", "cy", "tab 1", kBegin).generation;
  print();
  // A browser says every 30 seconds that its page is still open.
  const auto beat = [&](pleat::EngineTime at) {
    pass_until(at);
    visitors.Beat("pleat", "cy", "tab 1", tab, at);
  };

  beat(kBegin + 30s);
  contribute("commit 1", "ann", kBegin + 40s);
  beat(kBegin + 1min);  // the last one: cy has gone
  contribute("commit 2", "ben", kBegin + 10min);
  contribute("commit 3", "ann", kBegin + 20min);
  news.Add("pleat", {.id = "n1", .payload = {"Version 1 is out"}}, kBegin + 20min);
  news.Add("pleat", {.id = "n2", .payload = {"Wrong"}}, kBegin + 20min);
  print();
  pass_until(kBegin + 21min);
  news.Remove("pleat", "n2");
  print();

  pass_until(kBegin + 1h);
  std::printf("after an hour: %zu contributions in 24 hours, %zu of them in the last 45 minutes\n",
              contributions.Count("pleat"), contributions.CountSince("pleat", kBegin + 15min));

  pass_until(kBegin + 25h);
  std::printf("after a day: %zu contributions\n", contributions.Count("pleat"));
}
