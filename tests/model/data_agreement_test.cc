// `pleat fold` against the model on real event logs: the same bytes out, the same counts, whatever
// the number of threads, the watermark delay, and what closes and merges.
//
// The slice of wikiticker lies in examples/data. The other logs are large and not part of the tree;
// their tests are skipped, visibly, where SharedData() does not have them. Of each log the head is
// used, and the whole in `./dev check whole`.
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <optional>
#include <sstream>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "tests/support/plain_json.h"
#include "tests/support/programs.h"
#include "tests/support/sanitized.h"
#include "tests/support/share.h"
#include "tests/support/source_dir.h"
#include "tests/support/subprocess.h"

namespace pleat::inline v0_1 {
namespace {

using Arguments = std::vector<std::string>;

// What of a log its tests use beside its options.
struct Fields {
  std::string id;     // not always unique to an event, so that there are conflicts as well
  std::string start;  // a condition that now and then holds
  std::string end;    // another one
  std::string close;  // one on its merges
  std::string often;  // between partials: a fraction of the quiet period
  std::string hold;   // a max wait: a multiple of it
};

struct Log {
  std::string name;  // of the test
  std::string file;
  Arguments options;
  Fields fields;

  friend void PrintTo(const Log& log, std::ostream* out) { *out << log.name; }
};

const std::string kExamples = SourceDir() + "/examples/data/";
const std::string kShared = SharedData() + "/";

Arguments Merges(const Arguments& merges) {
  Arguments out;
  for (const std::string& merge : merges) out.insert(out.end(), {"--merge", merge});
  return out;
}

Arguments operator+(Arguments a, const Arguments& b) {
  a.insert(a.end(), b.begin(), b.end());
  return a;
}

const Arguments kWikiticker =
    Arguments{"--key", "user", "--time", "time", "--quiet", "5m"} +
    Merges({"edits=count()", "countries=count(countryName)", "pages=set(page)", "delta=sum(delta)",
            "added=max(added)", "deleted=min(deleted)", "mean=mean(delta)",
            "opening=first(comment)", "city=last(cityName)", "robot=last(isRobot)",
            "metro=set(metroCode)", "not_numbers=sum(page)", "not_objects=keys(user)",
            "nowhere=first(a.b.c)"});

Arguments Gharchive(const std::string& key) {
  return Arguments{"--key", key, "--time", "dt", "--quiet", "2m"} +
         Merges({"n=count()", "types=set(type)", "commits=sum(commits)", "most=max(commits)",
                 "mean=mean(commits)", "actors=set(actor)", "first=first(repo)", "last=last(repo)",
                 "actions=set(action)", "id=min(id)"});
}

const Arguments kHiggs =
    Arguments{"--key", "userB", "--time", "timestamp", "--time-unit", "s", "--quiet", "10m"} +
    Merges({"by=set(userA)", "kinds=set(interaction)", "sum=sum(userA)", "mean=mean(userA)",
            "low=min(userA)", "high=max(timestamp)", "first=first(interaction)"});

Arguments Zeek(const std::string& key) {
  return Arguments{"--key", key, "--time", "ts", "--quiet", "10s"} +
         Merges({"n=count(uid)", "paths=set(_path)", "ports=set(/id.resp_p)", "rtt=sum(rtt)",
                 "mean_rtt=mean(rtt)", "duration=sum(duration)", "longest=max(duration)",
                 "shortest=min(duration)", "bytes=sum(orig_bytes)", "mean=mean(resp_bytes)",
                 "answers=set(answers)", "ttls=set(TTLs)", "first_ttls=first(TTLs)",
                 "last_query=last(query)", "mixed=sum(version)", "chain=last(cert_chain_fps)"});
}

const Fields kWikitickerFields = {.id = "page",
                                  .start = "isNew=true",
                                  .end = R"({"any":["delta<-100",{"not":"namespace=Main"}]})",
                                  .close = "delta>=2000",
                                  .often = "1m",
                                  .hold = "1h"};
const Fields kGharchiveFields = {.id = "id",
                                 .start = "type=create",
                                 .end = "action=closed",
                                 .close = "commits>5",
                                 .often = "30s",
                                 .hold = "10m"};
const Fields kHiggsFields = {.id = "userA",
                             .start = "interaction=RE",
                             .end = "userA<3000",
                             .close = R"({"all":["low<5000","high>1341100972"]})",
                             .often = "3m",
                             .hold = "1h"};
const Fields kZeekFields = {.id = "_path",
                            .start = R"({"all":["_path=ssl","version!=null"]})",
                            .end = "/id.resp_p>=5000",
                            .close = "n>20",
                            .often = "2.5s",
                            .hold = "1m"};

const std::vector<Log>& Logs() {
  static const auto* const kLogs = new std::vector<Log>{
      {"WikitickerSliceByUser", kExamples + "wikiticker-2015-09-12-sample.ndjson.gz", kWikiticker,
       kWikitickerFields},
      {"WikitickerByUser", kShared + "wikiticker-2015-09-12.ndjson.gz", kWikiticker,
       kWikitickerFields},
      {"GharchiveByActor", kShared + "gharchive2015-apr.ndjson.gz", Gharchive("actor"),
       kGharchiveFields},
      {"GharchiveByRepo", kShared + "gharchive2015-apr.ndjson.gz", Gharchive("repo"),
       kGharchiveFields},
      {"HiggsByUserB", kShared + "higgs-activity.ndjson.gz", kHiggs, kHiggsFields},
      {"ZeekByUid", kShared + "zeek-wrccdc.ndjson.gz", Zeek("/uid"), kZeekFields},
      {"ZeekByHosts", kShared + "zeek-wrccdc.ndjson.gz", Zeek("from=/id.orig_h,/id.resp_h"),
       kZeekFields},
      {"ZeekByOrigin", kShared + "zeek-wrccdc.ndjson.gz", Zeek("/id.orig_h"), kZeekFields},
  };
  return *kLogs;
}

std::string ReadFile(const std::filesystem::path& path) {
  std::ostringstream out;
  out << std::ifstream(path, std::ios::binary).rdbuf();
  return out.str();
}

// Nothing, or where the texts part.
std::string FirstDifference(const std::string& a, const std::string& b) {
  if (a == b) return "";
  const auto at = std::mismatch(a.begin(), a.end(), b.begin(), b.end()).first - a.begin();
  const size_t begin = a.rfind('\n', static_cast<size_t>(at)) + 1;  // npos + 1 is 0
  const auto line = [begin](const std::string& text) {
    return begin < text.size() ? text.substr(begin, text.find('\n', begin) - begin) : "(nothing)";
  };
  const auto number = std::count(a.begin(), a.begin() + static_cast<std::ptrdiff_t>(begin), '\n');
  return "line " + std::to_string(number + 1) + "\n  pleat: " + line(a) + "\n  model: " + line(b);
}

// Of each log; `check whole` reads all of it, as the file is.
constexpr int kLines = kSanitized ? 6'000 : 60'000;

class DataAgreement : public testing::TestWithParam<Log> {
 protected:
  void SetUp() override {
    if (!std::filesystem::exists(GetParam().file)) GTEST_SKIP() << "no " << GetParam().file;
    directory_ = std::filesystem::path(testing::TempDir()) /
                 ("pleat_agreement_" + std::to_string(getpid()) + "_" + GetParam().name);
    std::filesystem::create_directories(directory_);
    const std::string head = IsWhole() ? "" : " | head -n " + std::to_string(kLines);
    const Finished unpacked = RunToEnd({"/bin/sh", "-c", "gzip -dc \"$0\"" + head + " > \"$1\"",
                                        GetParam().file, Path("plain.ndjson")});
    ASSERT_EQ(unpacked.code, 0) << unpacked.err;
  }

  void TearDown() override {
    std::error_code ignored;
    if (!directory_.empty()) std::filesystem::remove_all(directory_, ignored);
  }

  std::string Path(const std::string& name) const { return (directory_ / name).string(); }

  void ExpectAgreement(const Arguments& more) {
    const Arguments options = GetParam().options + more;
    const Finished model =
        RunToEnd(Arguments{ModelFoldProgram()} + options +
                 Arguments{"--stats", Path("model.stats"), Path("plain.ndjson")});
    ASSERT_EQ(model.code, 0) << model.err;
    ASSERT_GT(model.out.size(), 1000u);
    const std::string input = IsWhole() ? GetParam().file : Path("plain.ndjson");
    for (const char* threads : {"1", "2"}) {
      SCOPED_TRACE(testing::Message()
                   << "options: " << testing::PrintToString(more) << " --threads " << threads);
      const Finished real = RunToEnd(
          Arguments{PleatProgram(), "fold"} + options +
          Arguments{"--threads", threads, "--quiet-summary", "--stats", Path("stats"), input});
      ASSERT_EQ(real.code, 0) << real.err.substr(0, 1000);
      EXPECT_EQ(FirstDifference(real.out, model.out), "");
      ExpectSameStats(ReadFile(Path("stats")), ReadFile(Path("model.stats")));
    }
  }

  static void ExpectSameStats(const std::string& real, const std::string& model) {
    SCOPED_TRACE("pleat: " + real + "model: " + model);
    const std::optional<PlainJson> a = ParsePlainJson(real);
    const std::optional<PlainJson> b = ParsePlainJson(model);
    ASSERT_TRUE(a && b);
    EXPECT_EQ(a->names, b->names);
    for (size_t i = 0; i < std::min(a->elements.size(), b->elements.size()); ++i) {
      if (a->elements[i].kind != PlainJson::Kind::kNumber) {
        EXPECT_EQ(a->elements[i].text, b->elements[i].text) << a->names[i];
        continue;
      }
      EXPECT_EQ(std::strtod(a->elements[i].text.c_str(), nullptr),
                std::strtod(b->elements[i].text.c_str(), nullptr))
          << a->names[i];
    }
  }

 private:
  std::filesystem::path directory_;
};

TEST_P(DataAgreement, FoldsToTheSameBytes) {
  for (const char* watermark_delay : {"0s", "30s"}) ExpectAgreement({"--reorder", watermark_delay});
}

TEST_P(DataAgreement, FoldsToTheSameBytesUnderEveryLimitAtOnce) {
  ExpectAgreement({"--reorder", "500ms", "--max-wait", "1.5m", "--max-events", "3",
                   "--allowed-lateness", "250ms", "--at-end", "drop", "--no-meta"});
}

TEST_P(DataAgreement, FoldsToTheSameBytesWithBothEdgesAndPartials) {
  ExpectAgreement({"--reorder", "1s", "--edge", "both", "--max-wait", GetParam().fields.hold,
                   "--partial-every", GetParam().fields.often, "--emission-id"});
}

TEST_P(DataAgreement, FoldsToTheSameBytesWithMarksConditionsAndAFullFolder) {
  const Fields& fields = GetParam().fields;
  ExpectAgreement({"--start-when", fields.start, "--end-when", fields.end, "--close-when",
                   fields.close, "--max-bytes", "4Ki", "--max-groups", "100", "--on-limit",
                   "emit"});
}

TEST_P(DataAgreement, FoldsToTheSameBytesWithIdsTheRestAndRawEvents) {
  const Fields& fields = GetParam().fields;
  ExpectAgreement({"--id",
                   fields.id,
                   "--allowed-lateness",
                   "10s",
                   "--rest",
                   "last",
                   "--raw",
                   "3",
                   "--raw-last",
                   "2",
                   "--merge",
                   "event=last(.)",
                   "--merge",
                   "span=duration()",
                   "--merge",
                   "frequent=top(" + fields.id + ",3)",
                   "--merge",
                   "p90=p90(" + fields.id + ")",
                   "--merge",
                   "ids=distinct(" + fields.id + ",5)",
                   "--merge",
                   "text=concat(" + fields.id + ",|,100)"});
}

TEST_P(DataAgreement, FoldsToTheSameBytesOfTheEventsOfAConditionAndARange) {
  const std::string& start = GetParam().fields.start;
  const std::string where = start.starts_with('{') ? start : '"' + start + '"';
  ExpectAgreement({"--where", "{\"not\":" + where + "}", "--from", "2012-07-01T02:00:00Z", "--to",
                   "2018-03-24T20:00:00.5Z"});
}

TEST_P(DataAgreement, FoldsToTheSameBytesWithCorrectionsFlushesAndTheLeadingEdge) {
  const Fields& fields = GetParam().fields;
  ExpectAgreement({"--allowed-lateness", "0", "--on-late", "correct", "--edge", "leading",
                   "--cancel-when", fields.start, "--flush-when", fields.end, "--max-events", "4",
                   "--rest", "first"});
}

INSTANTIATE_TEST_SUITE_P(Logs, DataAgreement, testing::ValuesIn(Logs()),
                         [](const auto& log) { return log.param.name; });

// The larger logs have nothing to add to these.
class LearnedAgreement : public DataAgreement {};

TEST_P(LearnedAgreement, FoldsToTheSameBytes) {
  ExpectAgreement({"--quiet", "adaptive:1s..10m", "--class", GetParam().fields.id, "--max-wait",
                   GetParam().fields.hold});
}

INSTANTIATE_TEST_SUITE_P(Logs, LearnedAgreement,
                         testing::ValuesIn(Logs().begin(), Logs().begin() + 4),
                         [](const auto& log) { return log.param.name; });

}  // namespace
}  // namespace pleat::inline v0_1
