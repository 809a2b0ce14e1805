// A presence with statuses as metadata, for stories that begin at kT0: TTL 75 s, grace 30 s.
#pragma once

#include <chrono>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <pleat/presence.h>

#include "tests/support/start.h"

namespace pleat::inline v0_1 {

class PresenceTest : public testing::Test {
 protected:
  using Room = Presence<std::string>;

  static EngineTime At(Duration since_start) { return SaturatingAdd(kT0, since_start); }

  PresenceTest() { Open({}); }

  void Open(const PresenceOptions& options, EngineOptions engine = {.partitions = 1}) {
    room_.reset();
    engine.huge_pages = HugePages::kOff;
    engine_ = Engine::Open(engine).value();
    room_ = Room::Open(*engine_, "room", options).value();
    if (engine.axis == Axis::kArrival) engine_->Advance(kT0);
    std::vector<SeriesCount> snapshot;
    cursor_ = room_->Watch(kAll, snapshot);
  }
  static EngineOptions OnEventTime(Duration watermark_delay = Duration{0}) {
    return {.partitions = 1, .axis = Axis::kEvent, .watermark_delay = watermark_delay};
  }

  Engine& engine() { return *engine_; }
  Room& room() { return *room_; }
  void Advance(Duration to) { engine_->Advance(At(to)); }

  // Of the series "r", whose clients remember the latest generation that they were given.
  PresenceOutcome Enter(const std::string& user, const std::string& connection, Duration at,
                        const std::string& status = "") {
    const Entered entered = room_->Enter("r", user, connection, status, At(at));
    if (entered.generation != 0) generations_[user + "/" + connection] = entered.generation;
    return entered.outcome;
  }
  uint64_t Generation(const std::string& user, const std::string& connection) {
    return generations_[user + "/" + connection];
  }
  PresenceOutcome Beat(const std::string& user, const std::string& connection, Duration at) {
    return room_->Beat("r", user, connection, Generation(user, connection), At(at));
  }
  PresenceOutcome Update(const std::string& user, const std::string& connection, Duration at,
                         const std::string& status) {
    return room_->Update("r", user, connection, Generation(user, connection), status, At(at));
  }
  PresenceOutcome Leave(const std::string& user, const std::string& connection, Duration at) {
    return room_->Leave("r", user, connection, Generation(user, connection), At(at));
  }

  // Users here, users away, and live connections of "r".
  std::vector<size_t> Counts(EngineTime now = kBeginningOfTime) const {
    const PresenceCounts counts = room_->Count("r", now);
    return {counts.here, counts.away, counts.connections};
  }
  std::optional<Room::User> Find(std::string_view user) const { return room_->Find("r", user); }

  // The changes since the last call, as "second user cause count away".
  std::vector<std::string> Changes() {
    std::vector<std::string> lines;
    for (const Change<std::string>& c : Read()) {
      lines.push_back(std::to_string((c.at - kT0) / std::chrono::seconds(1)) + " " + c.id + " " +
                      std::string(CauseName(c.cause)) + " " + std::to_string(c.count) + " " +
                      std::to_string(c.away));
    }
    return lines;
  }
  std::vector<Change<std::string>> Read() {
    std::vector<Change<std::string>> changes;
    EXPECT_EQ(room_->Read(kAll, cursor_, SIZE_MAX, changes), ReadChanges::kAll);
    return changes;
  }

  PresenceLedger ledger() const {
    const PresenceLedger ledger = room_->ledger();
    EXPECT_TRUE(ledger.Balances());
    room_->any().CheckWhole();
    return ledger;
  }

 private:
  static constexpr WatchScope kAll{.name = "", .is_prefix = true};

  std::unique_ptr<Engine> engine_;
  std::optional<Room> room_;
  ChangeCursor cursor_;
  std::map<std::string, uint64_t> generations_;
};

}  // namespace pleat::inline v0_1
