// Real event logs for the tests of statements about them. The slice of wikiticker lies in examples/data; a test on
// another log is skipped, visibly, where SharedData() does not have it.
#pragma once

#include <zlib.h>

#include <algorithm>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include <gtest/gtest.h>
#include <pleat/json.h>
#include <pleat/json_analysis.h>

#include "tests/support/source_dir.h"

namespace pleat::inline v0_1 {

struct RealLog {
  std::string name;
  std::string path;  // gzipped NDJSON
  std::string key;
  std::string time;
  TimeUnit unit = TimeUnit::kNotStated;
};

inline const RealLog kWikitickerSlice{
    "WikitickerSlice", SourceDir() + "/examples/data/wikiticker-2015-09-12-sample.ndjson.gz",
    "user", "time"};
inline const RealLog kGharchive{"Gharchive", SharedData() + "/gharchive2015-apr.ndjson.gz", "actor",
                                "dt"};
inline const RealLog kGharchiveByRepo{"GharchiveByRepo", kGharchive.path, "repo", "dt"};
inline const RealLog kHiggs{"Higgs", SharedData() + "/higgs-activity.ndjson.gz", "userB",
                            "timestamp", TimeUnit::kSeconds};
inline const RealLog kZeekByHost{"ZeekByHost", SharedData() + "/zeek-wrccdc.ndjson.gz",
                                 "/id.orig_h", "ts"};
inline const RealLog kZeekByConnection{"ZeekByConnection", kZeekByHost.path, "/uid", "ts"};

inline EventSpec LogSpec(const RealLog& log) {
  return {.key = {{.name = "key", .path = log.key}}, .time = log.time, .time_unit = log.unit};
}

// Calls `see` with the lines of the log, many at a time, padded as JsonLines wants them.
template <class See>
void ReadLog(const RealLog& log, const See& see) {
  const gzFile file = gzopen(log.path.c_str(), "rb");
  ASSERT_NE(file, nullptr);
  std::string text;
  std::vector<char> buffer(1 << 20);
  for (int got = 1; got > 0;) {
    got = gzread(file, buffer.data(), static_cast<unsigned>(buffer.size()));
    text.append(buffer.data(), static_cast<size_t>(std::max(got, 0)));
    const size_t whole = got > 0 ? text.rfind('\n') + 1 : text.size();
    const std::string padded = text.substr(0, whole) + std::string(kLinePaddingBytes, ' ');
    see(std::string_view(padded).substr(0, whole));
    text.erase(0, whole);
  }
  gzclose(file);
}

// What JsonAnalyzer makes of the log.
inline std::unique_ptr<const Analysis> AnalyzeLog(const RealLog& log, AnalyzerOptions options) {
  auto analyzer = *JsonAnalyzer::Open(LogSpec(log), std::move(options));
  JsonLines lines(analyzer->plan());
  ReadLog(log, [&](std::string_view text) {
    lines.Read(text);
    analyzer->Add(lines, [](const UnusualLine&) { return true; });
  });
  return std::move(*analyzer).Finish();
}

}  // namespace pleat::inline v0_1
