// The inputs of `job/*`, made when first asked for.
#include <simdjson.h>

#include <algorithm>
#include <random>
#include <stdexcept>

#include <pleat/json.h>

#include "bench/job.h"
#include "bench/settings.h"
#include "bench/workloads.h"

namespace pleat::bench {
namespace {

constexpr int64_t kStart = 1'700'000'000;

void AddEvent(Job& job, std::string_view key, EngineTime at, const Names& names) {
  if (job.key_bytes.capacity() - job.key_bytes.size() < key.size()) {
    throw std::logic_error("reserve key_bytes first: it must not move");
  }
  job.key_bytes.insert(job.key_bytes.end(), key.begin(), key.end());
  job.events.push_back(
      {{job.key_bytes.data() + job.key_bytes.size() - key.size(), key.size()}, at, names});
}

// Cuts the events into ticks by their stamps, which must not go back, and adds those of the end, `step`
// seconds apart.
void AddTicks(Job& job, int64_t step) {
  for (size_t begin = 0; begin < job.events.size();) {
    const EngineTime at = job.events[begin].at;
    size_t end = begin;
    while (end < job.events.size() && job.events[end].at == at) ++end;
    const auto seconds = std::chrono::floor<std::chrono::seconds>(at.time_since_epoch()).count();
    job.ticks.push_back({seconds, std::span(job.events).subspan(begin, end - begin)});
    begin = end;
  }
  const int64_t last = job.ticks.back().at;
  for (int64_t tick = last + step; tick < last + job.quiet + step; tick += step) {
    job.ticks.push_back({tick, {}});
  }
}

// Four different ones of twelve.
Names DrawNames(std::mt19937_64& random) {
  static constexpr const char* kVocabulary[] = {"likes",  "shares", "comments", "impressions",
                                                "clicks", "saves",  "replies",  "followers",
                                                "reach",  "views",  "mentions", "quotes"};
  std::array<uint8_t, 12> order = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11};
  Names names;
  for (size_t i = 0; i < names.names.size(); ++i) {
    std::swap(order[i], order[i + random() % (order.size() - i)]);
    names.names[i] = Name(kVocabulary[order[i]]);
  }
  return names;
}

// In full: 4,000,000 events on 1,000,000 keys, 20,000 a second for 200 seconds, quiet period 60 s. Of
// uniform keys 70 % are open at a time, and a group gets 2.6 events; 55 % of the groups close on the way,
// the others behind the last event. A longer quiet period would give a group more events and leave
// more of them to the end; more events for each key would take the servers minutes.
// `divisor` makes a job of the same shape with fewer keys and events.
Job MakeRandomJob(const KeyedWorkload& work, uint32_t divisor) {
  const size_t keys = std::min<size_t>(1'000'000 / divisor, work.keys.size());
  const uint32_t events = 4'000'000 / divisor;
  const uint32_t events_per_second = 20'000 / divisor;
  Job job;
  job.quiet = 60;
  job.key_bytes.reserve(events * work.keys[0].size());
  job.events.reserve(events);
  std::mt19937_64 random(4);
  for (uint32_t i = 0; i < events; ++i) {
    const std::string& key = work.keys[work.events[i % work.events.size()] % keys];
    const EngineTime at = FromUnix(std::chrono::seconds(kStart + i / events_per_second));
    AddEvent(job, key, at, DrawNames(random));
  }
  AddTicks(job, 1);
  return job;
}

std::vector<std::string> WikitickerLines() {
  static constexpr const char* kFiles[] = {PLEAT_SHARED_DATA "/wikiticker-2015-09-12.ndjson.gz",
                                           PLEAT_SOURCE_DIR
                                           "/examples/data/wikiticker-2015-09-12-sample.ndjson.gz"};
  std::vector<std::string> lines;
  for (const char* file : kFiles) {
    const std::string text = ReadGzip(file);
    for (size_t begin = 0, end; (end = text.find('\n', begin)) != text.npos; begin = end + 1) {
      lines.emplace_back(text, begin, end - begin);
    }
    if (!lines.empty()) break;
  }
  if (lines.empty()) throw std::runtime_error(std::string("cannot read ") + kFiles[1]);
  return lines;
}

// A day of Wikipedia edits: by user; the channel, the namespace, who and what; five minutes quiet, polled
// each ten seconds. Of the few stamps that go back a little each counts as the one before it.
Job MakeWikiticker(size_t events_max) {
  std::vector<std::string> lines = WikitickerLines();
  lines.resize(std::min(lines.size(), events_max));
  constexpr auto kStep = std::chrono::seconds(10);
  Job job;
  job.quiet = 300;
  size_t bytes = 0;
  for (const std::string& line : lines) bytes += line.size();
  job.key_bytes.reserve(bytes);
  simdjson::dom::parser parser;
  EngineTime last = kBeginningOfTime;
  for (const std::string& text : lines) {
    const simdjson::dom::element line = parser.parse(text);
    EngineTime at;
    if (!ParseTimestamp(std::string_view(line["time"]), at)) throw std::runtime_error(text);
    const auto seconds = std::chrono::floor<std::chrono::seconds>(at.time_since_epoch());
    last = std::max(last, FromUnix(seconds / kStep * kStep));
    const char* who = bool(line["isRobot"]) ? "robot" : bool(line["isAnonymous"]) ? "anon" : "user";
    const char* what = bool(line["isNew"]) ? "new" : bool(line["isMinor"]) ? "minor" : "edit";
    AddEvent(job, line["user"], last,
             {{Name(std::string_view(line["channel"])), Name(std::string_view(line["namespace"])),
               Name(who), Name(what)}});
  }
  AddTicks(job, kStep.count());
  return job;
}

constexpr uint32_t kSmall = 100;  // the divisor of a job that is for comparing
constexpr size_t kSmallLog = 5'000;

uint32_t Divisor() { return Tiny() ? kSmall : Quick() ? 20 : 1; }

}  // namespace

std::span<const JobInput> JobInputs() {
  static constexpr JobInput kInputs[] = {
      {"uniform_1M", [] { return MakeRandomJob(Uniform1M(), Divisor()); },
       [] { return MakeRandomJob(Uniform1M(), kSmall); }, true},
      {"zipf_1M", [] { return MakeRandomJob(Zipf1M(), Divisor()); },
       [] { return MakeRandomJob(Zipf1M(), kSmall); }, true},
      {"wikiticker", [] { return MakeWikiticker(Quick() ? kSmallLog : SIZE_MAX); },
       [] { return MakeWikiticker(kSmallLog); }},
  };
  return kInputs;
}

}  // namespace pleat::bench
