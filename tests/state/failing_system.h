// The calls of the C library that PosixStorage() makes, which fail as a test wants. A program that is
// linked with failing_system.cc makes these.
#pragma once

#include <cstddef>
#include <functional>
#include <string_view>

namespace pleat::inline v0_1 {

// Some calls of one function.
struct SystemFault {
  std::string_view call;  // "write"
  int error = 0;
  int times = 0;       // how many of them fail from now on
  size_t most = ~0ul;  // bytes that go into one write or read
  int seen = 0;
};
extern SystemFault g_fault;

// A call as a plan sees it.
struct SystemCall {
  std::string_view name;
  bool changes = false;  // whether the disk is another one after it
  size_t bytes = 0;      // of write and pread
};
struct SystemFate {
  int error = 0;       // of errno; 0: the call is made
  size_t most = ~0ul;  // bytes that go into this write
};
// Decides on each call, if there is a plan. Syncs then are not made: they are slow, and nothing but a
// crash tells them from none.
using SystemPlan = std::function<SystemFate(const SystemCall&)>;
extern SystemPlan g_plan;

}  // namespace pleat::inline v0_1
