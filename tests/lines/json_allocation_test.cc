// The promise that a line which folds into an open group allocates nothing.
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "tests/lines/json_harness.h"
#include "tests/support/allocations.h"

namespace pleat {
namespace {

TEST(JsonFolder, AllocatesNothingPerLineOfAnOpenGroup) {
  const FoldSpec spec = SpecOf(
      "--key k,inner=o.k --time t --merge 'set=set(tags)' --merge 'keys=keys(o)'"
      " --merge 'sum=sum(v)' --merge 'min=min(v)' --merge 'mean=mean(v)' --merge 'last=last(s)'"
      " --merge 'n=count()' --max-bytes 1G --quiet-path q"
      R"( --start-when 's="never \n"' --end-when '{"any":["v>=7",{"not":"o.k=1"}]}')"
      R"( --close-when '{"all":["sum<0","last=never"]}')");
  JsonHarness harness(spec);
  std::vector<PaddedLine> lines;
  for (int i = 0; i < 60; ++i) {
    const std::string second = std::to_string(10 + i % 50);
    lines.emplace_back(R"({"k":"\u0061","t":"2015-01-01T00:00:)" + second + R"(Z","v":)" +
                       std::to_string(i % 7) +
                       R"(.5,"q":"2m","s":"a text with an escape \n in it","tags":["x",)" +
                       std::to_string(i % 40) + R"(],"o":{"k":1,"a\u0062":null}})");
  }
  const auto fold_all = [&] {
    for (const PaddedLine& line : lines) {
      ASSERT_EQ(harness.folder().FoldLine(line.view(), {}).kind, LineResult::Kind::kEvent);
    }
  };
  fold_all();
  const size_t before = AllocationCount();
  fold_all();
  EXPECT_EQ(AllocationCount(), before);
  EXPECT_EQ(harness.folder().ledger().open, 1u);
}

TEST(JsonFolder, AllocatesNothingForAnInvalidLine) {
  JsonHarness harness("--key k");
  const std::vector<PaddedLine> lines = {PaddedLine(R"({"k":1,"a":tru})"), PaddedLine(R"({"a":1})"),
                                         PaddedLine(R"({"k":"\ud800"})"), PaddedLine("[1]")};
  for (const PaddedLine& line : lines) harness.folder().FoldLine(line.view(), {});
  const size_t before = AllocationCount();
  for (const PaddedLine& line : lines) harness.folder().FoldLine(line.view(), {});
  EXPECT_EQ(AllocationCount(), before);
}

}  // namespace
}  // namespace pleat
