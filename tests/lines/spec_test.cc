#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <pleat/json.h>

#include "tests/lines/json_harness.h"

namespace pleat {
namespace {

using ::testing::ElementsAre;
using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::Pair;

std::string ErrorOf(std::string_view name, std::string_view text) {
  FoldSpec spec;
  return std::string(SetOption(spec, name, text).message());
}

FoldSpec Good() {
  FoldSpec spec;
  spec.event.key = {{"user", "user"}};
  spec.folder.quiet_period = std::chrono::minutes(5);
  return spec;
}

std::string ValidateError(const FoldSpec& spec) { return std::string(Validate(spec).message()); }

TEST(FoldSpec, KeyIsAListOfPathsWithOrWithoutNames) {
  FoldSpec spec;
  ASSERT_TRUE(SetOption(spec, "key", "a,b.c,n=d,/e~1f/g,x=/h").ok());
  ASSERT_TRUE(SetOption(spec, "key", "again").ok());
  std::vector<std::pair<std::string, std::string>> fields;
  for (const KeyField& field : spec.event.key) fields.emplace_back(field.name, field.path);
  EXPECT_THAT(fields, ElementsAre(Pair("a", "a"), Pair("c", "b.c"), Pair("n", "d"),
                                  Pair("g", "/e~1f/g"), Pair("x", "/h"), Pair("again", "again")));
}

TEST(FoldSpec, QuotesHoldAnyNameOrPath) {
  FoldSpec spec;
  ASSERT_TRUE(SetOption(spec, "key", R"("a,b","n=\"m\""="/x,y",/p=q,""=z)").ok());
  std::vector<std::pair<std::string, std::string>> fields;
  for (const KeyField& field : spec.event.key) fields.emplace_back(field.name, field.path);
  EXPECT_THAT(fields, ElementsAre(Pair("a,b", "a,b"), Pair("n=\"m\"", "/x,y"), Pair("p=q", "/p=q"),
                                  Pair("", "z")));
  ASSERT_TRUE(SetOption(spec, "merge", R"x("s=(1)"=sum("a,b)"))x").ok());
  EXPECT_EQ(spec.merges[0].name, "s=(1)");
  EXPECT_EQ(spec.merges[0].path, "a,b)");
}

TEST(FoldSpec, EmptyKeyIsOfAllEventsAndStandsAlone) {
  FoldSpec spec = Good();
  spec.event.key.clear();
  ASSERT_TRUE(SetOption(spec, "key", "").ok());
  EXPECT_EQ(ValidateError(spec), "");
  EXPECT_THAT(OptionsOf(spec), ::testing::Contains(Pair("key", "")));
  ASSERT_TRUE(SetOption(spec, "key", "k").ok());
  EXPECT_THAT(ValidateError(spec), HasSubstr("--key: '' makes all one group"));
}

TEST(FoldSpec, RefusesBrokenKeys) {
  for (const char* wrong : {",", "a,", ",a", "a,,b", "=a", "n=", "a..b", "/~2", R"("a)", R"("a"x)",
                            R"("\q")", "n=\"a\"b"}) {
    EXPECT_THAT(ErrorOf("key", wrong), HasSubstr("--key: ")) << wrong;
  }
}

TEST(FoldSpec, MergeIsANameAReducerAndAPath) {
  FoldSpec spec;
  for (const char* text : {"n=count()", "m=count(a)", "k=keys(/a~1b)", "x=last(a.b)"}) {
    ASSERT_TRUE(SetOption(spec, "merge", text).ok()) << text;
  }
  EXPECT_EQ(spec.merges[0].reducer, Reducer::kCount);
  EXPECT_EQ(spec.merges[0].path, "");
  EXPECT_EQ(spec.merges[2].path, "/a~1b");
  EXPECT_EQ(spec.merges[3].reducer, Reducer::kLast);
}

TEST(FoldSpec, RefusesBrokenMerges) {
  EXPECT_EQ(ErrorOf("merge", "x=middle(a)"),
            "--merge: \"middle\" is not a reducer (one of keys, set, sum, min, max, mean, count, "
            "first, last, distinct, array, concat, duration, p50, p90, p95, p99, p999, top)");
  EXPECT_THAT(ErrorOf("merge", "x=sum(a,5)"), HasSubstr("sum takes no argument"));
  EXPECT_THAT(ErrorOf("merge", "x=sum()"), HasSubstr("sum needs a path"));
  for (const char* wrong : {"", "sum(a)", "x=sum", "x=sum(a", "x=sum a)", "=sum(a)", "x=(a)",
                            "x=sum(a..b)", "x", "x=SUM(a)", "x=sum(,)"}) {
    EXPECT_THAT(ErrorOf("merge", wrong), HasSubstr("--merge: ")) << wrong;
  }
}

TEST(FoldSpec, WhiteSpaceAroundNamesAndPathsIsNoPartOfThem) {
  FoldSpec spec;
  for (const char* text : {" n = count( ) ", "m=count( v )", "a=array( v , 5 )",
                           R"x( " b" = concat( " v" , ";" , 7 ))x"}) {
    ASSERT_TRUE(SetOption(spec, "merge", text).ok()) << text;
  }
  ASSERT_TRUE(SetOption(spec, "key", " a , who = b.c , /d , \" e\" ").ok());
  EXPECT_THAT(
      OptionsOf(spec),
      ElementsAre(Pair("key", "a"), Pair("key", "who=b.c"), Pair("key", "/d"),
                  Pair("key", "\" e\""), Pair("merge", "n=count()"), Pair("merge", "m=count(v)"),
                  Pair("merge", "a=array(v,5)"), Pair("merge", R"x(" b"=concat(" v",;,7))x")));
}

TEST(FoldSpec, RefusesMergesThatAreMoreLikelyASlip) {
  EXPECT_THAT(ErrorOf("merge", "a=count(*)"), HasSubstr("count() counts events"));
  EXPECT_THAT(ErrorOf("merge", "a=sum( * )"), HasSubstr("count() counts events"));
  for (const char* wrong :
       {"s=sum(v);d=max(v)", "s=sum(v) d=max(v)", "a=array(v),b=count()", "a,b=count()"}) {
    EXPECT_THAT(ErrorOf("merge", wrong), HasSubstr("each --merge gives one value")) << wrong;
  }
  EXPECT_THAT(ErrorOf("merge", "a=first(a=b)"), HasSubstr("first takes no condition"));
  FoldSpec spec;
  for (const char* meant : {R"x(a=count("*"))x", R"x(b=first("a=b"))x", R"x("c,d"=count())x"}) {
    EXPECT_TRUE(SetOption(spec, "merge", meant).ok()) << meant;
  }
}

TEST(FoldSpec, BoundsAndSeparatorsFollowThePath) {
  FoldSpec spec;
  for (const char* text : {"a=array(v)", "b=array(v,5)", "c=distinct(\"v,w\",7)", "d=set(/v,1)",
                           "e=keys(v.w,18446744073709551615)", "f=concat(v)", "g=concat(v, - )",
                           R"x(h=concat(v,"",9))x", R"x(i=concat(v,"\",\u0021",9))x"}) {
    ASSERT_TRUE(SetOption(spec, "merge", text).ok()) << text;
  }
  std::vector<std::pair<uint64_t, std::string>> arguments;
  for (const Merge& merge : spec.merges) arguments.emplace_back(merge.bound, merge.separator);
  EXPECT_THAT(arguments,
              ElementsAre(Pair(0, ""), Pair(5, ""), Pair(7, ""), Pair(1, ""), Pair(UINT64_MAX, ""),
                          Pair(0, ","), Pair(0, " - "), Pair(9, ""), Pair(9, "\",!")));
}

TEST(FoldSpec, SaysWhatIsWrongWithABoundOrASeparator) {
  EXPECT_EQ(ErrorOf("merge", "x=array(a,0)"),
            "--merge: array: N must be a whole number of at least 1, not \"0\"");
  for (const char* wrong :
       {"x=array(a,)", "x=set(a,-1)", "x=keys(a,1.5)", "x=distinct(a,1K)", "x=array(a,1,2)",
        "x=array(a,b)", "x=concat(a,-,)", "x=concat(a,-,x)", "x=concat(a,-,1,2)"}) {
    EXPECT_THAT(ErrorOf("merge", wrong), HasSubstr(": N must be a whole number of at least 1"))
        << wrong;
  }
  EXPECT_EQ(ErrorOf("merge", "x=set(a,99999999999999999999)"), "--merge: set: N is too large");
  EXPECT_EQ(ErrorOf("merge", "c=count"),
            "--merge: \"c=count\" is not NAME=REDUCER(PATH); write count()");
  EXPECT_EQ(ErrorOf("merge", "x = sum"),
            "--merge: \"x = sum\" is not NAME=REDUCER(PATH); write sum(PATH)");
  EXPECT_EQ(ErrorOf("merge", "x=median"), "--merge: \"x=median\" is not NAME=REDUCER(PATH)");
  EXPECT_EQ(ErrorOf("merge", "x=sum(tonumber(a))"),
            "--merge: \"tonumber(a)\" has one of , = ( ) in it: sum takes one path, and no call; "
            "if the mark is meant, put the name or the path in quotes");
  EXPECT_THAT(ErrorOf("merge", "x=count(s >= 5)"), HasSubstr("top(s) counts each value"));
  EXPECT_EQ(ErrorOf("merge", "x=concat(a,)"),
            "--merge: concat: SEP is missing (a comma, or nothing, goes in quotes: \",\" or \"\")");
  EXPECT_THAT(ErrorOf("merge", "x=concat(a,,5)"), HasSubstr("SEP is missing"));
  EXPECT_THAT(ErrorOf("merge", R"x(x=concat(a,"-"5))x"), HasSubstr("expected a comma"));
  EXPECT_THAT(ErrorOf("merge", R"x(x=concat(a,"-))x"), HasSubstr("unclosed quote"));
  for (const char* wrong : {"x=array()", "x=array(,5)", "x=concat(,-)"}) {
    EXPECT_THAT(ErrorOf("merge", wrong), HasSubstr("needs a path")) << wrong;
  }
  for (const char* wrong : {"x=sum(a,5)", "x=first(a,1)", "x=count(,5)", "x=count(a,5)"}) {
    EXPECT_THAT(ErrorOf("merge", wrong), HasSubstr("takes no argument")) << wrong;
  }
}

TEST(FoldSpec, FirstAndLastAloneTakeTheWholeEvent) {
  FoldSpec spec = Good();
  for (const char* merge : {"a=first(.)", "b=last( . )"}) {
    EXPECT_TRUE(SetOption(spec, "merge", merge).ok()) << merge;
  }
  EXPECT_TRUE(Validate(spec).ok());
  EXPECT_EQ(OptionsOf(spec).back(), (std::pair<std::string, std::string>("merge", "b=last(.)")));
  for (const std::string reducer : {"sum", "set", "array", "count"}) {
    EXPECT_THAT(ErrorOf("merge", "x=" + reducer + "(.)"),
                HasSubstr(reducer + "(.): the whole event is taken by first and last"));
  }
  ASSERT_TRUE(SetOption(spec, "close-when", "b=1").ok());
  EXPECT_THAT(ValidateError(spec), HasSubstr("\"b\" is a whole event"));
  spec = Good();
  spec.merges.push_back({"s", Reducer::kSum, "."});
  EXPECT_EQ(ValidateError(spec), "--merge: path \".\" has an empty step");
}

TEST(FoldSpec, TopTellsAThousandValuesAtMost) {
  FoldSpec spec = Good();
  for (const char* merge : {"t=top(a)", "u=top(a,1000)"}) {
    EXPECT_TRUE(SetOption(spec, "merge", merge).ok()) << merge;
    EXPECT_EQ(OptionsOf(spec).back().second, merge);
  }
  EXPECT_TRUE(Validate(spec).ok());
  EXPECT_EQ(ErrorOf("merge", "t=top(a,1001)"), "--merge: top: N is at most 1000");
  spec.merges.back().bound = 1001;
  EXPECT_EQ(ValidateError(spec), "--merge: top: N is at most 1000");
  spec.merges.pop_back();
  ASSERT_TRUE(SetOption(spec, "close-when", "t=1").ok());
  EXPECT_THAT(ValidateError(spec), HasSubstr("\"t\" is a list"));
}

TEST(FoldSpec, DurationTakesNoPath) {
  FoldSpec spec = Good();
  EXPECT_TRUE(SetOption(spec, "merge", "d=duration()").ok());
  EXPECT_TRUE(Validate(spec).ok());
  EXPECT_EQ(OptionsOf(spec).back().second, "d=duration()");
  EXPECT_EQ(ErrorOf("merge", "d=duration(a)"),
            "--merge: duration() takes no path: it is the time from the first event to the last");
  spec.merges.back().path = "a";
  EXPECT_EQ(ValidateError(spec), "--merge: duration takes no path");
}

TEST(FoldSpec, RestAndRawReserveTheirNames) {
  for (const char* name : {"_raw", "_raw_last", "_rest"}) {
    FoldSpec spec = Good();
    spec.merges = {{name, Reducer::kCount, ""}};
    EXPECT_TRUE(Validate(spec).ok());
    spec.raw = spec.raw_last = 1;
    spec.rest = Rest::kFirst;
    EXPECT_THAT(ValidateError(spec), HasSubstr("\" is taken; rename it, such as --merge 'merge_"));
    spec.merges.clear();
    spec.event.key[0].name = name;
    EXPECT_EQ(ValidateError(spec), std::string("--key: the output name \"") + name +
                                       "\" is taken; rename it, such as --key key_" + name +
                                       "=user");
  }
}

TEST(FoldSpec, ErrorsAreOneClearLine) {
  EXPECT_EQ(
      ErrorOf("quiet", "5x"),
      R"(--quiet: "5x" is not a duration (numbers with us, ms, s, m, min, h, d or w, such as 90s or 1h30m; or inf))");
  EXPECT_THAT(ErrorOf("quiet", "5\n\x1b[31m"), Not(HasSubstr("\n")));
  EXPECT_LT(ErrorOf("quiet", std::string(10'000, 'x')).size(), 200u);
  EXPECT_EQ(ErrorOf("time-unit", "min"), R"(--time-unit: must be s, ms, us or ns, not "min")");
  EXPECT_THAT(ErrorOf("max-memory", "0"), HasSubstr(R"("0" is not a size of at least 1 (a whole)"));
  EXPECT_EQ(ErrorOf("raw", "0"), R"(--raw: "0" is not a whole number of at least 1)");
  EXPECT_EQ(ErrorOf("no-meta", "1"), R"(--no-meta: "1" is not true or false)");
}

TEST(FoldSpec, TakesUnderscoresForDashes) {
  FoldSpec spec;
  ASSERT_TRUE(SetOption(spec, "max_wait", "1h").ok());
  ASSERT_TRUE(SetOption(spec, "time_unit", "ms").ok());
  EXPECT_EQ(spec.folder.max_wait, std::chrono::hours(1));
  EXPECT_EQ(spec.event.time_unit, TimeUnit::kMilliseconds);
}

TEST(FoldSpec, UnknownOptionIsNotFound) {
  FoldSpec spec;
  for (const char* name : {"", "queit", "output", "-quiet", "Quiet"}) {
    EXPECT_TRUE(absl::IsNotFound(SetOption(spec, name, "1"))) << name;
  }
}

TEST(FoldSpec, CountsAndSizes) {
  FoldSpec spec;
  ASSERT_TRUE(SetOption(spec, "max-events", "7").ok());
  EXPECT_EQ(spec.folder.max_events, 7u);
  const std::pair<const char*, size_t> sizes[] = {
      {"1", 1},          {"12345", 12345},         {"2K", 2000},          {"2Ki", 2048},
      {"3M", 3'000'000}, {"3Mi", size_t{3} << 20}, {"4G", 4'000'000'000}, {"4Gi", size_t{4} << 30}};
  for (const auto& [text, bytes] : sizes) {
    ASSERT_TRUE(SetOption(spec, "max-memory", text).ok()) << text;
    EXPECT_EQ(spec.folder.limits.max_bytes, bytes) << text;
  }
  for (const char* wrong : {"", "0", "-1", "+1", "1.5", "1k", "1KB", "1 K", "K", "1Ti", "0K", "x",
                            "99999999999999999999", "18446744073709551615K"}) {
    EXPECT_THAT(ErrorOf("max-memory", wrong), HasSubstr("--max-memory: ")) << wrong;
  }
  for (const char* wrong : {"0", "1K", "-1", "1e3"}) {
    EXPECT_THAT(ErrorOf("max-groups", wrong), HasSubstr("--max-groups: ")) << wrong;
    EXPECT_THAT(ErrorOf("max-events", wrong), HasSubstr("--max-events: ")) << wrong;
  }
}

TEST(FoldSpec, ValidateAsksForKeyAndQuiet) {
  EXPECT_TRUE(Validate(Good()).ok());
  FoldSpec spec = Good();
  spec.event.key.clear();
  EXPECT_THAT(ValidateError(spec), HasSubstr("--key"));
  spec = Good();
  spec.folder.quiet_period = Duration(0);
  EXPECT_THAT(ValidateError(spec), HasSubstr("--quiet"));
  spec.folder.quiet_period = kForever;
  EXPECT_TRUE(Validate(spec).ok());
}

TEST(FoldSpec, ValidateChecksRanges) {
  struct Case {
    const char* option;
    void (*spoil)(FoldSpec&);
  };
  for (const Case& c : std::vector<Case>{
           {"--quiet", [](FoldSpec& s) { s.folder.quiet_period = Duration(-1); }},
           {"--max-wait", [](FoldSpec& s) { s.folder.max_wait = Duration(0); }},
           {"--max-wait", [](FoldSpec& s) { s.folder.max_wait = Duration(-1); }},
           {"--reorder", [](FoldSpec& s) { s.event.reorder = Duration(-1); }},
           {"--allowed-lateness",
            [](FoldSpec& s) { s.folder.late.allowed_lateness = Duration(-1); }},
           {"--future-limit", [](FoldSpec& s) { s.event.future_limit = Duration(-1); }},
           {"--max-events", [](FoldSpec& s) { s.folder.max_events = 0; }},
           {"--max-groups", [](FoldSpec& s) { s.folder.limits.max_groups = 0; }},
           {"--max-memory", [](FoldSpec& s) { s.folder.limits.max_bytes = 0; }},
           {"--key", [](FoldSpec& s) { s.event.key[0].path = "a..b"; }},
           {"--key", [](FoldSpec& s) { s.event.key[0].path = ""; }},
           {"--max-bytes", [](FoldSpec& s) { s.folder.max_group_bytes = 0; }},
           {"--partial-every", [](FoldSpec& s) { s.folder.partial_every = Duration(-1); }},
           {"--time", [](FoldSpec& s) { s.event.time = "/~"; }},
           {"--id", [](FoldSpec& s) { s.marks.id = "a..b"; }},
           {"--quiet-path", [](FoldSpec& s) { s.marks.quiet_path = "."; }},
           {"--close-at", [](FoldSpec& s) { s.marks.close_at = "a..b"; }},
           {"--close-every", [](FoldSpec& s) { s.folder.closing.every = Duration(0); }},
           {"--close-every", [](FoldSpec& s) { s.folder.closing.phase = Duration(1); }},
           {"--close-every",
            [](FoldSpec& s) { s.folder.closing = {.every = Duration(5), .phase = Duration(5)}; }},
           {"--close-every",
            [](FoldSpec& s) { s.folder.closing = {.every = Duration(5), .phase = Duration(-1)}; }},
           {"--merge", [](FoldSpec& s) { s.merges = {{"x", Reducer::kSum, ""}}; }}}) {
    FoldSpec spec = Good();
    c.spoil(spec);
    EXPECT_THAT(ValidateError(spec), HasSubstr(c.option));
    EXPECT_TRUE(absl::IsInvalidArgument(Validate(spec)));
  }
}

TEST(FoldSpec, ValidateWantsDistinctNamesOfUtf8) {
  FoldSpec spec = Good();
  spec.merges = {{"user", Reducer::kCount, ""}};
  EXPECT_EQ(ValidateError(spec),
            R"(--merge: two outputs are named "user"; rename it, such as --merge )"
            "'merge_user=count()'");
  spec.merges = {{"_fold", Reducer::kMean, "a"}};
  EXPECT_EQ(ValidateError(spec),
            R"(--merge: the output name "_fold" is taken; rename it, such as --merge )"
            "'merge__fold=mean(a)'");
  spec.merges = {};
  spec.event.key = {{"x", "a.x"}, {"x", "b.x"}};
  EXPECT_EQ(ValidateError(spec),
            R"(--key: two outputs are named "x"; rename it, such as --key key_x=b.x)");
  spec.event.key = {{"_fold", "k"}};
  EXPECT_THAT(ValidateError(spec), HasSubstr("\"_fold\""));
  spec = Good();
  spec.merges = {{"_fold", Reducer::kCount, ""}};
  spec.meta = false;
  EXPECT_FALSE(Validate(spec).ok());
  spec.merges = {{"n", Reducer::kCount, ""}, {"n", Reducer::kSum, "a"}};
  EXPECT_FALSE(Validate(spec).ok());
  spec.merges = {{"\xff", Reducer::kCount, ""}};
  EXPECT_THAT(ValidateError(spec), HasSubstr("UTF-8"));
  spec.merges = {{"n", Reducer::kConcat, "a", 0, "\xff"}};
  EXPECT_THAT(ValidateError(spec), HasSubstr("UTF-8"));
  spec.merges = {{"a\"\n", Reducer::kCount, ""}};
  EXPECT_TRUE(Validate(spec).ok());
}

TEST(FoldSpec, OptionsOfAnEmptySpecAreNone) { EXPECT_TRUE(OptionsOf(FoldSpec{}).empty()); }

TEST(FoldSpec, OptionsGiveTheSameSpecAgain) {
  const Options options = OptionsIn(
      "--key a --key n=b.c"
      R"( --key '"/x"="d,e"' --key '""=z' --quiet 5m --max-wait 1h --close-every 1d@09:00)"
      " --close-at c.d --max-events 9"
      R"( --max-bytes 65536 --start-when kind=start)"
      R"( --end-when '{"any":["kind=end","\"a=\">=1"]}' --close-when 'n2>=100')"
      R"( --flush-when 'f="true"' --cancel-when c!=null --quiet-path q.p --edge both)"
      " --partial-every 90s --time /ts --time-unit ms --reorder 30s --allowed-lateness 1d"
      " --on-late correct --future-limit 0 --where 'a.b=\"1\"'"
      " --from 2015-09-12T08:30:00.000000Z --to 2015-09-13T00:00:00.000000Z --merge 'n2=count()'"
      R"x( --merge '"a=b"=set("c,d")' --merge 's=set(a,5)' --merge 'y=keys(a,6)')x"
      " --merge 'd=distinct(a,7)' --merge 'r=array(/a~1b,8)' --merge 'c1=concat(a)'"
      R"x( --merge 'c2=concat(a,-)' --merge 'c3=concat(a,"")')x"
      R"x( --merge 'c4=concat("a,b",",",9)' --merge 'c5=concat(a,"\"\n",9)')x"
      " --rest last --raw 4 --raw-last 5 --no-meta --emission-id --max-groups 10 --max-memory 1000"
      " --on-limit emit");
  const FoldSpec spec = SpecOf(options);
  EXPECT_EQ(OptionsOf(spec), options);
  EXPECT_TRUE(Validate(spec).ok());
}

TEST(FoldSpec, ClosingTimesAreWrittenAsTheyAreRead) {
  const auto written = [](const std::string& text) {
    FoldSpec spec;
    const absl::Status set = SetOption(spec, "close-every", text);
    if (!set.ok()) return std::string(set.message());
    const Options options = OptionsOf(spec);
    return options.empty() ? "nothing" : options[0].second;
  };
  EXPECT_EQ(written("24h@09:00"), "1d@09:00");
  EXPECT_EQ(written("1d@9h"), "1d@09:00");
  EXPECT_EQ(written("24h@9:00"), "1d@09:00");
  EXPECT_EQ(written("1d @ 9:05:30"), "1d@09:05:30");
  EXPECT_EQ(written("24h@23:59:59"), "1d@23:59:59");
  EXPECT_EQ(written("1h"), "1h");
  EXPECT_EQ(written("1h@00:00"), "1h");
  EXPECT_EQ(written("1h@00:15"), "1h@00:15");
  EXPECT_EQ(written("1w@4d9h"), "7d@105h");
  EXPECT_EQ(written("1s@250ms"), "1s@250ms");
  EXPECT_EQ(written("inf"), "nothing");
  for (const char* wrong : {"", "@09:00", "24h@", "24h@9", "24h@:00", "24h@24:00", "24h@09:60",
                            "24h@09:00:60", "24h@09:00Z", "24h@09-00", "24h@-1h", "24h@09:00@1"}) {
    EXPECT_THAT(written(wrong), HasSubstr("--close-every")) << wrong;
  }
  EXPECT_THAT(written("1h@09:00"), HasSubstr("does not come within 1h"));
  for (const char* daily : {"daily@09:00", "day @ 09:00", "@09:00", "09:00"}) {
    EXPECT_THAT(written(daily), EndsWith("; each day at that time is 24h@09:00")) << daily;
  }
  EXPECT_THAT(written("24h@24h"), HasSubstr("does not come within 1d"));
}

TEST(FoldSpec, CloseEveryDoesWithoutQuiet) {
  FoldSpec spec = Good();
  spec.folder.quiet_period = Duration(0);
  spec.folder.closing.every = std::chrono::hours(24);
  EXPECT_TRUE(Validate(spec).ok());
  spec.folder.closing.every = kForever;
  EXPECT_FALSE(Validate(spec).ok());
}

TEST(FoldSpec, IdsComeBackToo) {
  const Options options = OptionsIn("--key k --quiet 1m --allowed-lateness 1h --id event.id");
  EXPECT_EQ(OptionsOf(SpecOf(options)), options);
  EXPECT_TRUE(Validate(SpecOf(options)).ok());
}

TEST(FoldSpec, AdaptiveQuietIsAFloorAndACeiling) {
  FoldSpec spec = Good();
  ASSERT_TRUE(SetOption(spec, "quiet", "adaptive:500ms..5m").ok());
  ASSERT_TRUE(SetOption(spec, "class", "event.type").ok());
  EXPECT_EQ(spec.folder.quiet_floor, std::chrono::milliseconds(500));
  EXPECT_EQ(spec.folder.quiet_period, std::chrono::minutes(5));
  EXPECT_THAT(OptionsOf(spec), ::testing::Contains(Pair("quiet", "adaptive:0.5s..5m")));
  EXPECT_THAT(OptionsOf(spec), ::testing::Contains(Pair("class", "event.type")));
  EXPECT_TRUE(Validate(spec).ok());
  ASSERT_TRUE(SetOption(spec, "quiet", "1m").ok());
  EXPECT_EQ(spec.folder.quiet_floor, Duration(0));
}

TEST(FoldSpec, RefusesAdaptiveQuietThatMakesNoSense) {
  EXPECT_THAT(ErrorOf("quiet", "adaptive:5s"), HasSubstr("is not adaptive:FLOOR..CEILING"));
  EXPECT_THAT(ErrorOf("quiet", "adaptive:0..5s"), HasSubstr("must be above zero"));
  EXPECT_THAT(ErrorOf("quiet", "adaptive:..5s"), HasSubstr("--quiet: "));
  EXPECT_THAT(ErrorOf("quiet", "adaptive:5s.."), HasSubstr("--quiet: "));
  EXPECT_THAT(ErrorOf("quiet", "adaptive:1s..2s..3s"), HasSubstr("--quiet: "));
  EXPECT_THAT(ErrorOf("quiet", "Adaptive:1s..2s"), HasSubstr("--quiet: "));
  FoldSpec spec = Good();
  spec.folder.quiet_floor = spec.folder.quiet_period;
  EXPECT_THAT(ValidateError(spec), HasSubstr("the floor must be below the ceiling"));
  spec.folder.quiet_period = kForever;
  EXPECT_THAT(ValidateError(spec), HasSubstr("the ceiling must not be inf"));
  spec = Good();
  spec.folder.quiet_floor = Duration(-1);
  EXPECT_THAT(ValidateError(spec), HasSubstr("--quiet"));
  spec.folder.quiet_floor = Duration(1);
  spec.marks.quiet_path = "q";
  EXPECT_THAT(ValidateError(spec), HasSubstr("--quiet-path: not with --quiet adaptive"));
  spec = Good();
  spec.marks.key_class = "c";
  EXPECT_THAT(ValidateError(spec), HasSubstr("--class: needs --quiet adaptive"));
}

TEST(FoldSpec, ChoicesAreNamedWhenOneIsUnknown) {
  EXPECT_EQ(ErrorOf("edge", "x"), R"(--edge: must be trailing, leading or both, not "x")");
  EXPECT_THAT(ErrorOf("on-late", "drop"), HasSubstr("must be reject, fold or correct, not"));
  EXPECT_THAT(ErrorOf("on-limit", "x"), HasSubstr("must be refuse or emit, not"));
  EXPECT_EQ(ErrorOf("rest", "keep"), R"(--rest: must be drop, first or last, not "keep")");
  EXPECT_THAT(ErrorOf("emission-id", "1"), HasSubstr("is not true or false"));
}

TEST(FoldSpec, RefusesBrokenConditions) {
  for (const char* option : {"start-when", "end-when", "flush-when", "cancel-when"}) {
    EXPECT_THAT(ErrorOf(option, "done"), HasSubstr("is not PATH OP VALUE")) << option;
    EXPECT_THAT(ErrorOf(option, "a..b=1"), HasSubstr("has an empty step")) << option;
    EXPECT_THAT(ErrorOf(option, R"({"not":"/~2=1"})"), HasSubstr(option)) << option;
  }
  EXPECT_THAT(ErrorOf("close-when", "total"), HasSubstr("--close-when: "));
}

TEST(FoldSpec, CloseWhenNamesMergesThatGiveOneValue) {
  FoldSpec spec = Good();
  spec.merges = {{"a..b", Reducer::kSum, "x"}, {"tags", Reducer::kSet, "t"}};
  ASSERT_TRUE(SetOption(spec, "close-when", "a..b>=1").ok());
  EXPECT_TRUE(Validate(spec).ok());
  ASSERT_TRUE(SetOption(spec, "close-when", "total>=1").ok());
  EXPECT_EQ(ValidateError(spec), R"(--close-when: there is no --merge named "total")");
  for (const char* text : {"tags=1", R"({"any":["a..b=1",{"not":"tags=1"}]})"}) {
    ASSERT_TRUE(SetOption(spec, "close-when", text).ok());
    EXPECT_THAT(ValidateError(spec), HasSubstr(R"(--close-when: "tags" is a list; )"));
    EXPECT_THAT(ValidateError(spec), HasSubstr("distinct"));
  }
  for (const Reducer reducer :
       {Reducer::kSum, Reducer::kMin, Reducer::kMax, Reducer::kMean, Reducer::kCount,
        Reducer::kFirst, Reducer::kLast, Reducer::kDistinct, Reducer::kConcat}) {
    spec.merges[1].reducer = reducer;
    EXPECT_TRUE(Validate(spec).ok());
  }
}

TEST(FoldSpec, ValidateChecksConditionsMadeByHand) {
  FoldSpec spec = Good();
  const Condition good = {Condition::Kind::kEqual, "a", "1", {}};
  spec.marks.end_when = {Condition::Kind::kAll, {}, {}, {good, good}};
  EXPECT_TRUE(Validate(spec).ok());
  for (const Condition& wrong :
       std::vector<Condition>{{Condition::Kind::kAll, {}, {}, {}},
                              {Condition::Kind::kNot, {}, {}, {good, good}},
                              {Condition::Kind::kAny, {}, {}, {Condition{}}},
                              {Condition::Kind::kEqual, "a", "done", {}},
                              {Condition::Kind::kEqual, "a", "[]", {}},
                              {Condition::Kind::kEqual, "a..b", "1", {}},
                              {Condition::Kind::kEqual, "", "1", {}}}) {
    spec.marks.end_when = wrong;
    EXPECT_THAT(ValidateError(spec), HasSubstr("--end-when: "));
  }
}

TEST(FoldSpec, OptionsThatMakeNoSenseTogetherAreRefused) {
  const std::pair<Options, const char*> cases[] = {
      {{{"id", "i"}}, "--id: needs --allowed-lateness"},
      {{{"id", "i"}, {"allowed-lateness", "1m"}, {"on-late", "fold"}},
       "--id: not with --on-late fold"},
      {{{"id", "i"}, {"allowed-lateness", "1m"}, {"on-late", "correct"}},
       "--id: not with --on-late correct"},
      {{{"on-late", "fold"}}, "--on-late: fold needs --allowed-lateness"},
      {{{"on-late", "correct"}}, "--on-late: correct needs --allowed-lateness"},
      {{{"partial-every", "1m"}, {"edge", "leading"}}, "--partial-every: not with --edge leading"},
      {{{"partial-every", "0"}}, "--partial-every: must be above zero"}};
  for (const auto& [options, error] : cases) {
    FoldSpec spec = Good();
    for (const auto& [name, text] : options) ASSERT_TRUE(SetOption(spec, name, text).ok()) << name;
    EXPECT_THAT(ValidateError(spec), HasSubstr(error));
  }
  FoldSpec spec = Good();
  ASSERT_TRUE(SetOption(spec, "partial-every", "1m").ok());
  ASSERT_TRUE(SetOption(spec, "edge", "both").ok());
  EXPECT_TRUE(Validate(spec).ok());
}

TEST(FoldSpec, DocumentMayHoldAConditionAsAnObject) {
  const auto spec = ParseFoldSpec(
      R"json({"key":"k","quiet":"1m","end-when": { "any" : ["s=done", {"not":"s=failed"}] },
          "start_when":"s=new"})json");
  ASSERT_TRUE(spec.ok()) << spec.status().message();
  EXPECT_EQ(FormatCondition(spec->marks.end_when), R"({"any":["s=done",{"not":"s=failed"}]})");
  EXPECT_EQ(FormatCondition(spec->marks.start_when), "s=new");
  for (const char* wrong :
       {R"({"end-when":["s=done","s=failed"]})", R"({"end-when":{}})", R"({"end-when":true})",
        R"({"end-when":{"any":[{}]}})", R"({"quiet":{"any":["s=done"]}})"}) {
    EXPECT_TRUE(absl::IsInvalidArgument(ParseFoldSpec(wrong).status())) << wrong;
  }
}

TEST(FoldSpec, IsReadFromADocument) {
  absl::StatusOr<FoldSpec> spec = ParseFoldSpec(R"x( {
    "key": ["user", "p=/page\u0020x"], "quiet": "5m", "max_wait": "inf", "max-events": 12,
    "merge": ["n=count()", "s=set(\"a,b\")"], "no-meta": true, "time": "t", "time_unit": "s"
  }
)x");
  ASSERT_TRUE(spec.ok()) << spec.status().message();
  EXPECT_EQ(spec->event.key[1].path, "/page x");
  EXPECT_EQ(spec->merges[1].path, "a,b");
  EXPECT_EQ(spec->folder.max_events, 12u);
  EXPECT_FALSE(spec->meta);
  EXPECT_TRUE(Validate(*spec).ok());
}

TEST(FoldSpec, RefusesBrokenDocuments) {
  for (const char* wrong :
       {"", " ", "[]", "1", R"({"key":"a")", R"({"key":"a",})", R"({"key":"a","key":"b"})",
        R"({"key":null})", R"({"key":{"a":1}})", R"({"key":[["a"]]})", R"({"key":[null]})",
        R"({"nonsense":1})", R"({"quiet":5})", R"({"quiet":"5x"})", R"({"key":"a"}{})"}) {
    EXPECT_TRUE(absl::IsInvalidArgument(ParseFoldSpec(wrong).status())) << wrong;
  }
}

TEST(FoldSpec, DocumentStopsAtTheFirstError) {
  int calls = 0;
  const absl::Status status =
      ForEachOption(R"({"a":["1","2","3"],"b":4})", [&](std::string_view, std::string_view text) {
        ++calls;
        return text == "2" ? absl::InvalidArgumentError("no") : absl::OkStatus();
      });
  EXPECT_EQ(status.message(), "no");
  EXPECT_EQ(calls, 2);
}

TEST(FoldSpec, EngineOptionsFollowTheSpec) {
  FoldSpec spec = Good();
  EXPECT_EQ(EngineOptionsFor(spec.event).axis, Axis::kArrival);
  EXPECT_EQ(EngineOptionsFor(spec.event).partitions, 1);
  spec.event.time = "t";
  spec.event.reorder = Duration(7);
  spec.event.future_limit = Duration(8);
  const EngineOptions options = EngineOptionsFor(spec.event);
  EXPECT_EQ(options.axis, Axis::kEvent);
  EXPECT_EQ(options.future_limit, kForever);  // lines are judged where they wait
}

}  // namespace
}  // namespace pleat
