#include <memory>
#include <optional>
#include <utility>

#include <pleat/asio_driver.h>
#include <pleat/detail/asio_drain.h>

#include "engine/asio/drain_core.h"
#include "engine/asio/letter_core.h"

namespace pleat::inline v0_1 {
namespace {

Drain BeginDrain(DriverCore& driver, const std::optional<AnyCollection>& collection,
                 const DrainOptions& options) {
  const LeaseTime now(driver.Now());
  return collection ? Drain(*collection, now, options) : Drain(driver.engine(), now, options);
}

}  // namespace

AnyDrain::AnyDrain(Driver& driver, const std::optional<AnyCollection>& collection,
                   const DrainOptions& options)
    : AnyDrain(std::make_shared<DrainCore>(driver.get_executor(), CoreOf(driver),
                                           BeginDrain(*CoreOf(driver), collection, options))) {}

AnyDrain::AnyDrain(std::shared_ptr<DrainCore> core) : WaiterHandle(core), core_(std::move(core)) {}

Took AnyDrain::Look(EngineTime now, std::vector<Drained>& out) noexcept {
  return core_->Look(now, out);
}

AnyLetterWait::AnyLetterWait(Driver& driver, const AnyCollection& collection)
    : WaiterHandle(
          std::make_shared<LetterCore>(driver.get_executor(), CoreOf(driver), collection)) {}

}  // namespace pleat::inline v0_1
