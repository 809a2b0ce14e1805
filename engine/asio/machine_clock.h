// The machine's clocks, as a DriverClock.
#pragma once

#include <pleat/asio_driver.h>

namespace pleat::inline v0_1 {

const DriverClock& MachineClock() noexcept;

}  // namespace pleat::inline v0_1
