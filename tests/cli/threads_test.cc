// That --threads does not show: neither in what is written, nor in what is said, nor in where a run stops.
#include <random>

#include "tests/cli/fixtures.h"
#include "tests/cli/run_pleat.h"
#include "tests/support/sanitized.h"

namespace pleat::cli {
namespace {

// All that a run leaves behind.
struct Left {
  int code;
  std::string out;
  std::string err;
  std::string stats;
  std::string invalid;
  std::string late;

  friend bool operator==(const Left&, const Left&) = default;
};

// `more` are further options and the inputs.
Left LeftBy(const std::string& more, const std::string& threads) {
  TemporaryDirectory dir;
  const Finished r = RunToEnd(
      Pleat("fold --key k --quiet 20s --time t --time-unit s --merge 'v=set(v)' --quiet-summary"
            " --allowed-lateness 1d --invalid " +
            (dir / "invalid") + " --late " + (dir / "late") + " --stats " + (dir / "stats") +
            " --threads " + threads + " " + more));
  return {r.code,
          r.out,
          r.err,
          Content(dir / "stats"),
          Content(dir / "invalid"),
          Content(dir / "late")};
}

// Some megabytes, so that there are many blocks. Every kind of line, and long ones, anywhere.
constexpr int kHostileLines = kSanitized ? 15'000 : 60'000;

std::string HostileInput(uint64_t seed, size_t invalid_in_a_thousand) {
  static constexpr std::string_view kInvalid[] = {"{\"k\":\"open",
                                                  "{}",
                                                  "x",
                                                  "{\"k\":1,\"k\":1,\"t\":1}",
                                                  "{\"k\":\"\x80\",\"t\":1}",
                                                  "{\"k\":1,\n\"t\":1}",
                                                  "{\"k\":1,\"t\":1}{}",
                                                  "{\"k\":[1],\"t\":1}",
                                                  "\"",
                                                  "\\"};
  std::mt19937_64 random(seed);
  std::string text;
  for (int i = 0; i < kHostileLines; ++i) {
    if (random() % 1000 < invalid_in_a_thousand) text += kInvalid[random() % std::size(kInvalid)];
    if (random() % 20'000 == 0) text += std::string(1'000'000 + random() % 200'000, 'x');
    if (random() % 50 == 0) text += random() % 2 == 0 ? "\n" : " \r\n";
    const int at = i / 10 - static_cast<int>(random() % 50 == 0 ? random() % 100 : 0) + 1000;
    text += "{\"k\":\"" + std::to_string(random() % 500) + "\",\"t\":" + std::to_string(at) +
            ",\"v\":\"" + std::string(random() % 40, 'v') + "\",\"m" +
            std::to_string(random() % 97) + "\":1}\n";
  }
  return text;
}

// Returns what a run with one thread leaves.
Left ExpectThreadsDoNotShow(const std::string& more, const std::string& input) {
  TemporaryDirectory dir;
  const std::string arguments = more + " " + dir.Write("in", input);
  const Left one = LeftBy(arguments, "1");
  EXPECT_NE(one.out, "");
  for (const char* threads : {"2", "3"}) {
    const Left other = LeftBy(arguments, threads);
    EXPECT_TRUE(other == one) << threads << " threads: " << other.err << other.stats
                              << "one: " << one.err << one.stats;
  }
  return one;
}

// A thread's stack is as large as the limit on the first one's: here larger than all addresses.
TEST(PleatThreads, OneDoesTheWorkIfTheSystemGivesNoOther) {
  if (kSanitized) GTEST_SKIP() << "a sanitizer takes all the addresses there are";
  TemporaryDirectory dir;
  const std::string path = dir.Write("in", HostileInput(1, 0));
  for (const std::string command : {"fold --quiet 20s", "analyze"}) {
    const std::string words = command + " --key k --time t --time-unit s " + path;
    const Finished one = RunToEnd(Pleat(words));
    const Finished r = RunToEnd({"/bin/sh", "-c",
                                 "ulimit -s 137438953472 && exec \"$0\" " + words + " --threads 4",
                                 PleatProgram()});
    EXPECT_EQ(r.code, 0) << r.err;
    EXPECT_TRUE(r.out == one.out) << command;
  }
}

TEST(PleatThreads, DoNotShowInHostileInput) {
  for (const uint64_t seed : {1, 2}) {
    SCOPED_TRACE(testing::Message() << "seed " << seed);
    ExpectThreadsDoNotShow("", HostileInput(seed, 30));
    ExpectThreadsDoNotShow("--allowed-lateness 10s --reorder 5s", HostileInput(seed, 1));
  }
}

// The lines that messages name are noted by one thread and asked for by another.
TEST(PleatThreads, DoNotShowInOtherFormats) {
  const Left json = ExpectThreadsDoNotShow("--input json", HostileInput(8, 1));
  EXPECT_NE(json.invalid, "");
  std::mt19937_64 random(9);
  std::string csv = "k,t,v\n";
  std::string logfmt;
  for (int i = 0; i < 100'000; ++i) {
    const std::string k = std::to_string(random() % 500);
    const std::string t = std::to_string(1000 + i / 10);
    const bool invalid = random() % 10'000 == 0;
    csv.append(k).append(",").append(t).append(random() % 10 == 0 ? ",\"two\nlines\"" : ",1");
    csv += invalid ? "x,\n" : "\n";
    logfmt.append("k=").append(k).append(" t=").append(t).append(invalid ? " v=\"\n" : " v=1\n");
  }
  EXPECT_NE(ExpectThreadsDoNotShow("--input csv", csv).invalid, "");
  EXPECT_NE(ExpectThreadsDoNotShow("--input logfmt", logfmt).invalid, "");
}

TEST(PleatThreads, DoNotShowInWhereARunStops) {
  ExpectThreadsDoNotShow("--on-invalid fail", HostileInput(3, 0) + "{}\n" + HostileInput(4, 10));
  ExpectThreadsDoNotShow("--on-invalid fail --future-limit 1h",
                         HostileInput(5, 0) + "{\"k\":1,\"t\":99999999}\n" + HostileInput(6, 0));
}

TEST(PleatThreads, DoNotShowInWhatIsRefused) {
  ExpectThreadsDoNotShow("--max-groups 300", HostileInput(7, 5));
}

TEST(PleatThreads, DoNotShowInControlLinesAndMerges) {
  const Left one = ExpectThreadsDoNotShow(
      "--flush-when v= --cancel-when v=v --rest last --raw 2"
      " --merge 'a=array(v,9)' --merge 'b=distinct(v)' --merge 'c=concat(v)'",
      HostileInput(12, 5));
  EXPECT_GT(ParseStats(one.stats)["cancelled"], 100);
}

TEST(PleatThreads, DoNotShowInANumberWithoutUnit) {
  TemporaryDirectory dir;
  const std::string path = dir.Write("in", HostileInput(8, 1));
  const auto run = [&](const std::string& threads) {
    return RunToEnd(Pleat("fold --key k --quiet 1s --time t " + path + " --threads " + threads));
  };
  const Finished one = run("1");
  EXPECT_EQ(one.code, 2);
  for (const char* threads : {"2", "3"}) {
    const Finished other = run(threads);
    EXPECT_EQ(other.code, 2);
    EXPECT_EQ(other.err.substr(0, other.err.find('\n')), one.err.substr(0, one.err.find('\n')));
  }
}

TEST(PleatThreads, DoNotShowOverSeveralInputs) {
  TemporaryDirectory dir;
  const std::string inputs = dir.Write("first", HostileInput(9, 2)) + " " +
                             dir.Write("second", HostileInput(10, 2)) + " " +
                             dir.Write("last.gz", Gzip(HostileInput(11, 2)));
  const Left one = LeftBy(inputs, "1");
  for (const char* threads : {"2", "3", "8", "256"}) {
    EXPECT_TRUE(LeftBy(inputs, threads) == one) << threads;
  }
}

}  // namespace
}  // namespace pleat::cli
