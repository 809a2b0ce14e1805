// A world for tests of lanes: a scripted log, members that come and go, a clock, and the receiver of
// all messages. The handlers make groups of two kinds and a message of some records, by log time or
// by event time.
#pragma once

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <random>
#include <set>
#include <string>
#include <string_view>
#include <system_error>
#include <tuple>
#include <utility>
#include <vector>

#include <gtest/gtest.h>
#include <pleat/folder.h>
#include <pleat/intake.h>
#include <pleat/processor.h>
#include <pleat/scripted_log.h>

#include "tests/support/start.h"

namespace pleat::inline v0_1 {

inline constexpr Duration kShortQuiet = std::chrono::seconds(10);
inline constexpr Duration kLongQuiet = std::chrono::seconds(60);
inline constexpr Duration kLongWait = std::chrono::seconds(150);

// The offsets of a group's records, so that each record is seen in exactly one group of each kind.
struct Offsets {
  std::vector<uint64_t> all;

  void Fold(uint64_t offset) noexcept { all.push_back(offset); }
  template <class F>
  void Stored(F& f) {
    f(all);
  }
  std::string Text() const {
    std::string text;
    for (const uint64_t each : all) text += (text.empty() ? "" : " ") + std::to_string(each);
    return text;
  }
};
using Groups = Folder<uint64_t, Offsets>;

// What a test says of a record before it is handled.
using Judge = std::function<Handled(int partition, const LogRecord& record)>;

class GroupingHandler final : public Handler {
 public:
  explicit GroupingHandler(Lane& lane, Judge judge = nullptr, size_t batch_max = 0,
                           Duration short_quiet = kShortQuiet)
      : judge_(std::move(judge)),
        batch_max_(batch_max),
        short_(lane.engine(), "short", {.quiet_period = short_quiet, .max_wait = kForever}),
        long_(lane.engine(), "long", {.quiet_period = kLongQuiet, .max_wait = kLongWait}),
        intake_(lane.engine(), {.stamps_move_time = true}) {
    const auto text = [](const auto& emission) { return emission.state.Text(); };
    lane.Publish("short", short_, text);
    lane.Publish("long", long_, text);
    intake_.Feed(short_);
    intake_.Feed(long_);
  }

  Handled Handle(const LogRecord& record, Lane& lane) override {
    const Handled judged = Judged(record, lane);
    if (judged.is_done()) intake_.Push(record.key, record.offset, record.logged);
    return judged;
  }
  size_t BatchOf(std::span<const LogRecord> records) const override {
    return std::min(records.size(), batch_max_);
  }
  void HandleBatch(std::span<const LogRecord> records, Lane& lane) override {
    EXPECT_GT(records.size(), 1u);
    EXPECT_EQ(lane.now(), records.back().logged);
    std::vector<KeyedEvent<uint64_t>> events;
    for (const LogRecord& each : records) {
      EXPECT_TRUE(Judged(each, lane).is_done());
      events.push_back({each.key, each.logged, each.offset});
    }
    intake_.Push(events);
  }
  void CloseAll(Lane&) override {
    short_.CloseAll();
    long_.CloseAll();
  }

 private:
  Handled Judged(const LogRecord& record, Lane& lane) {
    if (judge_) {
      if (Handled judged = judge_(lane.partition(), record); !judged.is_done()) return judged;
    }
    if (record.payload == "!") lane.Emit(record.key, std::to_string(record.offset));
    return Handled::Done();
  }

  const Judge judge_;
  const size_t batch_max_;
  Groups short_;
  Groups long_;
  Intake<uint64_t> intake_;
};

inline std::unique_ptr<Handler> MakeGroupingHandler(Lane& lane) {
  return std::make_unique<GroupingHandler>(lane);
}

// How far out of order the stamps of records may be.
inline constexpr Duration kReorder = std::chrono::seconds(3);

// Groups by the stamps of records.
class EventTimeHandler final : public Handler {
 public:
  explicit EventTimeHandler(Lane& lane, Judge judge = nullptr, size_t batch_max = 0)
      : judge_(std::move(judge)),
        batch_max_(batch_max),
        short_(lane.engine(), "short", {.quiet_period = kShortQuiet, .max_wait = kForever}),
        long_(lane.engine(), "long", {.quiet_period = kLongQuiet, .max_wait = kLongWait}),
        intake_(lane.engine(), {.reorder = kReorder}) {
    const auto text = [](const auto& emission) { return emission.state.Text(); };
    lane.Publish("short", short_, text);
    lane.Publish("long", long_, text);
    intake_.Feed(short_);
    intake_.Feed(long_);
  }

  Handled Handle(const LogRecord& record, Lane& lane) override {
    if (judge_) {
      if (Handled judged = judge_(lane.partition(), record); !judged.is_done()) return judged;
    }
    intake_.Push(record.key, record.offset, record.stamp);
    if (record.payload == "!") lane.Emit(record.key, std::to_string(record.offset));
    return Handled::Done();
  }
  size_t BatchOf(std::span<const LogRecord> records) const override {
    return std::min(records.size(), batch_max_);
  }
  void HandleBatch(std::span<const LogRecord> records, Lane& lane) override {
    EXPECT_GT(records.size(), 1u);
    EXPECT_EQ(lane.now(), records.back().logged);
    for (const LogRecord& each : records) EXPECT_TRUE(Handle(each, lane).is_done());
  }
  std::optional<EngineTime> NextWaiting() const override { return intake_.next_waiting(); }
  void TakeUntil(EngineTime now, Lane&) override { intake_.Advance(now); }
  void CloseAll(Lane&) override {
    intake_.TakeWaiting();
    short_.CloseAll();
    long_.CloseAll();
  }

 private:
  const Judge judge_;
  const size_t batch_max_;
  Groups short_;
  Groups long_;
  Intake<uint64_t> intake_;
};

// `batch_max`: the records that it takes at once; REQUIRES: zero if the judge refuses any.
inline MakeHandler HandlerFor(const ProcessorOptions& options, Judge judge = nullptr,
                              size_t batch_max = 0) {
  return [axis = options.engine.axis, judge = std::move(judge), batch_max](Lane& lane) {
    std::unique_ptr<Handler> handler;
    if (axis == Axis::kEvent) {
      handler = std::make_unique<EventTimeHandler>(lane, judge, batch_max);
    } else {
      handler = std::make_unique<GroupingHandler>(lane, judge, batch_max);
    }
    return handler;
  };
}

// Of a text such as "a: 1 2", where a is the key: calls `see(1)`, then `see(2)`.
template <class See>
void ForEachOffset(std::string_view text, const See& see) {
  for (size_t at = text.find(' '); at < text.size();) {
    uint64_t offset = 0;
    const char* const begin = text.data() + at + 1;
    const auto [end, error] = std::from_chars(begin, text.data() + text.size(), offset);
    ASSERT_EQ(error, std::errc()) << text;
    see(offset);
    at = static_cast<size_t>(end - text.data());
  }
}
inline std::string_view KeyIn(std::string_view text) { return text.substr(0, text.find(':')); }

// What became of the messages. Second deliveries have to say the same.
class Receiver {
 public:
  using Name = std::tuple<int, std::string, uint64_t>;  // partition, stream, number

  void Take(const Message& message) {
    const Name name(message.id.partition, message.stream, message.id.number);
    const std::string text = message.key + ": " + message.payload;
    const auto [it, is_new] = all_.try_emplace(name, text);
    EXPECT_EQ(it->second, text) << "a message of one id says two things";
    repeats_ += is_new ? 0 : 1;
    lives_[message.id.partition].insert(message.id.life);
    // First deliveries of a key of a stream come in order, unless one was set aside.
    uint64_t& next = next_of_key_[{message.id.partition, message.stream, message.key}];
    if (is_new && keeps_order_) {
      EXPECT_GE(message.id.number, next);
    }
    next = std::max(next, message.id.number + 1);
  }

  // Of the stream, or of all, the records of each key come in their order.
  void ExpectOrderOfKeys(const std::string& of_stream = "") const {
    std::map<std::tuple<int, std::string_view, std::string_view>, uint64_t> next;
    for (const auto& [name, text] : all_) {
      const int partition = std::get<int>(name);
      const std::string& stream = std::get<std::string>(name);
      if (!of_stream.empty() && stream != of_stream) continue;
      uint64_t& at_least = next[{partition, stream, KeyIn(text)}];
      ForEachOffset(text, [&](uint64_t offset) {
        EXPECT_GE(offset, at_least) << "partition " << partition << ", " << stream << ", " << text;
        at_least = offset + 1;
      });
    }
  }

  void ExpectNoOrder() { keeps_order_ = false; }

  const std::map<Name, std::string>& all() const { return all_; }
  uint64_t repeats() const { return repeats_; }
  const std::map<int, std::set<uint64_t>>& lives() const { return lives_; }

 private:
  std::map<Name, std::string> all_;
  uint64_t repeats_ = 0;
  bool keeps_order_ = true;
  std::map<std::tuple<int, std::string, std::string>, uint64_t> next_of_key_;
  std::map<int, std::set<uint64_t>> lives_;
};

class Member {
 public:
  Member(ScriptedLog& log, const ProcessorOptions& options, Judge judge = nullptr,
         size_t batch_max = 0)
      : log_(log.Join()),
        processor_(*log_, HandlerFor(options, std::move(judge), batch_max), options) {}

  PartitionedLog& log() { return *log_; }
  Processor& processor() { return processor_; }

 private:
  const std::unique_ptr<PartitionedLog> log_;
  Processor processor_;
};

// A record that a test has appended, and the record that a lane reads.
struct AppendedRecord {
  uint64_t offset = 0;
  EngineTime logged{}, stamp{};
  std::string key, payload;

  StoreRecord AsAppended() const { return {.key = key, .stamp = stamp, .payload = payload}; }
  LogRecord AsRead() const { return {offset, logged, stamp, key, {}, payload}; }
};
using AppendedRecords = std::map<int, std::vector<AppendedRecord>>;  // by partition

// What a program without any trouble would have received of these records.
inline std::map<Receiver::Name, std::string> WithoutTrouble(const AppendedRecords& records,
                                                            const ProcessorOptions& options,
                                                            EngineTime end) {
  if (records.empty()) return {};
  ScriptedLog log(records.rbegin()->first + 1);
  Member member(log, options);
  for (const auto& [partition, all] : records) {
    for (const AppendedRecord& each : all) {
      while (log.End(partition) < each.offset) {
        log.Remove(partition, log.Append(partition, {}, each.logged));
      }
      log.Append(partition, each.AsAppended(), each.logged);
    }
    log.Assign(partition, member.log());
  }
  Receiver receiver;
  EngineTime now = end;
  for (int quiet_rounds = 0; quiet_rounds < 4; now += options.commit_every * 20) {
    const absl::StatusOr<bool> more = member.processor().Run(now);
    EXPECT_TRUE(more.ok()) << more.status();
    const std::vector<Message> lent = member.processor().Lease(SIZE_MAX, kForever, now);
    for (const Message& each : lent) {
      receiver.Take(each);
      EXPECT_TRUE(member.processor().Ack(each.id));
    }
    quiet_rounds = lent.empty() && !*more ? quiet_rounds + 1 : 0;
  }
  for (const LaneStatus& each : member.processor().lanes()) {
    EXPECT_EQ(each.phase, LanePhase::kLive) << each.why;
  }
  return receiver.all();
}

}  // namespace pleat::inline v0_1
