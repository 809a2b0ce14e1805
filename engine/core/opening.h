// What opening a collection has in common for all kinds: the errors for options out of range, and
// the way of a new collection into its engine.
#pragma once

#include <initializer_list>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include <absl/status/status.h>
#include <absl/status/statusor.h>
#include <pleat/options.h>

#include "engine/base/check.h"
#include "engine/base/concat.h"
#include "engine/base/inside.h"
#include "engine/core/description.h"
#include "engine/core/engine_core.h"

namespace pleat::inline v0_1 {

// The error that names the option and says what it must be.
inline absl::Status OutOfRange(std::string_view option, std::string_view must) {
  return absl::InvalidArgumentError(std::string(option) + ": must be " + std::string(must));
}

// Limits that the partitions share.
using SharedLimits = std::initializer_list<std::pair<std::string_view, size_t>>;
inline absl::Status CheckLimits(SharedLimits limits, int partitions) {
  for (const auto& [option, limit] : limits) {
    if (limit >= static_cast<size_t>(partitions)) continue;
    return OutOfRange(
        option, "at least one for each of the engine's partitions, " + std::to_string(partitions));
  }
  return absl::OkStatus();
}

inline absl::Status CheckLeases(const LeaseOptions& leases, int partitions) {
  absl::Status limits = CheckLimits({{"leases.max_leased", leases.max_leased},
                                     {"leases.max_dead_letters", leases.max_dead_letters}},
                                    partitions);
  if (!limits.ok()) return limits;
  if (leases.max_deliveries < 1) return OutOfRange("leases.max_deliveries", "at least 1");
  if (leases.max_age <= Duration::zero()) return OutOfRange("leases.max_age", "above zero");
  if (leases.max_nack_delay <= Duration::zero()) {
    return OutOfRange("leases.max_nack_delay", "above zero");
  }
  return absl::OkStatus();
}

// The options that a snapshot's collection had, from the options of the one that takes it over: only
// those differ that the description names and `take(options, option, value)` reads. `check(options)`
// says whether they are in range, and `fixed(options)` which of ours cannot follow them. Errors:
// those of Collection::BeginTakeOver().
template <class Options, class Take, class Check, class Fixed>
absl::StatusOr<Options> OptionsOf(const Description& then, const Options& own, const Take& take,
                                  const Check& check, const Fixed& fixed) {
  Options before = own;
  for (const auto& [option, value] : then.options) {
    if (!take(before, option, value)) return absl::DataLossError(option);
  }
  if (absl::Status in_range = check(before); !in_range.ok()) {
    return absl::DataLossError(in_range.message());
  }
  if (const std::string_view option = fixed(before); !option.empty()) {
    return absl::FailedPreconditionError(std::string(option));
  }
  return before;
}

// A new collection of the engine, made of `options...`, whose `check` is OK.
template <class CoreT, class... Options>
absl::StatusOr<std::shared_ptr<CoreT>> OpenCore(Engine& engine, std::string_view name,
                                                absl::Status check, Options&&... options) {
  const Call call;
  if (call.nested()) return absl::FailedPreconditionError("Open() from inside another call");
  if (!check.ok()) return check;
  EngineCore& home = *EngineAccess::CoreOf(engine);
  auto core = std::make_shared<CoreT>(home, name, std::forward<Options>(options)...);
  if (absl::Status added = home.Add(core); !added.ok()) return added;
  return core;
}

// For constructors: a collection that was not opened ends the program.
[[noreturn]] inline void FailToOpen(std::string_view kind, std::string_view name,
                                    const absl::Status& why) noexcept {
  Fail(Concat(kind, " \"", name,
              "\": ", std::string_view(why.message().data(), why.message().size())));
}

}  // namespace pleat::inline v0_1
