// A Driven is ended by its driver when the driver stops, and called at instants that it has asked
// for: a consumer or a watcher is one. So the driver need not know those.
#pragma once

#include <boost/system/error_code.hpp>
#include <pleat/detail/export.h>
#include <pleat/time.h>

namespace pleat::inline v0_1 {

class Driven {
 public:
  // From its return on, operations complete with `error`, and so do those that wait. Only the first
  // end counts. Any thread.
  virtual void End(boost::system::error_code error) noexcept = 0;

  // An instant that was asked for has come, and what is due by `now` was closed. In a turn of the
  // driver.
  virtual void TimeHasCome(EngineTime /*now*/) noexcept {}

 protected:
  ~Driven() = default;
};

}  // namespace pleat::inline v0_1
