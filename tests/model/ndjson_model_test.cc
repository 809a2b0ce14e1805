// The model of `pleat fold` against the documents: small inputs whose output was worked out by hand from
// semantics.md and json.h, so that model and program cannot agree on something that nobody wrote.
#include "tests/model/ndjson_model.h"

#include <chrono>
#include <functional>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "tests/support/plain_time.h"

namespace pleat::inline v0_1 {
namespace {

using namespace std::chrono_literals;

NdjsonOptions SixEvents() {
  NdjsonOptions options;
  options.key = {{.name = "account_id", .path = {"account_id"}}};
  options.time = {"t"};
  options.time_unit = "s";
  options.folder.quiet_period = std::chrono::minutes(5);
  return options;
}

TEST(NdjsonModel, FoldsTheFirstExampleOfTheDocumentation) {
  NdjsonOptions options = SixEvents();
  options.merges = {{.name = "metrics", .reducer = "keys", .path = {"metrics"}}};
  options.meta = false;
  NdjsonModel model(options);
  std::string out;
  for (const char* line :
       {R"({"t":1,"account_id":"account_1","metrics":{"likes":10,"shares":5}})",
        R"({"t":1,"account_id":"account_1","metrics":{"comments":25,"impressions":16}})",
        R"({"t":1,"account_id":"account_1","metrics":{"likes":5,"shares":2}})",
        R"({"t":1,"account_id":"account_1","metrics":{"comments":33,"impressions":8}})",
        R"({"t":1,"account_id":"account_2","metrics":{"likes":12,"shares":15}})",
        R"({"t":1,"account_id":"account_2","metrics":{"likes":3,"shares":1}})"}) {
    EXPECT_TRUE(model.AddLine(line, out));
  }
  model.End(out);
  EXPECT_EQ(out,
            "{\"account_id\":\"account_1\",\"metrics\":[\"likes\",\"shares\",\"comments\","
            "\"impressions\"]}\n"
            "{\"account_id\":\"account_2\",\"metrics\":[\"likes\",\"shares\"]}\n");
}

TEST(NdjsonModel, SumsIntegersExactlyAndKeepsSpellings) {
  NdjsonOptions options = SixEvents();
  for (const char* reducer : {"sum", "max", "first", "set", "mean", "count"}) {
    options.merges.push_back({.name = reducer, .reducer = reducer, .path = {"v"}});
  }
  options.meta = false;
  NdjsonModel model(options);
  std::string out;
  for (const char* v : {"9007199254740993", "9", "null", "\"x\"", "1e309"}) {
    EXPECT_TRUE(model.AddLine(R"({"t":1,"account_id":null,"v":)" + std::string(v) + "}", out));
  }
  model.End(out);
  EXPECT_EQ(out,
            "{\"account_id\":null,\"sum\":1.7976931348623157e+308,\"max\":1e309,"
            "\"first\":9007199254740993,\"set\":[9007199254740993,9,\"x\",1e309],"
            "\"mean\":5.992310449541053e+307,\"count\":4}\n");
}

TEST(NdjsonModel, FlagsASumThatLeaves64Bits) {
  NdjsonOptions options = SixEvents();
  options.merges = {{.name = "s", .reducer = "sum", .path = {"v"}}};
  NdjsonModel model(options);
  std::string out;
  for (const char* v : {"9223372036854775807", "1", "-5"}) {
    EXPECT_TRUE(model.AddLine(R"({"t":1,"account_id":1.0,"v":)" + std::string(v) + "}", out));
  }
  model.End(out);
  EXPECT_EQ(out,
            "{\"account_id\":1.0,\"s\":9223372036854775807,\"_fold\":{\"count\":3,"
            "\"first\":\"1970-01-01T00:00:01.000000Z\",\"last\":\"1970-01-01T00:00:01.000000Z\","
            "\"closed\":\"1970-01-01T00:00:01.000000Z\",\"reason\":\"end\",\"saturated\":[\"s\"]}}"
            "\n");
}

// Events of key `k` at second `t`, ten seconds of quiet, and what happened to the groups as a short text:
// "a 2 quiet@11" is a group of key "a" with two events that closed at second 11 for quiet.
class Story {
 public:
  explicit Story(const std::function<void(NdjsonOptions&)>& change) {
    options_.key = {{.name = "k", .path = {"k"}}};
    options_.time = {"t"};
    options_.time_unit = "s";
    options_.folder.quiet_period = 10s;
    change(options_);
  }

  // What came out for these lines, each "t k MORE", where MORE are members as JSON.
  std::string Of(const std::vector<std::string>& lines) {
    NdjsonModel model(options_);
    std::string out;
    for (const std::string& line : lines) {
      const size_t key = line.find(' ') + 1;
      const size_t more = std::min(line.find(' ', key), line.size());
      model.AddLine("{\"t\":" + line.substr(0, key - 1) + ",\"k\":\"" +
                        line.substr(key, more - key) + '"' +
                        (more < line.size() ? "," + line.substr(more + 1) : "") + "}",
                    out);
    }
    model.End(out);
    EXPECT_TRUE(model.ledger().Balances());
    stats_ = ParsePlainJson(model.Stats()).value();
    std::string story;
    for (size_t begin = 0; begin < out.size(); begin = out.find('\n', begin) + 1) {
      story += (story.empty() ? "" : ", ") +
               Short(ParsePlainJson(out.substr(begin, out.find('\n', begin) - begin)).value());
    }
    return story;
  }

  std::string Stat(const std::string& name) const { return stats_.Member(name)->text; }

 private:
  // Merges, rest and what else is in _fold follow as JSON.
  std::string Short(const PlainJson& line) const {
    const PlainJson& meta = *line.Member("_fold");
    const auto seconds = [&](const char* name) {
      const EngineTime at = ReadPlainTimestamp(meta.Member(name)->text).value();
      return std::to_string(at.time_since_epoch() / 1s);
    };
    std::string out = line.Member("k")->text + ' ' + meta.Member("count")->text + ' ' +
                      meta.Member("reason")->text + '@' + seconds("closed");
    for (size_t i = 1; i + 1 < line.names.size(); ++i) {
      out += ' ' + line.names[i] + '=' + WritePlainJson(line.elements[i]);
    }
    for (size_t i = 5; i < meta.names.size(); ++i) {
      out += ' ' + meta.names[i] + ':' + WritePlainJson(meta.elements[i]);
    }
    return out;
  }

  NdjsonOptions options_;
  PlainJson stats_;
};

TEST(NdjsonModel, EndMarkClosesBehindItsEvent) {
  Story story([](NdjsonOptions& o) { o.end_when = ReadPlainCondition("s=done"); });
  EXPECT_EQ(story.Of({"0 a", R"(1 a "s":"done")", "2 a"}), "a 2 end_mark@1, a 1 end@2");
}

TEST(NdjsonModel, StartMarkClosesBeforeItsEvent) {
  Story story([](NdjsonOptions& o) { o.start_when = ReadPlainCondition("s=new"); });
  EXPECT_EQ(story.Of({R"(0 a "s":"new")", "1 a", R"(2 a "s":"new")"}),
            "a 2 start_mark@2, a 1 end@2");
}

TEST(NdjsonModel, ConditionIsTestedAfterEachFold) {
  Story story([](NdjsonOptions& o) {
    o.merges = {{.name = "total", .reducer = "sum", .path = {"v"}}};
    o.close_when = ReadPlainCondition("total>=10");
  });
  EXPECT_EQ(story.Of({R"(0 a "v":4)", R"(1 a "v":6)", R"(2 a "v":9)"}),
            "a 2 condition@1 total=10, a 1 end@2 total=9");
}

TEST(NdjsonModel, FirstOfTheReasonsThatHoldIsNamed) {
  const std::vector<std::string> reasons = {"end_mark", "condition", "max_events", "max_bytes",
                                            "quiet"};
  for (size_t first = 0; first < reasons.size(); ++first) {
    Story story([first](NdjsonOptions& o) {
      if (first <= 0) o.end_when = ReadPlainCondition("s=x");
      o.merges = {{.name = "s", .reducer = "last", .path = {"s"}}};
      if (first <= 1) o.close_when = ReadPlainCondition("s=x");
      if (first <= 2) o.folder.max_events = 1;
      if (first <= 3) o.folder.max_group_bytes = 1;
    });
    // The second event opens its group overdue.
    const std::string closed = first == 4 ? "@15" : "@99";
    const std::string out = story.Of({R"(99 b "s":"x")", R"(5 a "s":"x")"});
    EXPECT_NE(out.find("a 1 " + reasons[first] + closed), std::string::npos) << out;
  }
}

TEST(NdjsonModel, MaxBytesCountsLinesAsTheyCame) {
  Story story([](NdjsonOptions& o) { o.folder.max_group_bytes = 2 * 15 + 2; });
  EXPECT_EQ(story.Of({"0 a", "1 a", "2 a", "3 b", R"(4 b "x":"a long one")"}),
            "a 3 max_bytes@2, b 2 max_bytes@4");
}

TEST(NdjsonModel, NoEventMakesADeadlineEarlier) {
  Story story([](NdjsonOptions& o) { o.quiet = {"q"}; });
  EXPECT_EQ(story.Of({R"(0 a "q":"30s")", R"(5 a "q":"1s")", R"(40 b "q":null)", R"(50 c "q":5)",
                      R"(50 c "q":"0")", "60 c"}),
            "a 2 quiet@30, b 1 quiet@50, c 1 end@60");
  EXPECT_EQ(story.Stat("bad"), "2");
}

TEST(NdjsonModel, LeadingEdgeTellsTheFirstEventAndHoldsBackTheRest) {
  Story story([](NdjsonOptions& o) {
    o.folder.edge = Edge::kLeading;
    o.merges = {{.name = "n", .reducer = "count"}};
  });
  EXPECT_EQ(
      story.Of({"0 a", "1 a", "2 a", "20 a"}),
      "a 1 leading@0 n=1 partial:true revision:1, a 1 leading@20 n=1 partial:true revision:1");
  EXPECT_EQ(story.Stat("silent"), "2");
}

TEST(NdjsonModel, BothEdgesTellTheWholeGroupUnlessNothingFollowed) {
  Story story([](NdjsonOptions& o) { o.folder.edge = Edge::kBoth; });
  EXPECT_EQ(story.Of({"0 a", "1 a", "20 b"}),
            "a 1 leading@0 partial:true revision:1, a 2 quiet@11 partial:false revision:2, "
            "b 1 leading@20 partial:true revision:1");
  EXPECT_EQ(story.Stat("silent"), "1");
}

TEST(NdjsonModel, PartialsComeOnTheGridOfTheGroupIfSomethingIsNew) {
  Story story([](NdjsonOptions& o) { o.folder.partial_every = 4s; });
  // The grid of `a` is 4, 8, 12: nothing is new at 8, and 12 lies behind the deadline at 11.
  EXPECT_EQ(story.Of({"0 a", "1 a", "30 b"}),
            "a 2 partial@4 partial:true revision:1, a 2 quiet@11 partial:false revision:2, "
            "b 1 end@30 partial:false revision:1");
  // An event comes after the instant at which it comes.
  EXPECT_EQ(story.Of({"0 a", "4 a", "9 a"}),
            "a 1 partial@4 partial:true revision:1, a 2 partial@8 partial:true revision:2, "
            "a 3 end@9 partial:false revision:3");
}

TEST(NdjsonModel, PartialAtTheDeadlineIsNotCut) {
  Story story([](NdjsonOptions& o) { o.folder.partial_every = 10s; });
  EXPECT_EQ(story.Of({"0 a", "10 b"}),
            "a 1 quiet@10 partial:false revision:1, b 1 end@10 partial:false revision:1");
}

TEST(NdjsonModel, LeadingEventIsNotNewToAPartial) {
  Story story([](NdjsonOptions& o) {
    o.folder.edge = Edge::kBoth;
    o.folder.partial_every = 4s;
  });
  EXPECT_EQ(story.Of({"0 a", "5 a", "30 b"}),
            "a 1 leading@0 partial:true revision:1, a 2 partial@8 partial:true revision:2, "
            "a 2 quiet@15 partial:false revision:3, b 1 leading@30 partial:true revision:1");
}

TEST(NdjsonModel, WhatTimeBringsAboutIsInOrderOfInstantAndOpening) {
  Story story([](NdjsonOptions& o) { o.folder.partial_every = 7s; });
  // At 10 the first group closes and the second, opened at 3, has its partial: the first one first.
  EXPECT_EQ(story.Of({"0 a", "3 b", "11 c"}),
            "a 1 partial@7 partial:true revision:1, a 1 quiet@10 partial:false revision:2, "
            "b 1 partial@10 partial:true revision:1, b 1 end@11 partial:false revision:2, "
            "c 1 end@11 partial:false revision:1");
}

TEST(NdjsonModel, ControlLinesFlushOrCancelAndMoveTime) {
  Story story([](NdjsonOptions& o) {
    o.flush_when = ReadPlainCondition("do=flush");
    o.cancel_when = ReadPlainCondition(R"({"any":["do=cancel","both=true"]})");
  });
  EXPECT_EQ(story.Of({"0 a", "0 b", "0 c", R"(5 a "do":"flush")", R"(6 b "do":"cancel")",
                      R"(7 c "do":"flush","both":true)", R"(8 none "do":"flush")", "8 d",
                      R"(18 x "do":"flush")", R"(1 y "do":"flush")"}),
            "a 1 flush@5, d 1 quiet@18");
  EXPECT_EQ(story.Stat("control"), "6");
  EXPECT_EQ(story.Stat("cancelled"), "2");
  EXPECT_EQ(story.Stat("events"), "10");
}

TEST(NdjsonModel, IdsAreTakenOnceWhileTheirStampWouldBeAccepted) {
  Story story([](NdjsonOptions& o) {
    o.id = {"id"};
    o.folder.late.accept_limit = 5s;
  });
  EXPECT_EQ(story.Of({R"(0 a "id":1)", R"(0 a "id":1)", R"(0 b "id":1)", R"(0 a "id":"1")",
                      R"(1 a "id":1)", "1 a", R"(5 a  "id" : 1 )", R"(6 a "id":1)"}),
            "b 1 end@6, a 3 end@6");
  EXPECT_EQ(story.Stat("duplicate"), "1");
  EXPECT_EQ(story.Stat("conflict"), "2");
  EXPECT_EQ(story.Stat("bad"), "1");
}

TEST(NdjsonModel, LateEventsAreFoldedOrBecomeCorrections) {
  const std::vector<std::string> lines = {"1 a", "20 b", "2 a", "3 c", "20 a", "4 a"};
  const auto with = [](OnLate on_late) {
    return [on_late](NdjsonOptions& o) {
      o.folder.late.accept_limit = 5s;
      o.folder.late.on_late = on_late;
      o.emission_id = true;
    };
  };
  Story rejects(with(OnLate::kReject));
  EXPECT_EQ(rejects.Of(lines),
            R"(a 1 quiet@11 id:"0-0", b 1 end@20 id:"0-1", a 1 end@20 id:"0-2")");
  EXPECT_EQ(rejects.Stat("late"), "3");
  Story folds(with(OnLate::kFold));
  EXPECT_EQ(folds.Of(lines),
            R"(a 1 quiet@11 id:"0-0", a 1 quiet@12 id:"0-1", c 1 quiet@13 id:"0-2", )"
            R"(b 1 end@20 id:"0-3", a 2 end@20 id:"0-4")");
  EXPECT_EQ(folds.Stat("late_folded"), "3");
  Story corrects(with(OnLate::kCorrect));
  EXPECT_EQ(
      corrects.Of(lines),
      R"(a 1 quiet@11 id:"0-0", a 1 correction@20 corrects:"0-0" id:"0-1", )"
      R"(c 1 correction@20 corrects:null id:"0-2", a 1 correction@20 corrects:"0-0" id:"0-3", )"
      R"(b 1 end@20 id:"0-4", a 1 end@20 id:"0-5")");
  EXPECT_EQ(corrects.Stat("corrected"), "3");
}

TEST(NdjsonModel, WhatACorrectionNamesIsRememberedTenTimesAsLong) {
  Story story([](NdjsonOptions& o) {
    o.folder.late.accept_limit = 5s;
    o.folder.late.on_late = OnLate::kCorrect;
  });
  EXPECT_EQ(story.Of({"0 a", "160 b", "0 a", "161 b", "0 a"}),
            R"(a 1 quiet@10, a 1 correction@160 corrects:"0-0", a 1 correction@161 corrects:null, )"
            "b 2 end@161");
}

TEST(NdjsonModel, AtTheLimitTheGroupThatWouldCloseNextMakesRoom) {
  Story story([](NdjsonOptions& o) {
    o.folder.limits.max_groups = 2;
    o.folder.limits.on_limit = OnLimit::kEmitOldest;
  });
  EXPECT_EQ(story.Of({"0 a", "1 b", "2 a", "3 c"}), "b 1 limit@3, a 2 end@3, c 1 end@3");
  Story refuses([](NdjsonOptions& o) { o.folder.limits.max_groups = 2; });
  EXPECT_EQ(refuses.Of({"0 a", "1 b", "2 a", "3 c", "11 c"}),
            "b 1 quiet@11, a 2 end@11, c 1 end@11");
  EXPECT_EQ(refuses.Stat("refused"), "1");
}

TEST(NdjsonModel, StartMarkNeedsNoRoomForItsGroup) {
  Story story([](NdjsonOptions& o) {
    o.folder.limits.max_groups = 1;
    o.start_when = ReadPlainCondition("s=new");
  });
  EXPECT_EQ(story.Of({"0 a", R"(1 a "s":"new")", R"(2 b "s":"new")"}),
            "a 1 start_mark@1, a 1 end@2");
}

TEST(NdjsonModel, GroupThatGoesOnAfterAnEarlyEndHasReopened) {
  Story story([](NdjsonOptions& o) {
    o.folder.max_events = 2;
    o.end_when = ReadPlainCondition("s=done");
  });
  // Reopened: at 2, within the quiet of {0, 1}. Not: at 13, behind its end mark; at 40, 10 after 30.
  EXPECT_EQ(story.Of({"0 a", "1 a", "2 a", R"(3 a "s":"done")", "13 a", "30 a", "30 a", "40 a"}),
            "a 2 max_events@1, a 2 end_mark@3, a 1 quiet@23, a 2 max_events@30, a 1 end@40");
  EXPECT_EQ(story.Stat("reopened"), "1");
  EXPECT_EQ(story.Stat("corrected_folding_ratio"), "0.75");  // 3 / (8 - (5 - 1))
}

TEST(NdjsonModel, BoundedMergesKeepTheFirstAndSaySo) {
  Story story([](NdjsonOptions& o) {
    for (const char* reducer : {"array", "set", "distinct", "concat"}) {
      o.merges.push_back({.name = reducer, .reducer = reducer, .path = {"v"}, .bound = 3});
    }
    o.merges[3].separator = "-";
  });
  EXPECT_EQ(story.Of({R"(0 a "v":[1,null])", R"(0 a "v":1)", R"(0 a "v":null)"}),
            R"(a 3 end@0 array=[1,null,1] set=[1,null] distinct=2 concat="1")");
  EXPECT_EQ(story.Stat("mismatched"), "1");
  EXPECT_EQ(story.Of({R"(0 a "v":"x")", R"(0 a "v":true)", R"(0 a "v":1)", R"(0 a "v":"1")"}),
            R"(a 4 end@0 array=["x",true,1] set=["x",true,1] distinct=3 concat="x" )"
            R"(cut:["array","set","distinct","concat"])");
  EXPECT_EQ(story.Of({"0 a"}), R"(a 1 end@0 array=[] set=[] distinct=0 concat=null)");
}

TEST(NdjsonModel, RestIsEveryMemberThatNobodyTakes) {
  const std::vector<std::string> lines = {R"(1 a "y":1,"x":null,"v":{"x":5},"_raw":0)",
                                          R"(0 a "x":[2],"y":2)"};
  const auto with = [](const char* rest) {
    return [rest](NdjsonOptions& o) {
      o.rest = rest;
      o.merges = {{.name = "m", .reducer = "sum", .path = {"v", "x"}}};
    };
  };
  EXPECT_EQ(Story(with("first")).Of(lines), "a 2 end@1 m=5 y=2 x=[2]");
  EXPECT_EQ(Story(with("last")).Of(lines), "a 2 end@1 m=5 y=1 x=[2]");
}

TEST(NdjsonModel, RestStopsAt1024NamesAndSaysSo) {
  NdjsonOptions options = SixEvents();
  options.rest = "first";
  std::string members;
  for (int i = 0; i < 1022; ++i) members += ",\"m" + std::to_string(i) + "\":1";
  const auto cuts = [&](const std::string& more) {
    NdjsonModel model(options);
    std::string out;
    model.AddLine(R"({"t":0,"account_id":1)" + members + "}", out);
    model.AddLine(R"({"t":0,"account_id":1,"x":1,"m0":2,"y":1)" + more + "}", out);
    model.End(out);
    EXPECT_NE(out.find(R"("m1021":1,"x":1,"y":1,"_fold")"), std::string::npos);
    return out.ends_with(R"(,"cut":["_rest"]}})"
                         "\n");
  };
  EXPECT_FALSE(cuts(""));
  EXPECT_TRUE(cuts(",\"z\":1"));
}

TEST(NdjsonModel, RawKeepsTheFirstEventsWithoutTheirWhiteSpace) {
  Story story([](NdjsonOptions& o) { o.raw = 1; });
  EXPECT_EQ(story.Of({R"(0 a "x" : [ 1 ])", "1 a"}),
            R"(a 2 end@1 _raw=[{"t":0,"k":"a","x":[1]}] cut:["_raw"])");
}

TEST(PlainCondition, ComparesNumbersByValueAndTextByBytes) {
  const auto holds = [](const std::string& condition, const std::string& value) {
    return Holds(ReadPlainCondition(condition), [&](const std::string& path) {
      return path == "a.b" ? ParsePlainJson(value).value() : PlainJson{};
    });
  };
  for (const char* number : {"100", "1e2", "100.0", "0.1E+3", "10000e-2"}) {
    EXPECT_TRUE(holds("a.b=100", number)) << number;
    EXPECT_TRUE(holds(" a.b <= 1e2 ", number)) << number;
    EXPECT_FALSE(holds("a.b!=100", number)) << number;
    EXPECT_FALSE(holds("a.b<100", number)) << number;
  }
  EXPECT_TRUE(holds("a.b>9007199254740992", "9007199254740993"));
  EXPECT_TRUE(holds("a.b>-1e400", "-9e399"));
  EXPECT_TRUE(holds("a.b=0", "-0.0"));
  EXPECT_FALSE(holds("a.b=1", "\"1\""));
  EXPECT_TRUE(holds("a.b=\"1\"", "\"1\""));
  EXPECT_TRUE(holds("a.b=done", "\"d\\u006fne\""));
  EXPECT_TRUE(holds("a.b>z", "\"\\u00e9\""));
  EXPECT_FALSE(holds("a.b>=1", "\"2\""));
  EXPECT_FALSE(holds("a.b<1", "null"));
  EXPECT_TRUE(holds("a.b=true", "true"));
  EXPECT_TRUE(holds("nowhere=null", "1"));
  EXPECT_TRUE(holds("nowhere!=1", "1"));
  EXPECT_FALSE(holds("a.b=[]", "[]"));
  EXPECT_TRUE(holds("a.b!=null", "{}"));
}

TEST(PlainCondition, CombinesWithAllAnyAndNot) {
  const auto holds = [](const std::string& condition) {
    return Holds(ReadPlainCondition(condition), [](const std::string& path) {
      return PlainJson{.kind = PlainJson::Kind::kString, .text = path};
    });
  };
  EXPECT_TRUE(holds(R"({"all":["x=x",{"any":["x=y","y=y"]},{"not":"x=y"}]})"));
  EXPECT_FALSE(holds(R"({"all":["x=x","x=y"]})"));
  EXPECT_FALSE(holds(R"({"any":["x=y"]})"));
  EXPECT_TRUE(holds(R"("x<y"=x<y)"));
}

TEST(PlainTime, ReadsDurationsAndNothingElse) {
  EXPECT_EQ(ReadPlainDuration("1.5m"), 90s);
  EXPECT_EQ(ReadPlainDuration("0.29s"), 290ms);
  EXPECT_EQ(ReadPlainDuration("1.9us"), 1us);
  EXPECT_EQ(ReadPlainDuration("0"), 0s);
  EXPECT_EQ(ReadPlainDuration("inf"), kForever);
  for (const char* bad : {"", "s", "5", "-5s", "5 s", "1.s", ".5s", "1.2.3s", "5S", "1m30s"}) {
    EXPECT_EQ(ReadPlainDuration(bad), std::nullopt) << bad;
  }
}

}  // namespace
}  // namespace pleat::inline v0_1
