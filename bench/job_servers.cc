// Redis and Valkey at the whole job, over a unix socket, pipelined: one server and one client.
//
// redis_recipe, valkey_recipe: the recipe as published. An event is ZADD pending <now> <key> and SADD
//   f:<key> <names>. A poll is ZRANGEBYSCORE pending -inf <now - quiet> LIMIT 0 <n>, then SMEMBERS of each,
//   ZREM and DEL of all of them at once. There is one client, so nothing needs MULTI; with several the
//   recipe would need more.
// redis_lua: the best that we found in scripts, and no round trip to wait for: one script folds a batch of
//   events, one pops all that is due. It needs no sorted set: an opening event notes its key in a list of
//   the tick it would be due at, later events only write their stamp into the group, and a key that
//   proves due later when its list's turn comes moves to a later list. A group is a hash, of its stamp at
//   '@' and the names with empty values: Redis 7.0 keeps small hashes in one flat block, but sets of
//   strings in a table of pointers. (The recipe itself in Lua, ZADD in the script, was no faster than
//   without on a hundred thousand keys, and half as fast again as this on a million.)
//
// The client writes the next commands before it reads the answers to the last ones, so that both sides
// work at once.
#include <array>
#include <cstdlib>
#include <utility>
#include <vector>

#include "bench/job.h"
#include "bench/server_pipeline.h"
#include "bench/settings.h"
#include "tests/support/redis_server.h"

namespace pleat::bench {
namespace {

std::string_view Text(const redisReply& reply) { return {reply.str, reply.len}; }

std::span<redisReply* const> Elements(const redisReply& reply) {
  return {reply.element, reply.elements};
}

// What both contestants share: the server, the pipeline and the way of a reply to an emission.
class ServerStore {
 public:
  ServerStore(const char* program, const Job& job)
      : server_(FindProgram(program)), quiet_(job.quiet), empty_bytes_(server_.UsedMemory()) {}
  virtual ~ServerStore() = default;

  double UsedCpuSeconds() {
    ReadAll();
    return server_.UsedCpuSeconds();
  }

  double BytesPerGroup() {
    ReadAll();
    const double bytes = server_.UsedMemory() - empty_bytes_;
    // Every group is a key; the few others do not matter among so many. Of fewer groups this would tell the
    // size of the connection's buffers.
    const auto groups = static_cast<double>(server_.Call({"DBSIZE"})->integer);
    return groups < 10'000 ? 0 : bytes / groups;
  }

 protected:
  // Sends a command. Commands go out `depth` at a time, and replies are read one such batch later.
  void Send(std::span<const std::string_view> command, size_t depth) {
    pipeline_.Send(command, depth, [this](const redisReply& reply) { Take(reply); });
  }

  // Reads the replies to all that was sent.
  void ReadAll() {
    pipeline_.Finish([this](const redisReply& reply) { Take(reply); });
  }

  // What is to be done with a reply to Send().
  virtual void Take(const redisReply&) {}

  void Emit(std::string_view key, int64_t tick, const redisReply& names, Emissions& emissions) {
    names_.clear();
    for (const redisReply* name : Elements(names)) names_.emplace_back(Text(*name));
    emissions.Add(key, tick, names_);
  }

  RedisServer server_;
  int64_t quiet_;

 private:
  ServerPipeline pipeline_{server_};
  double empty_bytes_;
  std::vector<Name> names_;
};

class RecipeStore : public ServerStore {
 public:
  using ServerStore::ServerStore;

  void Fold(const Tick& tick) {
    const std::string now = std::to_string(tick.at);
    std::string fields;
    for (const JobEvent& event : tick.events) {
      const auto& names = event.event.names;
      fields.assign("f:").append(event.key);
      Send(std::array<std::string_view, 4>{"ZADD", "pending", now, event.key}, kDepth);
      Send(std::array<std::string_view, 6>{"SADD", fields, names[0].text(), names[1].text(),
                                           names[2].text(), names[3].text()},
           kDepth);
    }
  }

  void Poll(int64_t tick, Emissions& emissions) {
    const std::string cutoff = std::to_string(tick - quiet_);
    AppendRange(cutoff);
    ReadAll();
    for (bool more = true; more;) {
      const RedisServer::Reply due = server_.Read();
      if (due->elements == 0) return;
      AppendPop(*due);
      more = due->elements == kPopAtOnce;
      if (more) AppendRange(cutoff);
      for (const redisReply* key : Elements(*due)) {
        Emit(Text(*key), tick, *server_.Read(), emissions);
      }
      server_.Read();  // ZREM
      server_.Read();  // DEL
    }
  }

 private:
  static constexpr size_t kDepth = 256;  // 64 to 1,024 are alike
  static constexpr size_t kPopAtOnce = 512;

  void AppendRange(const std::string& cutoff) {
    server_.Append(std::array<std::string_view, 7>{"ZRANGEBYSCORE", "pending", "-inf", cutoff,
                                                   "LIMIT", "0", std::to_string(kPopAtOnce)});
  }

  // SMEMBERS of each key, then ZREM and DEL of all.
  void AppendPop(const redisReply& keys) {
    std::vector<std::string> fields;
    std::vector<std::string_view> remove = {"ZREM", "pending"};
    std::vector<std::string_view> drop = {"DEL"};
    fields.reserve(keys.elements);
    for (const redisReply* key : Elements(keys)) {
      fields.push_back("f:" + std::string(Text(*key)));
      server_.Append(std::array<std::string_view, 2>{"SMEMBERS", fields.back()});
      remove.push_back(Text(*key));
      drop.push_back(fields.back());
    }
    server_.Append(remove);
    server_.Append(drop);
  }
};

// ARGV: now, the tick that is due a quiet period later, then of each event the key and four names.
constexpr std::string_view kFoldScript = R"(
local call, now = redis.call, ARGV[1]
local opened = {}
for i = 3, #ARGV, 5 do
  local group = 'f:' .. ARGV[i]
  if call('HSET', group, '@', now) == 1 then opened[#opened + 1] = ARGV[i] end
  call('HSET', group, ARGV[i + 1], '', ARGV[i + 2], '', ARGV[i + 3], '', ARGV[i + 4], '')
end
if #opened > 0 then call('RPUSH', 'due:' .. ARGV[2], unpack(opened)) end
)";

// ARGV: now and the quiet period. Returns now, then of each group that is due the key and the names.
constexpr std::string_view kPopScript = R"(
local call, now, quiet = redis.call, tonumber(ARGV[1]), tonumber(ARGV[2])
local out = {ARGV[1]}
for tick = tonumber(call('GETSET', 'polled', now) or now) + 1, now do
  local list = 'due:' .. tick
  local keys = call('LRANGE', list, 0, -1)
  for i = 1, #keys do
    local group = 'f:' .. keys[i]
    local due = call('HGET', group, '@') + quiet
    if due <= now then
      call('HDEL', group, '@')
      out[#out + 1] = keys[i]
      out[#out + 1] = call('HKEYS', group)
      call('DEL', group)
    else
      call('RPUSH', 'due:' .. due, keys[i])
    end
  end
  if #keys > 0 then call('DEL', list) end
end
return out
)";

class LuaStore : public ServerStore {
 public:
  LuaStore(const char* program, const Job& job)
      : ServerStore(program, job),
        fold_(Text(*server_.Call({"SCRIPT", "LOAD", kFoldScript}))),
        pop_(Text(*server_.Call({"SCRIPT", "LOAD", kPopScript}))) {}

  void Fold(const Tick& tick) {
    const std::string now = std::to_string(tick.at);
    const std::string due = std::to_string(tick.at + quiet_);
    for (size_t i = 0; i < tick.events.size(); i += kEventsAtOnce) {
      command_ = {"EVALSHA", fold_, "0", now, due};
      for (const JobEvent& event :
           tick.events.subspan(i, std::min(kEventsAtOnce, tick.events.size() - i))) {
        command_.push_back(event.key);
        for (const Name& name : event.event.names) command_.push_back(name.text());
      }
      Send(command_, kDepth);
    }
    if (tick.events.empty()) ReadAll();  // what follows may be too little to do it
  }

  void Poll(int64_t tick, Emissions& emissions) {
    emissions_ = &emissions;
    const std::string now = std::to_string(tick);
    const std::string quiet = std::to_string(quiet_);
    Send(std::array<std::string_view, 5>{"EVALSHA", pop_, "0", now, quiet}, kDepth);
  }

 private:
  static constexpr size_t kEventsAtOnce = 128;  // 16 to 256 are alike
  static constexpr size_t kDepth = 4;           // scripts; 1 to 32 are alike

  // A fold answers nil.
  void Take(const redisReply& reply) override {
    const auto popped = Elements(reply);
    if (popped.empty()) return;
    const int64_t tick = std::strtoll(popped[0]->str, nullptr, 10);
    for (size_t i = 1; i < popped.size(); i += 2) {
      Emit(Text(*popped[i]), tick, *popped[i + 1], *emissions_);
    }
  }

  std::string fold_;
  std::string pop_;
  std::vector<std::string_view> command_;
  Emissions* emissions_ = nullptr;
};

template <class Store>
JobResult Run(const char* program, const Job& job, bool keep_rows) {
  Store store(program, job);
  const double cpu_before = store.UsedCpuSeconds();
  JobResult result = RunTicks(job, keep_rows, store);
  result.cpu_seconds = store.UsedCpuSeconds() - cpu_before;
  return result;
}

}  // namespace

JobResult RedisRecipe(const Job& job, bool keep_rows) {
  return Run<RecipeStore>("redis-server", job, keep_rows);
}

JobResult RedisLua(const Job& job, bool keep_rows) {
  return Run<LuaStore>("redis-server", job, keep_rows);
}

JobResult ValkeyRecipe(const Job& job, bool keep_rows) {
  return Run<RecipeStore>("valkey-server", job, keep_rows);
}

}  // namespace pleat::bench
