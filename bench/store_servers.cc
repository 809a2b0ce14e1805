// Redis beside the event store, over a unix socket. Absent where Redis is not installed.
//
//   store/redis/everysec  kProcess, Commit() behind each 1,000 records of 200 bytes, which writes them, and
//                         Sync() each second and at the end. Beside it one stream for each partition:
//                         XADD with the id '*' and one field, which has the key for its name and the
//                         payload for its value, 1,000 in a pipeline, into an append-only file with
//                         `appendfsync everysec`; its last second is not synced in the time
//   store/redis/always    the same with kGroup and `appendfsync always`: written and synced, by us behind
//                         each 1,000 records, by Redis when it has worked on what its socket had
//
// Timed is until the last reply; the processor time of Redis is the server's alone. Both are read back and
// compared, the streams by XRANGE and XLEN.
#include <array>
#include <string>
#include <string_view>
#include <vector>

#include <pleat/batch.h>

#include "bench/server_pipeline.h"
#include "bench/store_contest.h"

namespace pleat::bench {
namespace {

constexpr const char* kProgram = "redis-server";

std::string_view TextOf(const redisReply* reply) { return {reply->str, reply->len}; }

class RedisStreams {
 public:
  explicit RedisStreams(const char* appendfsync)
      : server_(FindProgram(kProgram),
                {"--dir", disk_.path(), "--appendonly", "yes", "--appendfsync", appendfsync}) {
    for (int i = 0; i < kPartitions; ++i) names_.push_back("events:" + std::to_string(i));
  }

  Spent AppendAll(uint64_t count) {
    NumberedRecords records;
    ServerPipeline pipeline(server_);
    bool all_were_added = true;
    const auto take = [&](const redisReply& reply) {
      all_were_added &= reply.type == REDIS_REPLY_STRING;  // its id
    };
    const double cpu_before = server_.UsedCpuSeconds();
    Spent spent = Timed([&] {
      records.ForEachBatch(0, count, kLotRecords, [&](const auto& batch, bool) {
        for (const StoreRecord& record : batch) {
          const auto stream = static_cast<size_t>(PartitionOf(record.key, kPartitions));
          pipeline.Send(std::array<std::string_view, 5>{"XADD", names_[stream], "*", record.key,
                                                        record.payload},
                        kLotRecords, take);
        }
      });
      pipeline.Finish(take);
    });
    spent.cpu_seconds = server_.UsedCpuSeconds() - cpu_before;
    Require(all_were_added, "Redis refused a record");
    return spent;
  }

  Tally ReadAll() {
    Tally tally;
    for (const std::string& name : names_) ReadStream(name, tally);
    return tally;
  }

 private:
  // A thousand at a time: an answer has [id, [key, payload]] of each.
  void ReadStream(const std::string& name, Tally& tally) {
    uint64_t count = 0;
    std::string from = "-";
    for (;;) {
      const auto reply = server_.Call({"XRANGE", name, from, "+", "COUNT", "1000"});
      for (size_t i = 0; i < reply->elements; ++i) {
        const redisReply* const fields = reply->element[i]->element[1];
        tally.Add(TextOf(fields->element[0]), TextOf(fields->element[1]));
      }
      count += reply->elements;
      if (reply->elements == 0) break;
      from = "(" + std::string(TextOf(reply->element[reply->elements - 1]->element[0]));
    }
    const auto length = server_.Call({"XLEN", name})->integer;
    Require(length == static_cast<long long>(count), "XLEN and XRANGE disagree");
  }

  std::vector<std::string> names_;
  DiskDirectory disk_;  // its server ends first
  RedisServer server_;
};

Spent AddAll(const char* appendfsync, uint64_t count) {
  RedisStreams redis(appendfsync);
  const Spent spent = redis.AppendAll(count);
  Require(redis.ReadAll() == NumberedRecords::TallyOf(count), "Redis has other records");
  return spent;
}

const bool registered = [] {
  if (FindProgram(kProgram).empty()) return true;
  RegisterLots("redis/everysec", LotPromise::kEverySecond,
               [](uint64_t count) { return AddAll("everysec", count); });
  RegisterLots("redis/always", LotPromise::kSynced,
               [](uint64_t count) { return AddAll("always", count); });
  return true;
}();

}  // namespace
}  // namespace pleat::bench
