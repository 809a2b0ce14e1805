// The recipe of a live set in a real Redis beside a LiveSet, with the same stamps: counts and
// members agree at every step. The recipe keeps a sorted set for each series, with stamps as
// scores, and deletes before each read what has expired:
//
//   ZADD s GT <stamp> <id>                      Add
//   ZREM s <id>                                 Remove
//   ZREMRANGEBYSCORE s -inf <now - ttl>         nothing: reads are exact
//   ZREMRANGEBYSCORE s <from> (<to>             Remove of a range
//   ZCARD s, ZCOUNT s (<since> +inf             Count, CountSince
//   ZCOUNT s <from> (<to>, ZRANGE s 0 -1        CountBetween, List
//
// Redis has no tombstones, so an id that was removed is added again with later stamps only. The
// server listens on a unix socket of its own and ends with this program; if it does not start, the
// test fails.
//
//   PLEAT_SEED=17   other stamps; 1 by default
#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <iostream>
#include <map>
#include <memory>
#include <random>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <pleat/live_set.h>

#include "tests/support/redis_server.h"
#include "tests/support/start.h"

namespace pleat::inline v0_1 {
namespace {

using namespace std::chrono_literals;

constexpr int kSteps = 4'000;
constexpr Duration kTtl = 60s;

using Members =
    std::vector<std::pair<int64_t, std::string>>;  // by stamp, and then by id, as Redis has them

std::string Score(EngineTime t) { return std::to_string(t.time_since_epoch().count()); }
std::string Open(const std::string& score) {
  return "(" + score;
}  // a bound that is not in the range

// The recipe.
class RedisSide {
 public:
  void Add(const std::string& series, const std::string& id, EngineTime at) {
    server_.Call({"ZADD", series, "GT", Score(at), id});
  }
  bool Remove(const std::string& series, const std::string& id) {
    return server_.Call({"ZREM", series, id})->integer == 1;
  }
  size_t Remove(const std::string& series, EngineTime from, EngineTime to) {
    return Number({"ZREMRANGEBYSCORE", series, Score(from), Open(Score(to))});
  }
  void Trim(const std::string& series, EngineTime now) {
    server_.Call({"ZREMRANGEBYSCORE", series, "-inf", Score(now - kTtl)});
  }
  size_t Count(const std::string& series) { return Number({"ZCARD", series}); }
  size_t CountSince(const std::string& series, EngineTime since) {
    return Number({"ZCOUNT", series, Open(Score(since)), "+inf"});
  }
  size_t CountBetween(const std::string& series, EngineTime from, EngineTime to) {
    return Number({"ZCOUNT", series, Score(from), Open(Score(to))});
  }
  Members List(const std::string& series) {
    const RedisServer::Reply reply = server_.Call({"ZRANGE", series, "0", "-1", "WITHSCORES"});
    Members members;
    for (size_t i = 0; i + 1 < reply->elements; i += 2) {
      members.emplace_back(std::atoll(reply->element[i + 1]->str),
                           std::string(reply->element[i]->str, reply->element[i]->len));
    }
    return members;
  }

 private:
  size_t Number(std::initializer_list<std::string_view> command) {
    return static_cast<size_t>(server_.Call(command)->integer);
  }

  RedisServer server_{"redis-server"};
};

class RedisAgreement : public testing::Test {
 protected:
  RedisAgreement() { engine_->Advance(kT0); }

  void Advance(EngineTime now) { engine_->Advance(now); }

  void Add(const std::string& series, const std::string& id, EngineTime at) {
    at = std::max(at, removed_[{series, id}] + 1us);
    redis_.Trim(series, engine_->now());
    redis_.Add(series, id, at);
    live_set_.Add(series, {.id = id}, at);
  }
  void Remove(const std::string& series, const std::string& id) {
    redis_.Trim(series, engine_->now());
    for (const auto& [stamp, member] : redis_.List(series)) {
      if (member == id) NoteRemoval(series, id, EngineTime(Duration(stamp)));
    }
    NoteRemoval(series, id, engine_->now());
    const bool removed = live_set_.Remove(series, id) == LiveSetControl::kDone;
    EXPECT_EQ(removed, redis_.Remove(series, id));
  }
  void Remove(const std::string& series, EngineTime from, EngineTime to) {
    redis_.Trim(series, engine_->now());
    for (const auto& [stamp, id] : redis_.List(series)) {
      const EngineTime at{Duration(stamp)};
      if (from <= at && at < to) NoteRemoval(series, id, at);
    }
    EXPECT_EQ(live_set_.Remove(series, from, to), redis_.Remove(series, from, to));
  }

  void Compare(const std::string& series, EngineTime from, EngineTime to) {
    redis_.Trim(series, engine_->now());
    EXPECT_EQ(live_set_.Count(series), redis_.Count(series));
    EXPECT_EQ(live_set_.CountSince(series, from), redis_.CountSince(series, from));
    EXPECT_EQ(live_set_.CountBetween(series, from, to), redis_.CountBetween(series, from, to));
    EXPECT_EQ(List(series), redis_.List(series));
  }

  EngineTime now() const { return engine_->now(); }
  const LiveSet<>& live_set() const { return live_set_; }

 private:
  void NoteRemoval(const std::string& series, const std::string& id, EngineTime at) {
    EngineTime& last = removed_[{series, id}];
    last = std::max(last, at);
  }

  Members List(const std::string& series) const {
    Members members;
    for (const auto& member : live_set_.List(series, {.newest_first = false, .limit = SIZE_MAX})) {
      members.emplace_back(member.stamp.time_since_epoch().count(), member.id);
    }
    std::sort(members.begin(), members.end());
    return members;
  }

  std::unique_ptr<Engine> engine_ = Engine::Open({}).value();
  LiveSet<> live_set_{*engine_, "live_set", {.ttl = kTtl}};
  RedisSide redis_;
  std::map<std::pair<std::string, std::string>, EngineTime> removed_;
};

TEST_F(RedisAgreement, AMemberEndsAtTheSameInstant) {
  Add("s", "ann", kT0);
  Advance(kT0 + kTtl - 1us);
  Compare("s", kT0, kT0 + 1us);
  EXPECT_EQ(live_set().Count("s"), 1u);
  Advance(kT0 + kTtl);
  Compare("s", kT0, kT0 + 1us);
  EXPECT_EQ(live_set().Count("s"), 0u);
}

TEST_F(RedisAgreement, CountsAndMembersAgreeAtEveryStep) {
  const char* const seed = std::getenv("PLEAT_SEED");
  std::mt19937_64 random(seed != nullptr ? std::strtoull(seed, nullptr, 10) : 1);
  const auto below = [&](uint64_t end) { return random() % end; };
  const auto seconds = [&](uint64_t end) { return std::chrono::seconds(below(end)); };
  size_t seen = 0;
  for (int step = 0; step < kSteps && !HasFailure(); ++step) {
    SCOPED_TRACE("step " + std::to_string(step) +
                 (seed != nullptr ? ", with this PLEAT_SEED" : ""));
    const std::string series = "series " + std::to_string(below(3));
    const std::string id = "member " + std::to_string(below(40));
    const EngineTime at = now() + 5s - seconds(80);  // some ahead, some late
    const uint64_t choice = below(20);
    if (choice < 14) {
      Add(series, id, at);
    } else if (choice < 16) {
      Remove(series, id);
    } else if (choice < 17) {
      Remove(series, at, at + seconds(5));
    } else {
      Advance(now() + seconds(8));
    }
    Compare(series, at, at + seconds(30));
    seen += live_set().Count(series);
  }
  EXPECT_GT(seen, static_cast<size_t>(kSteps));  // something was compared
}

}  // namespace
}  // namespace pleat::inline v0_1
