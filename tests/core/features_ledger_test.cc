// The ledger and its ratios, and the options that do not make sense.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/core/features.h"

namespace pleat {
namespace {

using namespace std::chrono_literals;
using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;

TEST_F(Features, LedgerAddsUp) {
  const std::string too_long(kKeyBytesMax + 1, 'k');
  TickRules rules = Ids();
  rules.ends = StartAndEndMarks().ends;
  Open({.quiet_period = 10s,
        .max_wait = kForever,
        .max_events = 3,
        .edge = Edge::kBoth,
        .partial_every = 4s,
        .late = {.allowed_lateness = 20s},
        .limits = {.max_groups = 2}},
       {.future_limit = 1h}, rules);
  Advance(0s);
  EXPECT_EQ(Fold({{"a", 1, 0s, {.id = "1"}},
                  {"a", 1, 1s, {.id = "1"}},
                  {"a", 2, 1s, {.id = "1"}},
                  {"a", 2, 1s, {.id = "2"}},
                  {"b", 1, 2s, {.id = "1"}},
                  {"c", 1, 2s, {.id = "1"}},
                  {"a", 5, 3601s, {.id = "5"}},
                  {too_long, 1, 0s, {.id = "1"}}}),
            "opened duplicate conflict folded opened over_limit future over_limit");
  EXPECT_EQ(Columns(),
            "events 8 opened 2 folded 1 future 1 over_limit 2 duplicate 1 conflict 1 "
            "partial 2 open 2 ready 2");
  Advance(4s);  // a partial of a; b has said all it has
  EXPECT_TRUE(Cancel("b"));
  EXPECT_EQ(Fold({{"a", 3, 5s, {.id = "3"}}}), "folded");  // the third: closed
  EXPECT_EQ(Columns(),
            "events 9 opened 2 folded 2 future 1 over_limit 2 duplicate 1 conflict 1 closed 1 "
            "cancelled 1 partial 3 ready 4");
  Advance(30s);
  EXPECT_EQ(
      Fold({{"d", 1, 9s, {.id = "1"}}, {"d", 1, 10s, {.id = "1"}}, {"e", 1, 30s, {.id = "1"}}}),
      "late opened opened");  // d was overdue
  EXPECT_THAT(Pop(), ElementsAre("a [1] leading 0 0 0 r1+", "b [1] leading 2 2 0 r1+",
                                 "a [1 2] partial 0 1 4 r2+", "a [1 2 3] max_events 0 5 4 r3",
                                 "d [1] leading 10 10 30 r1+", "e [1] leading 30 30 30 r1+"));
  EXPECT_EQ(
      Columns(),
      "events 12 opened 4 folded 2 late 1 future 1 over_limit 2 duplicate 1 conflict 1 closed 2 "
      "cancelled 1 silent 1 partial 5 popped 6 open 1");

  // What was not counted: an event that came after the end.
  Stop();
  EXPECT_EQ(Fold({{"f", 1, 30s, {.id = "1"}}}), "stopped");
  EXPECT_EQ(ledger().events, 12u);
}

TEST_F(Features, LedgerAddsUpWithCorrections) {
  Open({.quiet_period = 10s,
        .max_wait = kForever,
        .late = {.allowed_lateness = 5s, .on_late = OnLate::kCorrect}},
       {.axis = Axis::kEvent});
  EXPECT_EQ(Fold({{"a", 1, 0s}, {"b", 2, 20s}, {"a", 3, 1s}, {"b", 4, 16s}}),
            "opened opened corrected folded");
  Advance(20s);  // what is due is counted as closed when it is visited
  EXPECT_EQ(Columns(), "events 4 opened 2 folded 1 corrected 1 closed 1 open 1 ready 2");
  EXPECT_EQ(Pop(1).size(), 1u);
  EXPECT_EQ(Columns(), "events 4 opened 2 folded 1 corrected 1 closed 1 popped 1 open 1 ready 1");
}

TEST_F(Features, LedgersAddUpColumnByColumn) {
  Ledger sum{.events = 8,
             .opened = 1,
             .folded = 1,
             .late = 1,
             .future = 1,
             .over_limit = 1,
             .duplicate = 1,
             .conflict = 1,
             .corrected = 1,
             .closed = 1,
             .partial = 1,
             .popped = 1,
             .ready = 2,
             .emissions = {1, 1, 1}};
  EXPECT_TRUE(sum.Balances());
  const Ledger one = sum;
  sum += one;
  EXPECT_TRUE(sum.Balances());
  EXPECT_EQ(sum.events, 16u);
  for (uint64_t Ledger::* column :
       {&Ledger::events, &Ledger::opened, &Ledger::folded, &Ledger::late, &Ledger::future,
        &Ledger::over_limit, &Ledger::duplicate, &Ledger::conflict, &Ledger::corrected,
        &Ledger::closed, &Ledger::cancelled, &Ledger::silent, &Ledger::partial, &Ledger::popped,
        &Ledger::open, &Ledger::ready}) {
    Ledger wrong = sum;
    wrong.*column += 1;
    EXPECT_FALSE(wrong.Balances());
  }
}

// What Open() says to options, with rules that listen to nothing unless said.
std::string Error(const FolderOptions& options, const TickRules& rules = {}) {
  const auto engine = *Engine::Open({.partitions = 4});
  const auto folder = Folder<Tick, Values>::Open(*engine, "f", options, rules);
  if (folder.ok()) return "";
  EXPECT_EQ(folder.status().code(), absl::StatusCode::kInvalidArgument);
  return std::string(folder.status().message());
}

TEST_F(Features, OpenNamesTheOptionThatIsOutOfRange) {
  const auto error = [](auto set) {
    FolderOptions options{.quiet_period = 1s, .max_wait = 1s};
    set(options);
    return Error(options);
  };
  using O = FolderOptions;
  EXPECT_EQ(error([](O&) {}), "");
  EXPECT_THAT(error([](O& o) { o.quiet_period = 0s; }), HasSubstr("quiet_period"));
  EXPECT_THAT(error([](O& o) { o.quiet_period = -1us; }), HasSubstr("quiet_period"));
  EXPECT_THAT(error([](O& o) { o.max_wait = 0s; }), HasSubstr("max_wait"));
  EXPECT_THAT(error([](O& o) { o.max_wait = -1s; }), HasSubstr("max_wait"));
  for (const Duration floor : {Duration{-1}, Duration{1s}, Duration{2s}}) {
    EXPECT_THAT(error([&](O& o) { o.quiet_floor = floor; }), HasSubstr("quiet_floor"));
  }
  EXPECT_THAT(error([](O& o) { o.quiet_period = kForever, o.quiet_floor = 1s; }),
              HasSubstr("quiet_floor"));
  EXPECT_THAT(error([](O& o) { o.max_events = 0; }), HasSubstr("max_events"));
  EXPECT_THAT(error([](O& o) { o.max_group_bytes = 0; }), HasSubstr("max_group_bytes"));
  EXPECT_THAT(error([](O& o) { o.partial_every = 0s; }), HasSubstr("partial_every"));
  EXPECT_THAT(error([](O& o) { o.partial_every = -1us; }), HasSubstr("partial_every"));
  EXPECT_THAT(error([](O& o) { o.late.allowed_lateness = -1us; }),
              HasSubstr("late.allowed_lateness"));
  EXPECT_THAT(error([](O& o) { o.limits.max_groups = 3; }), HasSubstr("limits.max_groups"));
  EXPECT_THAT(error([](O& o) { o.limits.max_bytes = 3; }), HasSubstr("limits.max_bytes"));
  EXPECT_THAT(error([](O& o) { o.limits.max_backlog = 3; }), HasSubstr("limits.max_backlog"));
  EXPECT_THAT(error([](O& o) { o.leases.max_deliveries = 0; }), HasSubstr("leases.max_deliveries"));
  EXPECT_THAT(error([](O& o) { o.leases.max_leased = 3; }), HasSubstr("leases.max_leased"));
  EXPECT_THAT(error([](O& o) { o.leases.max_age = 0s; }), HasSubstr("leases.max_age"));
  EXPECT_THAT(error([](O& o) { o.leases.max_nack_delay = 0s; }),
              HasSubstr("leases.max_nack_delay"));
  EXPECT_THAT(error([](O& o) { o.leases.max_dead_letters = 3; }),
              HasSubstr("leases.max_dead_letters"));
}

TEST_F(Features, OpenNamesTheOptionsThatDoNotGoTogether) {
  const FolderOptions plain{.quiet_period = 1s, .max_wait = 1s};
  FolderOptions options = plain;
  options.edge = Edge::kLeading;
  options.partial_every = 1s;
  EXPECT_THAT(Error(options), AllOf(HasSubstr("partial_every"), HasSubstr("kLeading")));
  options.edge = Edge::kBoth;
  EXPECT_EQ(Error(options), "");

  for (OnLate on_late : {OnLate::kFold, OnLate::kCorrect}) {
    options = plain;
    options.late.on_late = on_late;
    EXPECT_THAT(Error(options), AllOf(HasSubstr("on_late"), HasSubstr("allowed_lateness")));
    options.late.allowed_lateness = 1s;
    EXPECT_EQ(Error(options), "");
    EXPECT_THAT(Error(options, Ids()), HasSubstr("on_late"));
  }
  EXPECT_THAT(Error(plain, Ids()), HasSubstr("allowed_lateness"));
  options = plain;
  options.late.allowed_lateness = 0s;
  EXPECT_EQ(Error(options, Ids()), "");
}

// Can be moved, not copied.
struct Owner {
  std::unique_ptr<int> last;
  void Fold(const Tick& tick) noexcept { last = std::make_unique<int>(tick.value); }
};

TEST_F(Features, OpenNamesTheOptionThatNeedsACopyableState) {
  auto engine = *Engine::Open({});
  const auto error = [&](const FolderOptions& options) {
    return std::string(Folder<Tick, Owner>::Open(*engine, "f", options).status().message());
  };
  FolderOptions options{.quiet_period = 1s, .max_wait = 1s};
  options.partial_every = 1s;
  EXPECT_THAT(error(options), HasSubstr("partial_every"));
  options.partial_every = kForever;
  for (Edge edge : {Edge::kLeading, Edge::kBoth}) {
    options.edge = edge;
    EXPECT_THAT(error(options), HasSubstr("edge"));
  }
  options.edge = Edge::kTrailing;
  EXPECT_EQ(error(options), "");
}

}  // namespace
}  // namespace pleat
