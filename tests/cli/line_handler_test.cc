// The handler of `pleat run`: a line comes to the same whether its record is handed over alone or
// with others.
#include "tools/pleat/run/line_handler.h"

#include <algorithm>
#include <chrono>
#include <memory>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <pleat/processor.h>
#include <pleat/scripted_log.h>

#include "tests/support/start.h"

namespace pleat::cli {
namespace {

using std::chrono_literals::operator""min;
using std::chrono_literals::operator""s;
using testing::Gt;
using testing::SizeIs;

template <class Spec>
Spec ByUser() {
  Spec spec;
  EXPECT_TRUE(SetOption(spec, "key", "user").ok());
  EXPECT_TRUE(SetOption(spec, "time", "t").ok());
  EXPECT_TRUE(SetOption(spec, "time-unit", "s").ok());
  return spec;
}
RunCollection Bursts() {
  auto spec = ByUser<FoldSpec>();
  EXPECT_TRUE(SetOption(spec, "quiet", "1m").ok());
  return {.name = "bursts", .spec = spec};
}
RunCollection Sums(size_t bytes_max = size_t{1} << 30) {
  auto spec = ByUser<RollupSpec>();
  spec.value = "n";
  spec.rollup.windows = {5min};
  spec.rollup.allowed_lateness = 30s;
  spec.rollup.limits.max_bytes = bytes_max;
  return {.name = "sums", .spec = spec};
}
RunOptions OptionsOf(std::vector<RunCollection> collections) {
  return {.collections = std::move(collections), .invalid_file = "invalid", .late_file = "late"};
}

// Of twenty users; one in fifty is late, and one in 97 invalid.
std::string Line(int n) {
  const int at = 1'700'000'000 + 7 * n - (n % 50 == 49 ? 400 : 0);
  const std::string user = "\"u" + std::to_string(n * n % 20) + "\"";
  return n % 97 == 96 ? "{\"user\":" + user + "}"
                      : "{\"user\":" + user + ",\"n\":" + std::to_string(n) +
                            ",\"t\":" + std::to_string(at) + "}";
}

// The messages of 3,000 lines, of which so many are handed over at a time.
std::vector<std::string> MessagesOf(const RunOptions& options, size_t at_a_time,
                                    RunCounts& counts) {
  ScriptedLog log(1);
  log.SetPollRecords(at_a_time);
  for (int n = 0; n < 3'000; ++n) {
    const std::string line = Line(n);
    log.Append(0, {.key = "k", .payload = line}, kT0);
  }
  const auto member = log.Join();
  ProcessorOptions lanes;
  lanes.engine = EngineOptionsFor(options.collections.front().event());
  Processor processor(
      *member,
      [&](Lane& lane) {
        auto handler = LineHandler::Open(lane.engine(), options, counts);
        EXPECT_TRUE(handler.ok()) << handler.status();
        (*handler)->PublishIn(lane);
        return *std::move(handler);
      },
      lanes);
  log.Assign(0, *member);
  std::vector<std::string> messages;
  EngineTime now = kT0;
  for (int quiet = 0; quiet < 3; now += 1s) {
    const absl::StatusOr<bool> more = processor.Run(now);
    EXPECT_TRUE(more.ok()) << more.status();
    const auto lent = processor.Lease(SIZE_MAX, 1min, now, LeaseKeys::kTogether);
    for (const Message& each : lent) {
      messages.push_back(each.stream + " " + std::to_string(each.id.number) + " " + each.payload);
      EXPECT_TRUE(processor.Ack(each.id));
    }
    quiet = *more || !lent.empty() ? 0 : quiet + 1;
  }
  std::ranges::sort(messages);
  return messages;
}

void ExpectTheSameAloneAndWithOthers(const RunOptions& options) {
  RunCounts alone, together;
  const std::vector<std::string> expected = MessagesOf(options, 1, alone);
  EXPECT_THAT(expected, SizeIs(Gt(100u)));
  EXPECT_EQ(MessagesOf(options, 256, together), expected);
  EXPECT_EQ(together.late, alone.late);
  EXPECT_EQ(together.over_limit, alone.over_limit);
  EXPECT_EQ(together.invalid, alone.invalid);
  EXPECT_GE(alone.invalid, 30u);
}

TEST(LineHandlerTest, ALineComesToTheSameAloneAndWithOthers) {
  ExpectTheSameAloneAndWithOthers(OptionsOf({Bursts(), Sums()}));
}

TEST(LineHandlerTest, LinesThatWaitForTheirTurnComeToTheSame) {
  RunCollection bursts = Bursts();
  std::get<FoldSpec>(bursts.spec).event.reorder = 200s;  // some are late still
  ExpectTheSameAloneAndWithOthers(OptionsOf({bursts}));
}

TEST(LineHandlerTest, TheSameLinesAreOverALimit) {
  ExpectTheSameAloneAndWithOthers(OptionsOf({Sums(2'000)}));
}

}  // namespace
}  // namespace pleat::cli
