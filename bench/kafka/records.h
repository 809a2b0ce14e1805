// The records of the contest, and the sessions that every contestant has to make of them.
#pragma once

#include <compare>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace pleat::bench {

inline constexpr int kPartitions = 8;
inline constexpr int64_t kQuietMs = 300'000;

struct KafkaRecord {
  uint32_t user;
  int64_t stamp;  // milliseconds
};

// A burst of records of a user, with less than a quiet period between two.
struct Session {
  uint32_t user = 0;
  int64_t first = 0;
  int64_t last = 0;
  int64_t count = 0;

  friend auto operator<=>(const Session&, const Session&) = default;
  std::string Text() const;
};

int PartitionOf(uint32_t user);
std::string KeyOf(uint32_t user);
// Nothing: the key of a record that is there to move time alone.
std::optional<uint32_t> UserOf(std::string_view key);
// A line of JSON of 180 bytes, about.
std::string PayloadOf(const KafkaRecord& record);

// A record that moves time in a partition, and makes no session that is looked at.
std::string TimeKeyOf(int partition);
std::string TimePayloadOf(int partition, int64_t stamp);

// `count` records of `users` users at random, one each 7 ms. A quiet period is no multiple of that: whether a
// record exactly at the end of one still belongs to the session is answered differently.
std::vector<KafkaRecord> RandomRecords(size_t count, uint32_t users);

// When the time records come: all sessions have ended by then.
int64_t LastTimeOf(std::span<const KafkaRecord> records);

// Sorted. Each session ends with the records, be it open.
std::vector<Session> SessionsOf(std::span<const KafkaRecord> records);

// Empty if these are the same, in whatever order.
std::string Difference(std::vector<Session> answers, const std::vector<Session>& expected);

}  // namespace pleat::bench
