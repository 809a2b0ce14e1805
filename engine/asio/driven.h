// A Driven is ended by its driver when the driver stops: a consumer is one. So the driver need not
// know consumers.
#pragma once

#include <boost/system/error_code.hpp>
#include <pleat/export.h>

namespace pleat::inline v0_1 {

class Driven {
 public:
  // From its return on, operations complete with `error`, and so do those that wait. Only the first
  // end counts. Any thread.
  virtual void End(boost::system::error_code error) noexcept = 0;

 protected:
  ~Driven() = default;
};

}  // namespace pleat::inline v0_1
