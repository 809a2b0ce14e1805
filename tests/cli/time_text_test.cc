// Event times as people have them, through every command that reads them.
#include <cstdio>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/cli/fixtures.h"
#include "tests/cli/run_pleat.h"

namespace pleat::cli {
namespace {

using testing::HasSubstr;
using testing::Not;

constexpr const char* kAssumed = "times without a zone were read as UTC";

// A line of key 1 with this time, which is JSON.
std::string Event(const std::string& time) { return R"({"k":1,"t":)" + time + "}\n"; }

// What `pleat fold` makes of one line with this time.
Finished FoldOne(const std::string& time, const std::vector<std::string>& more = {}) {
  Words words = Pleat("fold --key k --quiet 1m --time t");
  words.insert(words.end(), more.begin(), more.end());
  return RunToEnd(words, Event(time));
}

TEST(TimeText, IsReadInEveryFormOfOneTime) {
  const std::pair<const char*, std::vector<std::string>> cases[] = {
      {R"("2015-02-24T08:58:42Z")", {}},
      {R"("2015-02-24 09:58:42+0100")", {}},
      {R"("2015-02-24 09:58:42 +01")", {}},
      {R"("24/Feb/2015:09:58:42 +0100")", {}},
      {R"("24\/Feb\/2015:09:58:42 +0100")", {}},
      {R"("Tue, 24 Feb 2015 09:58:42 +0100")", {}},
      {R"("1424768322")", {"--time-unit", "s"}},
      {R"(1424768322000)", {"--time-unit", "ms"}},
      {R"("2015-02-24 09:58:42")", {"--time-zone", "Europe/Berlin"}},
      {R"("2015-02-24 08:58:42")", {"--time-zone", "UTC"}},
      {R"("24.02.2015 at 9:58:42")",
       {"--time-format", "%d.%m.%Y at %H:%M:%S", "--time-zone", "+01:00"}},
      {R"(20150224085842)", {"--time-format", "%Y%m%d%H%M%S", "--time-zone=UTC"}},
      {R"("2015-02-24\t08:58:42\n")", {"--time-format", "%F %T", "--time-zone=UTC"}},
      {R"("24\u0009Feb \u000d2015 08:58:42Z")", {"--time-format", "%d%t%b%n%Y %T%z"}},
      {R"("[\"24\\2\\2015\" 08:58:42]")",
       {"--time-format", "[\"%e\\%m\\%Y\" %T]", "--time-zone=UTC"}},
      {R"(1424768322)", {"--time-format", "%F", "--time-unit", "s"}}};
  for (const auto& [time, options] : cases) {
    const Finished r = FoldOne(time, options);
    EXPECT_EQ(r.code, 0) << r.err;
    EXPECT_THAT(r.out, HasSubstr(R"("first":"2015-02-24T08:58:42.000000Z")")) << time;
    EXPECT_THAT(r.err, Not(HasSubstr(kAssumed))) << time;
  }
}

TEST(TimeText, TheSummarySaysThatUtcWasAssumed) {
  const std::string zoneless = R"("2015-02-24 08:58:42")";
  const Finished r = FoldOne(zoneless);
  EXPECT_THAT(r.out, HasSubstr(R"("first":"2015-02-24T08:58:42.000000Z")"));
  EXPECT_TRUE(HasLine(r.err,
                      "pleat fold: times without a zone were read as UTC; --time-zone states "
                      "another"))
      << r.err;
  EXPECT_THAT(FoldOne(zoneless, {"--quiet-summary"}).err, Not(HasSubstr(kAssumed)));
  EXPECT_THAT(FoldOne(zoneless, {"--time-zone", "+01"}).err, Not(HasSubstr(kAssumed)));
  // One such time among many is enough, whichever thread reads it.
  TemporaryDirectory dir;
  std::string many;
  for (int i = 0; i < 20'000; ++i) many += Event(R"("2015-02-24T08:00:00Z")");
  const std::string file = dir.Write("many", many + Event(zoneless) + many);
  for (const std::string threads : {"1", "3"}) {
    Words words = Pleat("fold --key k --quiet 2h --time t --threads");
    words.insert(words.end(), {threads, file});
    const Finished all = RunToEnd(words, "");
    EXPECT_THAT(all.err, HasSubstr(kAssumed));
  }
}

TEST(TimeText, EveryCommandReadsAndSaysTheSame) {
  const std::string times = Event(R"("2015-02-24 09:58:42")") + Event(R"("2015-02-24 10:58:42")");
  for (const std::string command :
       {"fold --key k --quiet 1m", "live --key k --member m=k --ttl 3h",
        "rollup --key k --window 1h --allowed-lateness 1m", "analyze --key k"}) {
    const Finished assumed = RunToEnd(Pleat(command + " --time t"), times);
    EXPECT_EQ(assumed.code, 0) << assumed.err;
    EXPECT_THAT(assumed.err, HasSubstr(kAssumed)) << command;
    const Finished stated = RunToEnd(Pleat(command + " --time t --time-zone Europe/Berlin"), times);
    EXPECT_EQ(stated.code, 0) << stated.err;
    EXPECT_THAT(stated.err, Not(HasSubstr(kAssumed))) << command;
    const Finished format = RunToEnd(
        Pleat(command + " --time t --time-zone Europe/Berlin --time-format '%F %T'"), times);
    EXPECT_EQ(format.out, stated.out) << format.err;
    const std::string hour = command.starts_with("analyze") ? "1 key" : "2015-02-24T08:";
    EXPECT_THAT(stated.out, HasSubstr(hour)) << command;
  }
}

TEST(TimeText, ADocumentStatesZoneAndFormat) {
  TemporaryDirectory dir;
  const std::string spec = dir.Write(
      "spec",
      R"({"key":"k","quiet":"1m","time":"t","time-zone":"Asia/Tokyo","time_format":"%F %R"})");
  const Finished r = RunToEnd(Pleat("fold --spec " + spec), Event(R"("2015-02-24 17:58")"));
  EXPECT_THAT(r.out, HasSubstr(R"("first":"2015-02-24T08:58:00.000000Z")")) << r.err;
  const Finished printed = RunToEnd(Pleat("fold --print-spec --spec " + spec), "");
  EXPECT_THAT(printed.out, HasSubstr("\"time-zone\": \"Asia/Tokyo\"")) << printed.out;
  EXPECT_THAT(printed.out, HasSubstr("\"time-format\": \"%F %R\"")) << printed.out;
  const Finished again =
      RunToEnd(Pleat("fold --print-spec --spec " + dir.Write("printed", printed.out)), "");
  EXPECT_EQ(again.out, printed.out);
}

TEST(TimeText, ALineWhoseTimeIsOfNoFormIsInvalid) {
  const std::pair<const char*, const char*> cases[] = {
      {R"("soon")", R"("soon" is not of a known form: state it with --time-format)"},
      {R"("2015-02-30 00:00:00")",
       R"("2015-02-30 00:00:00" is a date or a time that does not exist)"},
      {R"("Wed, 30 Mar 2015 10:00:00 +0200")",
       R"("Wed, 30 Mar 2015 10:00:00 +0200" is on another day of the week than it states)"},
      {R"("24/Feb/2015:23:59:60 +0000")",
       R"("24/Feb/2015:23:59:60 +0000" is a leap second; seconds end at 59)"}};
  for (const auto& [time, reason] : cases) {
    const Finished r = FoldOne(time);
    EXPECT_EQ(r.code, 1);
    EXPECT_TRUE(HasLine(r.err, "<stdin>:1: event time " + std::string(reason))) << r.err;
  }
  const Finished r = FoldOne(R"("2015-02-24T08:58:42Z")", {"--time-format", "%F %T"});
  EXPECT_TRUE(HasLine(r.err,
                      "<stdin>:1: event time \"2015-02-24T08:58:42Z\" is not written as "
                      "--time-format states"))
      << r.err;
}

// Date and time of a log of CloudFront are two members.
TEST(TimeText, SeveralMembersAreOneTime) {
  const std::string log =
      "#Version: 1.0\n"
      "#Fields: date time x-edge-location sc-bytes c-ip cs-method cs-uri-stem sc-status\n"
      "2024-05-01\t06:06:53\tLAX50\t429\t192.0.2.7\tGET\t/a\t200\n"
      "2024-05-01\t06:07:10\tLAX50\t100\t192.0.2.7\tGET\t/b\t200\n";
  const std::string fold =
      "fold --input w3c -k c-ip -q 5m --merge 'b=sum(sc-bytes)' --merge 's=duration()' --no-meta ";
  const Finished r = RunToEnd(Pleat(fold + "-t date,time"), log);
  EXPECT_EQ(r.out, "{\"c-ip\":\"192.0.2.7\",\"b\":529,\"s\":17}\n") << r.err;
  EXPECT_THAT(RunToEnd(Pleat(fold + "-t time"), log).err,
              HasSubstr("<stdin>:3: event time \"06:06:53\" is a time of day: join its date, as in "
                        "--time date,time\n"));
  EXPECT_THAT(RunToEnd(Pleat(fold + "-t date,tiem"), log).err,
              HasSubstr("event time \"tiem\" is missing; did you mean \"time\"?"));
}

// The members that are the time are no rest.
TEST(TimeText, RestHasNoPartOfTheTime) {
  EXPECT_EQ(RunToEnd(Pleat("fold --key k --quiet 1m -t d,t --rest first --no-meta"),
                     R"({"k":1,"d":"2024-05-01","t":"00:00:00","u":2})")
                .out,
            "{\"k\":1,\"u\":2}\n");
}

const std::string kSyslog =
    "{\"ts\":\"Dec 31 23:59:59\",\"host\":\"a\"}\n{\"ts\":\"Jan  1 00:00:01\",\"host\":\"a\"}\n";
const std::string kFoldSyslog =
    "fold -k host -q 1m -t ts --time-format '%b %e %H:%M:%S' --merge 'n=count()' ";

TEST(TimeText, AFileOfLinesWithoutAYearNeedsThatOfItsFirst) {
  TemporaryDirectory dir;
  const std::string file = dir.Write("in", kSyslog);
  const Finished r = RunToEnd(Pleat(kFoldSyslog + "--no-meta --time-year 2023 " + file), "");
  EXPECT_EQ(r.out, "{\"host\":\"a\",\"n\":2}\n") << r.err;
  const Finished none = RunToEnd(Pleat(kFoldSyslog + file), "");
  EXPECT_EQ(none.code, 2);
  EXPECT_THAT(none.err,
              HasSubstr("pleat fold: --time-year: needed, as the format says no year: that "
                        "of the first line of " +
                        file + ", such as --time-year 2024"));
  // A pipe takes the year that brings the first time nearest to the clock.
  EXPECT_EQ(RunToEnd(Pleat(kFoldSyslog + "--no-meta"), kSyslog).out, "{\"host\":\"a\",\"n\":2}\n");
  EXPECT_THAT(RunToEnd(Pleat("fold -k host -q 1m -t ts --time-year 2024"), kSyslog).err,
              HasSubstr("--time-year: needs a --time-format that says no year"));
  for (const std::string command :
       {"live --key host --member m=host --ttl 3h", "analyze --key host",
        "rollup --key host --window 1h --allowed-lateness 1m"}) {
    const std::string words = command + " -t ts --time-format '%b %e %H:%M:%S' " + file;
    EXPECT_THAT(RunToEnd(Pleat(words), "").err, HasSubstr("--time-year: needed")) << command;
    EXPECT_EQ(RunToEnd(Pleat(words + " --time-year 2023"), "").code, 0) << command;
  }
}

// The newest stamp is kept: a run that goes on needs no hint, and a year that it is given is that of the
// first line of all.
TEST(TimeText, AYearGoesOnOverARestart) {
  TemporaryDirectory dir;
  const std::string file = dir.Write("in", kSyslog);
  const std::string words = kFoldSyslog + "--time-year 2023 --state " + (dir / "state") +
                            " --at-end keep --output " + (dir / "out") + " " + file;
  EXPECT_EQ(RunToEnd(Pleat(words), "").code, 0);
  dir.Write("in", kSyslog +
                      "{\"ts\":\"May  1 00:00:00\",\"host\":\"a\"}\n"
                      "{\"ts\":\"Oct  1 00:00:00\",\"host\":\"a\"}\n");
  EXPECT_EQ(RunToEnd(Pleat(words), "").code, 0);
  dir.Write("in", kSyslog +
                      "{\"ts\":\"May  1 00:00:00\",\"host\":\"a\"}\n"
                      "{\"ts\":\"Oct  1 00:00:00\",\"host\":\"a\"}\n"
                      "{\"ts\":\"Feb  1 00:00:00\",\"host\":\"a\"}\n");
  const Finished r = RunToEnd(Pleat(words), "");
  EXPECT_EQ(r.code, 0) << r.err;
  const std::string out = Content(dir / "out");
  EXPECT_THAT(out, HasSubstr("\"first\":\"2023-12-31T23:59:59"));
  EXPECT_THAT(out, HasSubstr("\"first\":\"2024-05-01T"));
  EXPECT_THAT(out, HasSubstr("\"first\":\"2024-10-01T"));
}

// An hour that the clock in Berlin shows twice.
TEST(TimeText, AnHourThatComesTwiceIsTwoHours) {
  std::string log;
  const auto add = [&](int from, int to) {
    for (int minute = from; minute < to; minute += 10) {
      char line[64];
      std::snprintf(line, sizeof line, "{\"k\":\"a\",\"t\":\"2023-10-29 %02d:%02d:00\"}\n",
                    minute / 60, minute % 60);
      log += line;
    }
  };
  add(100, 180);
  add(120, 210);
  const Finished r =
      RunToEnd(Pleat("fold -k k -q 15m -t t --time-zone Europe/Berlin --merge 'n=count()' --merge "
                     "'s=duration()' --no-meta"),
               log);
  EXPECT_EQ(r.out, "{\"k\":\"a\",\"n\":17,\"s\":9600}\n") << r.err;
}

// Each thread reads lines without knowing those before them.
TEST(TimeText, ThreadsChangeNoYear) {
  TemporaryDirectory dir;
  constexpr const char* kMonths[] = {"Jan", "Feb", "Mar", "Apr", "May", "Jun",
                                     "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"};
  std::string log;
  for (int i = 0; i < 40'000; ++i) {
    log += "{\"k\":" + std::to_string(i % 7) + ",\"t\":\"" + kMonths[i / 300 % 12] + " " +
           std::to_string(1 + i / 11 % 28) + " 00:00:" + std::to_string(10 + i % 50) + "\"}\n";
  }
  const std::string words =
      "fold -k k -q 1h -t t --time-format '%b %e %H:%M:%S' --time-year 2000 " +
      dir.Write("in", log);
  const Finished one = RunToEnd(Pleat(words + " --threads 1"), "");
  EXPECT_EQ(one.code, 0) << one.err;
  EXPECT_THAT(one.out, HasSubstr("\"2011-"));
  for (const std::string threads : {"2", "3", "5"}) {
    EXPECT_EQ(RunToEnd(Pleat(words + " --threads " + threads), "").out, one.out);
    EXPECT_EQ(RunToEnd(Pleat(words + " --reorder 40d --threads " + threads), "").out,
              RunToEnd(Pleat(words + " --reorder 40d --threads 1"), "").out);
  }
}

TEST(TimeText, ANumberInQuotesNeedsAUnitAsAnyNumberDoes) {
  const Finished r = FoldOne(R"("1424768322.5")");
  EXPECT_EQ(r.code, 2);
  EXPECT_TRUE(HasLine(r.err,
                      "<stdin>:1: event time \"1424768322.5\" is a number: state its unit with "
                      "--time-unit (it looks like s)"))
      << r.err;
}

// In any unit it would be of 1970.
TEST(TimeText, ANumberThatIsADateIsAskedForItsFormat) {
  const std::pair<const char*, const char*> cases[] = {
      {R"("20240413")",
       R"("20240413" is a number that looks like a date: state --time-format %Y%m%d)"},
      {"20240413", "20240413 is a number that looks like a date: state --time-format %Y%m%d"},
      {"20240413120059",
       "20240413120059 is a number that looks like a date: state --time-format %Y%m%d%H%M%S"}};
  for (const auto& [time, what] : cases) {
    const Finished r = FoldOne(time);
    EXPECT_EQ(r.code, 2);
    EXPECT_TRUE(HasLine(r.err, "<stdin>:1: event time " + std::string(what) + "\n")) << r.err;
  }
  for (const char* time : {"20241301", "20240132", "18240101", "20240413246060", "2024041.0"}) {
    EXPECT_THAT(FoldOne(time).err, HasSubstr("is a number: state its unit with --time-unit"));
  }
}

TEST(TimeText, DaysAloneAreDoubtedWhereAnotherMemberHasTheTimeOfDay) {
  const std::string input = "#Fields: date time k\n2024-05-01\t06:06:53\t1\n";
  for (const std::string command :
       {"fold --key k --quiet 1m", "live --key k --member m=k --ttl 3h",
        "rollup --key k --window 1h --allowed-lateness 1m", "analyze --key k"}) {
    const std::string words = command + " --input w3c --time ";
    EXPECT_THAT(RunToEnd(Pleat(words + "date"), input).err,
                HasSubstr("\"date\" is a day, so every event is at midnight; --time date,time "));
    EXPECT_THAT(RunToEnd(Pleat(words + "date,time"), input).err, Not(HasSubstr("midnight")));
  }
}

TEST(TimeText, WrongOptionsAreRefusedBeforeAnythingIsRead) {
  const auto err_of = [](const std::vector<std::string>& options) {
    const Finished r = FoldOne("1", options);
    EXPECT_EQ(r.code, 2);
    return r.err;
  };
  EXPECT_THAT(err_of({"--time-zone", "Europe/Berlim"}),
              HasSubstr("pleat fold: --time-zone: \"Europe/Berlim\" is not a time zone"));
  EXPECT_THAT(err_of({"--time-zone", "/etc/localtime"}), HasSubstr("is not a time zone"));
  EXPECT_THAT(err_of({"--time-format", "%H:%M"}), HasSubstr("does not say month and day"));
  for (const std::string command : {"fold --key k --quiet 1m", "live --key k --member m=k --ttl 3h",
                                    "rollup --key k --window 1h --allowed-lateness 1m"}) {
    // Windows of a rollup are those of the zone, whatever the times are.
    if (!command.starts_with("rollup")) {
      EXPECT_THAT(RunToEnd(Pleat(command + " --time-zone UTC"), "").err,
                  HasSubstr("--time-zone: needs --time, whose zone it is"));
    }
    EXPECT_THAT(RunToEnd(Pleat(command + " --time-format %F"), "").err,
                HasSubstr("--time-format: needs --time, whose form it is"));
  }
}

// A day of 23 hours and one of 25, by the clock of the zone.
TEST(TimeText, DigestsAtNineAreThoseOfTheZone) {
  const auto digests = [](const std::string& options, const std::string& lines) {
    return RunToEnd(
               Pleat("fold --key k --time t --merge 'n=count()' --close-every 24h@09:00" + options),
               lines)
        .out;
  };
  const std::string events =
      R"({"k":1,"t":"2026-03-28 08:59:59"}
{"k":1,"t":"2026-03-28 09:00:00"}
{"k":1,"t":"2026-03-29 08:59:59"}
{"k":1,"t":"2026-03-29 09:00:00"}
{"k":1,"t":"2026-03-31 00:00:00"}
)";
  const std::string berlin = digests(" --time-zone Europe/Berlin", events);
  EXPECT_THAT(berlin, HasSubstr(R"("closed":"2026-03-28T08:00:00.000000Z")"));
  EXPECT_THAT(berlin, HasSubstr(R"({"k":1,"n":2,"_fold":{"count":2,)"));
  EXPECT_THAT(berlin, HasSubstr(R"("closed":"2026-03-29T07:00:00.000000Z")"));
  EXPECT_THAT(berlin, HasSubstr(R"("closed":"2026-03-30T07:00:00.000000Z")"));
  EXPECT_THAT(digests("", events), HasSubstr(R"("closed":"2026-03-29T09:00:00.000000Z")"));

  // Without event times the zone is still that of the clock, and of times that events state.
  const std::string command = "fold --key k --no-meta --close-every 24h --quiet-summary";
  EXPECT_EQ(RunToEnd(Pleat(command + " --time-zone +01:00"), "{\"k\":1}\n").out, "{\"k\":1}\n");
  EXPECT_EQ(RunToEnd(Pleat("fold --key k --no-meta --quiet 1h --quiet-summary --close-at c "
                           "--time-unit s --time-zone +01:00"),
                     "{\"k\":1,\"c\":5}\n")
                .out,
            "{\"k\":1}\n");
}

// Names of zones need data; everything else does not. TZ, which says where this machine is, does not
// count.
TEST(TimeText, WithoutDataANameIsRefusedAndAnOffsetIsNot) {
  TemporaryDirectory empty;
  const auto fold = [&](const std::string& zone) {
    Words words = {"/usr/bin/env", "TZDIR=" + (empty / ""), "TZ=Asia/Tokyo"};
    const Words rest = Pleat("fold --key k --quiet 1m --time t" + zone);
    words.insert(words.end(), rest.begin(), rest.end());
    return RunToEnd(words, Event(R"("2015-02-24 08:58:42")"));
  };
  const Finished name = fold(" --time-zone Europe/Berlin");
  EXPECT_EQ(name.code, 2);
  EXPECT_THAT(name.err,
              HasSubstr("--time-zone: there is no time zone data on this machine to look up "
                        "\"Europe/Berlin\": install tzdata, or give an offset, such as "
                        "+01:00"));
  for (const std::string zone : {" --time-zone UTC", " --time-zone +00:00", ""}) {
    EXPECT_THAT(fold(zone).out, HasSubstr(R"("first":"2015-02-24T08:58:42.000000Z")")) << zone;
  }
}

}  // namespace
}  // namespace pleat::cli
