#include "bench/kafka/records.h"

#include <algorithm>
#include <charconv>
#include <cstdio>
#include <iterator>
#include <random>
#include <unordered_map>

namespace pleat::bench {

std::string Session::Text() const {
  return KeyOf(user) + " from " + std::to_string(first) + " to " + std::to_string(last) + ", " +
         std::to_string(count) + " records";
}

int PartitionOf(uint32_t user) { return static_cast<int>(user % kPartitions); }

std::string KeyOf(uint32_t user) {
  char text[16];
  std::snprintf(text, sizeof text, "u%07u", user);
  return text;
}

std::optional<uint32_t> UserOf(std::string_view key) {
  uint32_t user = 0;
  if (!key.starts_with('u')) return std::nullopt;
  const char* const end = key.data() + key.size();
  const auto [rest, error] = std::from_chars(key.data() + 1, end, user);
  if (error != std::errc() || rest != end) return std::nullopt;
  return user;
}

std::string PayloadOf(const KafkaRecord& record) {
  const unsigned page = record.user * 31 % 9'973;
  char text[256];
  std::snprintf(text, sizeof text,
                "{\"user\":\"%s\",\"at\":%lld,\"page\":\"/articles/%u/comments\",\"took_ms\":%u,"
                "\"agent\":\"Mozilla/5.0 (X11; Linux x86_64) Gecko/20100101\",\"status\":200,"
                "\"cached\":false,\"country\":\"NL\"}",
                KeyOf(record.user).c_str(), static_cast<long long>(record.stamp), page, page % 800);
  return text;
}

std::string TimeKeyOf(int partition) { return "time-" + std::to_string(partition); }
std::string TimePayloadOf(int partition, int64_t stamp) {
  return "{\"user\":\"" + TimeKeyOf(partition) + "\",\"at\":" + std::to_string(stamp) + "}";
}

std::vector<KafkaRecord> RandomRecords(size_t count, uint32_t users) {
  constexpr int64_t kBegin = 1'700'000'000'000;
  constexpr int64_t kStep = 7;
  std::mt19937_64 random(40);
  std::vector<KafkaRecord> records;
  records.reserve(count);
  for (size_t i = 0; i < count; ++i) {
    records.push_back(
        {static_cast<uint32_t>(random() % users), kBegin + kStep * static_cast<int64_t>(i)});
  }
  return records;
}

int64_t LastTimeOf(std::span<const KafkaRecord> records) {
  return records.back().stamp + 86'400'000;
}

std::vector<Session> SessionsOf(std::span<const KafkaRecord> records) {
  std::unordered_map<uint32_t, Session> open;
  std::vector<Session> sessions;
  for (const KafkaRecord& each : records) {
    const auto [place, is_new] =
        open.try_emplace(each.user, Session{each.user, each.stamp, each.stamp, 0});
    Session& session = place->second;
    if (!is_new && each.stamp - session.last >= kQuietMs) {
      sessions.push_back(session);
      session = {each.user, each.stamp, each.stamp, 0};
    }
    session.last = each.stamp;
    ++session.count;
  }
  for (const auto& [user, session] : open) sessions.push_back(session);
  std::ranges::sort(sessions);
  return sessions;
}

std::string Difference(std::vector<Session> answers, const std::vector<Session>& expected) {
  std::ranges::sort(answers);
  const auto [answer, wanted] = std::ranges::mismatch(answers, expected);
  if (answer == answers.end() && wanted == expected.end()) return "";
  const bool is_wrong = wanted == expected.end() || (answer != answers.end() && *answer < *wanted);
  return is_wrong ? "answered " + answer->Text() + ", which is wrong or was answered before"
                  : "did not answer " + wanted->Text();
}

}  // namespace pleat::bench
