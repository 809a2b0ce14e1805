// Options that belong together are in a group, such as `limits`. One that stands beside its group is
// named as such, whatever is opened, and so is a window in place of a list of windows.
#include <pleat/folder.h>
#include <pleat/live_set.h>
#include <pleat/presence.h>
#include <pleat/rollup.h>

#ifndef MISUSE
#define MISUSE 0
#endif

using namespace std::chrono_literals;

struct State {
  void Fold(const int&) noexcept {}
};
using Folder = pleat::Folder<int, State>;

Folder Make(pleat::Engine& engine) {
#if MISUSE == 1
  return {engine, "f", {.quiet_period = 5min, .max_wait = 1h, .max_bytes = 1'000'000}};
#else
  return {engine, "f", {.quiet_period = 5min, .max_wait = 1h, .limits = {.max_bytes = 1'000'000}}};
#endif
}

bool Open(pleat::Engine& engine) {
#if MISUSE == 2
  return Folder::Open(engine, "f", {.quiet_period = 5min, .max_wait = 1h, .max_deliveries = 3})
#else
  return Folder::Open(engine, "f",
                      {.quiet_period = 5min, .max_wait = 1h, .leases = {.max_deliveries = 3}})
#endif
      .ok();
}

#if MISUSE == 3
bool OpenWithRules(pleat::Engine& engine, pleat::FoldRules<int, State> rules) {
  return Folder::Open(engine, "f", {.on_late = pleat::OnLate::kFold}, std::move(rules)).ok();
}
#endif

pleat::RollupCounter MakeCounter(pleat::Engine& engine) {
#if MISUSE == 4
  return {engine, "c", {.windows = {1min, 1h}, .allowed_lateness = 10s, .max_keys = 1'000}};
#elif MISUSE == 5
  return {engine, "c", {.windows = 1min, .allowed_lateness = 10s}};
#else
  return {
      engine, "c", {.windows = {1min, 1h}, .allowed_lateness = 10s, .limits = {.max_keys = 1'000}}};
#endif
}

pleat::LiveSet<> MakeLiveSet(pleat::Engine& engine) {
#if MISUSE == 6
  return {engine, "w", {.ttl = 5min, .max_per_series = 1'000}};
#else
  return {engine, "w", {.ttl = 5min, .limits = {.max_per_series = 1'000}}};
#endif
}

pleat::Presence<> MakePresence(pleat::Engine& engine) {
#if MISUSE == 7
  return {engine, "p", {.max_users = 1'000}};
#else
  return {engine, "p", {.limits = {.max_users = 1'000}}};
#endif
}
