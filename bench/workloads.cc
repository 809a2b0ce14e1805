#include "bench/workloads.h"

#include <zlib.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <numeric>
#include <random>

#include <pleat/json.h>

namespace pleat::bench {

std::string ReadGzip(const std::string& path) {
  std::string text;
  gzFile file = gzopen(path.c_str(), "rb");
  if (file == nullptr) return text;
  char buffer[1 << 16];
  for (int n; (n = gzread(file, buffer, sizeof(buffer))) > 0;) {
    text.append(buffer, static_cast<size_t>(n));
  }
  gzclose(file);
  return text;
}

namespace {

// As many lines, users and seconds as the real file has, and about its skew.
std::string MakeHiggsLikeLines() {
  constexpr int kLines = 563'069;
  constexpr double kUsers = 456'626;
  std::mt19937_64 random(20120704);
  std::uniform_real_distribution<double> unit(0.0, 1.0);
  std::string text;
  char line[128];
  for (int i = 0; i < kLines; ++i) {
    const auto user_a = static_cast<int>(unit(random) * kUsers);
    const auto user_b = static_cast<int>(std::pow(kUsers, unit(random)));
    const int at = 1'341'100'972 + static_cast<int>(i * (604'800.0 / kLines));
    static constexpr const char* kKinds[] = {"RT", "MT", "RE"};
    const int n = std::snprintf(line, sizeof(line),
                                R"({"userA":%d,"userB":%d,"timestamp":%d,"interaction":"%s"})"
                                "\n",
                                user_a, user_b, at, kKinds[random() % 3]);
    text.append(line, static_cast<size_t>(n));
  }
  return text;
}

constexpr uint32_t kKeys = 1'000'000;
constexpr uint32_t kEvents = 4'000'000;

std::vector<std::string> MakeKeys() {
  std::mt19937_64 random(1);
  std::vector<std::string> keys;
  keys.reserve(kKeys);
  char key[24];
  for (uint32_t i = 0; i < kKeys; ++i) {
    std::snprintf(key, sizeof(key), "key-%016llx", static_cast<unsigned long long>(random()));
    keys.emplace_back(key);
  }
  std::shuffle(keys.begin(), keys.end(), random);
  return keys;
}

// Finds the lines of the text.
void Cut(LineWorkload& work) {
  const size_t size = work.text.size();
  work.text.append(kLinePaddingBytes, ' ');
  const char* const text = work.text.data();
  size_t block = 0;
  for (size_t begin = 0; begin < size;) {
    const size_t end = work.text.find('\n', begin);
    work.lines.emplace_back(text + begin, end - begin);
    begin = end + 1;
    if (work.lines.size() % 4096 != 0 && begin != size) continue;
    work.blocks.emplace_back(text + block, begin - block);
    block = begin;
  }
}

LineWorkload* MakeEvents(uint64_t seed, int lines, const char* tail) {
  constexpr uint32_t kEventKeys = 100'000;
  const std::vector<std::string> keys = MakeKeys();
  std::mt19937_64 random(seed);
  auto* w = new LineWorkload;
  char line[256];
  for (int i = 0; i < lines; ++i) {
    const std::string& key = keys[random() % kEventKeys];
    const int64_t at = 1'700'000'000'000 + i / 2;
    const auto n = static_cast<int>(10 + random() % 90);
    const int size = std::snprintf(line, sizeof(line),
                                   R"({"id":"%s","ts":%lld,"n":%d%s})"
                                   "\n",
                                   key.c_str(), static_cast<long long>(at), n, tail);
    w->text.append(line, static_cast<size_t>(size));
  }
  Cut(*w);
  return w;
}

}  // namespace

const KeyedWorkload& Uniform1M() {
  static const KeyedWorkload* workload = [] {
    auto* w = new KeyedWorkload{MakeKeys(), std::vector<uint32_t>(kEvents)};
    std::mt19937_64 random(2);
    for (uint32_t& event : w->events) event = static_cast<uint32_t>(random() % kKeys);
    return w;
  }();
  return *workload;
}

const KeyedWorkload& Zipf1M() {
  static const KeyedWorkload* workload = [] {
    auto* w = new KeyedWorkload{MakeKeys(), std::vector<uint32_t>(kEvents)};
    std::mt19937_64 random(3);
    std::vector<double> cumulative(kKeys);
    double sum = 0;
    for (uint32_t rank = 0; rank < kKeys; ++rank) {
      cumulative[rank] = sum += std::pow(rank + 1.0, -0.99);
    }
    // Which key has which rank: not the order they are loaded in.
    std::vector<uint32_t> key_of_rank(kKeys);
    std::iota(key_of_rank.begin(), key_of_rank.end(), 0);
    std::shuffle(key_of_rank.begin(), key_of_rank.end(), random);
    std::uniform_real_distribution<double> below(0.0, sum);
    for (uint32_t& event : w->events) {
      const auto hit = std::upper_bound(cumulative.begin(), cumulative.end() - 1, below(random));
      event = key_of_rank[static_cast<size_t>(hit - cumulative.begin())];
    }
    return w;
  }();
  return *workload;
}

const LineWorkload& Higgs() {
  static const LineWorkload* workload = [] {
    auto* w = new LineWorkload;
    w->text = ReadGzip(std::string(PLEAT_SHARED_DATA) + "/higgs-activity.ndjson.gz");
    w->real = !w->text.empty();
    if (!w->real) w->text = MakeHiggsLikeLines();
    Cut(*w);
    return w;
  }();
  return *workload;
}

const LineWorkload& Events56() {
  static const LineWorkload* workload = MakeEvents(4, 2'000'000, "");
  return *workload;
}

const LineWorkload& Events185() {
  static const LineWorkload* workload =
      MakeEvents(5, 1'000'000,
                 R"(,"event":"page_view","region":"eu-central-1","path":"/products/98765/reviews",)"
                 R"("agent":"Mozilla/5.0 Firefox 128.0","ok":true)");
  return *workload;
}

}  // namespace pleat::bench
