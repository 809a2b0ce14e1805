// The limit on memory that control groups set, as the kernel shows it below some root.
#include "tools/pleat/machine_memory.h"

#include "tests/support/temporary_directory.h"

namespace pleat::cli {
namespace {

class CgroupMemory : public testing::Test {
 protected:
  // Gives the kernel's file `path` this content.
  void Put(const std::string& path, std::string_view content) {
    const std::filesystem::path file = root_.path() + path;
    std::filesystem::create_directories(file.parent_path());
    std::ofstream(file) << content;
  }
  size_t Limit() const { return CgroupMemoryLimit(root_.path()); }

 private:
  TemporaryDirectory root_;
};

TEST_F(CgroupMemory, NoneWithoutControlGroupsOrLimits) {
  EXPECT_EQ(Limit(), SIZE_MAX);
  Put("/proc/self/cgroup", "0::/user.slice/shell\n");
  EXPECT_EQ(Limit(), SIZE_MAX);
  Put("/sys/fs/cgroup/user.slice/shell/memory.max", "max\n");
  Put("/sys/fs/cgroup/user.slice/shell/memory.high", "max\n");
  EXPECT_EQ(Limit(), SIZE_MAX);
}

TEST_F(CgroupMemory, OfVersion2IsTheSmallestUpTheHierarchy) {
  Put("/proc/self/cgroup", "0::/jobs/nightly/fold\n");
  Put("/sys/fs/cgroup/jobs/nightly/fold/memory.max", "3000000\n");
  EXPECT_EQ(Limit(), 3'000'000u);
  Put("/sys/fs/cgroup/jobs/nightly/fold/memory.high", "2500000\n");
  EXPECT_EQ(Limit(), 2'500'000u);
  Put("/sys/fs/cgroup/jobs/nightly/memory.max", "max\n");
  Put("/sys/fs/cgroup/jobs/memory.max", "2000000\n");
  EXPECT_EQ(Limit(), 2'000'000u);
  // Of somebody else.
  Put("/sys/fs/cgroup/jobs/nightly/other/memory.max", "1\n");
  EXPECT_EQ(Limit(), 2'000'000u);
}

TEST_F(CgroupMemory, OfVersion2InAContainerIsThatOfItsRoot) {
  Put("/proc/self/cgroup", "0::/\n");
  Put("/sys/fs/cgroup/memory.max", "1000000\n");
  EXPECT_EQ(Limit(), 1'000'000u);
}

TEST_F(CgroupMemory, OfVersion1) {
  Put("/proc/self/cgroup", "5:cpu,memory:/docker/1a2b\n4:memory_extra:/x\n1:name=systemd:/y\n");
  Put("/sys/fs/cgroup/memory/docker/1a2b/memory.limit_in_bytes", "9223372036854771712\n");
  Put("/sys/fs/cgroup/memory/x/memory.limit_in_bytes", "1\n");
  EXPECT_EQ(Limit(), 9'223'372'036'854'771'712u);
  Put("/sys/fs/cgroup/memory/memory.limit_in_bytes", "4000000\n");
  EXPECT_EQ(Limit(), 4'000'000u);
}

TEST_F(CgroupMemory, WhatCannotBeReadIsNoLimit) {
  Put("/proc/self/cgroup", "\n0\n0:\nx:memory\n0::/a\n");
  Put("/sys/fs/cgroup/a/memory.max", "");
  EXPECT_EQ(Limit(), SIZE_MAX);
}

TEST(HalfOfMemory, IsNoMoreThanTheControlGroupAllows) {
  EXPECT_GT(HalfOfMemory(), 0u);
  EXPECT_LE(HalfOfMemory(), CgroupMemoryLimit("") / 2);
}

}  // namespace
}  // namespace pleat::cli
