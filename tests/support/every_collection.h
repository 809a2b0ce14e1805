// An engine with a collection of every kind, and a day in its life: for tests of what is stored.
//
//   EveryCollection all({.axis = Axis::kEvent, .rich = true});
//   all.Live();        // the same calls each time
//   all.Survive();     // calls of every kind that any state has to stand
//
// Everything is fixed, and random numbers, too, but for one: the same calls make the same bytes.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <pleat/folder.h>
#include <pleat/json.h>
#include <pleat/live_set.h>
#include <pleat/presence.h>
#include <pleat/rollup.h>
#include <pleat/rollup_values.h>
#include <pleat/snapshot.h>
#include <pleat/stats.h>

#include "tests/support/bytes.h"
#include "tests/support/check_whole.h"
#include "tests/support/start.h"

namespace pleat::inline v0_1 {

struct Sale {
  int64_t amount;
  std::string_view page;
};

struct Sales {
  int64_t sum = 0;
  std::vector<std::string> pages;
  std::optional<double> largest;

  void Fold(const Sale& sale) noexcept {
    sum = static_cast<int64_t>(static_cast<uint64_t>(sum) + static_cast<uint64_t>(sale.amount));
    pages.emplace_back(sale.page);
    largest = std::max(largest.value_or(0), static_cast<double>(sale.amount));
  }
  size_t HeapBytes() const noexcept { return pages.size() * sizeof(std::string); }
  template <class F>
  void Stored(F& f) {
    f(sum, pages, largest);
  }
};

struct LifeChoice {
  Axis axis = Axis::kArrival;
  // Whether all is on that keeps state of its own: ids, learning, measurements, partials,
  // resolutions, clears, checkpoints.
  bool rich = false;
  // Whether lines merge by distinct(), whose key each collection draws by itself: then bytes differ.
  bool distinct = false;
};

class EveryCollection {
 public:
  static constexpr uint64_t kSource = 7;

  explicit EveryCollection(const LifeChoice& choice)
      : choice_(choice),
        engine_(Engine::Open(EngineOf(choice)).value()),
        sales_(*engine_, "sales", FolderOf(choice), RulesOf(choice)),
        pages_(*engine_, "pages", LiveSetOf(choice)),
        readers_(*engine_, "readers", {.ttl = std::chrono::seconds(75)}),
        plays_(*engine_, "plays", RollupOf(choice)),
        lines_(JsonFolder::Open(*engine_, "lines", SpecOf(choice)).value()) {}

  Engine& engine() { return *engine_; }
  Folder<Sale, Sales>& sales() { return sales_; }
  LiveSet<std::string>& pages() { return pages_; }
  Presence<std::string>& readers() { return readers_; }
  RollupCounter& plays() { return plays_; }
  JsonFolder& lines() { return *lines_; }

  absl::Status Restore(std::string_view bytes, uint64_t skip_numbers = 0) {
    StringSource source(bytes);
    return RestoreSnapshot(*engine_, source, {.skip_numbers = skip_numbers});
  }
  std::string Snapshot(uint64_t identity = 5, bool compress = false) {
    StringSink sink;
    const absl::Status taken =
        TakeSnapshot(*engine_, sink, {.identity = identity, .compress = compress});
    return taken.ok() ? sink.bytes : std::string(taken.message());
  }

  // Some events of each collection. `steps`: how far it goes; there are 4.
  void Live(int steps = 4) {
    using std::chrono_literals::operator""s;
    FoldSome(kT0, 0);
    if (steps < 2) return;
    Advance(kT0 + 90s);
    LendSome(kT0 + 90s);
    if (steps < 3) return;
    FoldSome(kT0 + 100s, 10);
    const uint64_t tab = readers_.Enter("page 1", "ann", "tab 2", "busy", kT0 + 100s).generation;
    readers_.Leave("page 1", "ann", "tab 2", tab, kT0 + 101s);
    pages_.Remove("wiki", "page 2", {.at = kT0 + 102s});
    if (steps < 4) return;
    Advance(kT0 + 130s);
    (void)sales_.Pop(1);
    (void)plays_.Publish();
    plays_.CloseAll();
    FoldSome(kT0 + 140s, 20);
  }

  // Calls of every kind, whatever there is. Every book is whole after each.
  void Survive() {
    using std::chrono_literals::operator""s;
    CheckAll();
    Use(kT0 + 150s);
    const EngineTime now = std::max(engine_->now(), kT0 + 150s);
    for (const Duration ahead : {Duration{1}, Duration{70'000'000}, Duration{3'600'000'000}}) {
      Use(std::min(SaturatingAdd(now, ahead), kEndOfTime));
    }
    sales_.CloseAll();
    plays_.CloseAll();
    lines_->CloseAll();
    (void)sales_.Pop(1000);
    (void)plays_.Pop(1000);
    CheckAll();
  }

  void CheckAll() {
    CheckWhole(sales_.any());
    CheckWhole(plays_.any());
    pages_.any().CheckWhole();
    readers_.any().CheckWhole();
  }

 private:
  static EngineOptions EngineOf(const LifeChoice& choice) {
    EngineOptions options;
    options.partitions = 2;
    options.axis = choice.axis;
    if (choice.axis == Axis::kEvent) options.watermark_delay = std::chrono::seconds(2);
    options.future_limit = kForever;
    options.huge_pages = HugePages::kOff;
    options.internals = {.hash_key = {{1, 2}}, .epoch = 3};
    return options;
  }
  static FolderOptions FolderOf(const LifeChoice& choice) {
    using std::chrono_literals::operator""s;
    FolderOptions options{.quiet_period = 60s, .max_wait = 3600s};
    options.late = {.allowed_lateness = 40s,
                    .on_late = choice.rich ? OnLate::kReject : OnLate::kCorrect};
    options.leases.max_deliveries = 2;
    if (!choice.rich) return options;
    options.quiet_floor = 5s;
    options.edge = Edge::kBoth;
    options.partial_every = 25s;
    options.measure = {.gap_stats = true, .max_ghosts = 8};
    return options;
  }
  static FoldRules<Sale, Sales> RulesOf(const LifeChoice& choice) {
    FoldRules<Sale, Sales> rules;
    if (!choice.rich) return rules;
    rules.id = [](const Sale& sale) { return sale.page; };
    rules.key_class = [](std::string_view key, const Sale&) {
      return static_cast<uint32_t>(key.size() % 4);
    };
    return rules;
  }
  static LiveSetOptions LiveSetOf(const LifeChoice& choice) {
    using std::chrono_literals::operator""s;
    LiveSetOptions options{.ttl = 60s};
    if (choice.rich) options.retention = 100s;
    return options;
  }
  static RollupOptions RollupOf(const LifeChoice& choice) {
    using std::chrono_literals::operator""s;
    RollupOptions options;
    options.windows = {10s};
    options.allowed_lateness = 20s;
    options.leases.max_deliveries = 2;
    options.on_late = OnLateAdd::kCorrect;
    options.retention = 200s;
    if (!choice.rich) return options;
    options.windows = {10s, 60s};
    options.clears = true;
    options.forget_after = 300s;
    options.on_late = OnLateAdd::kReject;
    options.store = std::make_shared<MemoryCheckpointStore>();
    return options;
  }
  static FoldSpec SpecOf(const LifeChoice& choice) {
    std::string document =
        R"({"key":"k","quiet":"60s","future-limit":"inf","allowed-lateness":"50s",)";
    if (choice.axis == Axis::kEvent) document += R"("time":"t","time-unit":"s","reorder":"2s",)";
    document += choice.rich
                    ? R"x("id":"id","rest":"last","raw":2,"emission-id":true,"max-bytes":900,
                         "merge":["a=array(v,3)","c=concat(s)","m=max(n)","set=set(v,3)",
                                  "mean=mean(n)")x"
                    : R"x("on-late":"correct","rest":"first",
                         "merge":["n=count()","sum=sum(n)","first=first(v)","keys=keys(v)",
                                  "set=set(v)","min=min(v)")x";
    document += choice.distinct ? R"x(,"d=distinct(v,4)"]})x" : "]}";
    return ParseFoldSpec(document).value();
  }

  void FoldSome(EngineTime at, int from) {
    using std::chrono_literals::operator""s;
    static const std::vector<std::string> keys = {"ann", "ben", "cid", "a key that is not inline"};
    static const std::vector<std::string> ids = {"page 1", "page 2", "page 3"};
    std::vector<KeyedEvent<Sale>> batch;
    for (int i = from; i < from + 4; ++i) {
      const auto key = static_cast<size_t>(i) % keys.size();
      batch.push_back({keys[key], at + 3s * (i - from), {i * 11, ids[key % 3]}});
    }
    sales_.FoldBatch(batch, {}, {},
                     SourcePosition{.source = kSource, .offset = static_cast<uint64_t>(from)});
    sales_.Fold("ann", {from, "one more"}, at + 4s);
    for (int i = 0; i < 3; ++i) {
      const std::string& id = ids[static_cast<size_t>(i)];
      pages_.Add("wiki", {.id = id, .version = uint64_t{1}, .payload = "v"}, at + 2s * i);
      pages_.Add("news", {.id = id, .ttl = 20s * (i + 1), .payload = id}, at + 2s * i);
      readers_.Enter("page 1", i == 0 ? "ann" : "ben", id, "here", at + 2s * i);
      plays_.Add("song", i == 2 ? Delta(0.5) : Delta(i + from), at + 7s * i, id);
      plays_.Add(id, 2, at + 7s * i);
    }
    FoldLines(at, from);
  }

  void FoldLines(EngineTime at, int from) {
    const auto seconds = std::to_string(
        std::chrono::duration_cast<std::chrono::seconds>(at - FromUnix(Duration{0})).count());
    std::string text;
    for (int i = from; i < from + 3; ++i) {
      const std::string n = std::to_string(i);
      text += R"({"k":")" + std::string(i % 2 == 0 ? "even" : "odd") + R"(","t":)" + seconds +
              R"(,"id":"i)" + n + R"(","n":)" + n + R"(,"s":"text )" + n + R"(","v":[)" + n +
              R"(,{"deep":[true,null,1.5e3]}],"x )" + n + R"(":"rest"})" + "\n";
    }
    text += "no line\n";
    const size_t size = text.size();
    text.append(kLinePaddingBytes, ' ');
    lines_->FoldLines(std::string_view(text).substr(0, size), at,
                      [](const UnusualLine&) { return true; });
  }

  void LendSome(EngineTime at) {
    using std::chrono_literals::operator""s;
    const LeaseTime now(at);
    std::vector<Leased<Sales>> lent = sales_.Lease(4, 30s, now);
    if (lent.size() > 0) (void)sales_.Ack(lent[0].delivery.token);
    if (lent.size() > 1) (void)sales_.Nack(lent[1].delivery.token, 5s, now);
    if (lent.size() > 2) (void)sales_.Nack(lent[2].delivery.token);
    std::vector<Leased<CountedWindow>> windows = plays_.Lease(3, 30s, now);
    if (windows.size() > 1) (void)plays_.Nack(windows[1].delivery.token, 5s, now);
    for (Leased<Sales>& again : sales_.Lease(1, 30s, now)) {
      (void)sales_.Nack(again.delivery.token);  // the second delivery: a dead letter
    }
  }

  void Advance(EngineTime now) {
    (void)engine_->Advance(now);
    (void)engine_->AdvanceLeases(LeaseTime(now));
  }

  void Use(EngineTime now) {
    using std::chrono_literals::operator""s;
    Advance(now);
    if (now < kEndOfTime - 3600s) FoldSome(now, 3);
    LendSome(now);
    (void)sales_.EndLeases();
    (void)sales_.Pop(2);
    (void)sales_.Flush("ben");
    (void)sales_.Cancel("cid");
    ScanCursor letters;
    std::vector<DeadLetter<Sales>> dead;
    (void)sales_.ScanDeadLetters(letters, 10, dead);
    for (const DeadLetter<Sales>& letter : dead) (void)sales_.RetryDeadLetter(letter.death.token);
    (void)sales_.ledger();
    (void)sales_.gap_stats();
    (void)pages_.Touch("wiki", "page 1", now);
    (void)pages_.SetTtl("news", 45s);
    (void)pages_.List("wiki");
    (void)pages_.TopSeries(3);
    (void)pages_.Clear("news");
    for (const auto& user : readers_.List("page 1")) {
      for (const auto& each : user.connections) {
        (void)readers_.Beat("page 1", user.id, each.id, each.generation, now);
      }
    }
    if (choice_.rich) (void)plays_.Clear("song", now);
    (void)plays_.Accurate("song");
    (void)plays_.History("song", kT0, now);
    (void)plays_.Top(3, now);
    (void)plays_.Publish();
    (void)plays_.Pop(2);
    std::string out;
    lines_->Scan([&](std::string_view text) { out += text; });
    (void)lines_->Pop(3, out);
    (void)lines_->absent_paths();
    CheckAll();
  }

  const LifeChoice choice_;
  const std::unique_ptr<Engine> engine_;
  Folder<Sale, Sales> sales_;
  LiveSet<std::string> pages_;
  Presence<std::string> readers_;
  RollupCounter plays_;
  std::unique_ptr<JsonFolder> lines_;
};

}  // namespace pleat::inline v0_1
