// A Book is one collection's state inside one partition: all that the partition knows of it. Every
// method runs under the partition's lock.
#pragma once

#include <pleat/time.h>

#include "engine/base/budget.h"
#include "engine/base/instant.h"

namespace pleat::inline v0_1 {

class Book {
 public:
  virtual ~Book() = default;

  // Applies what is due by `at.now`, in order, until `budget` is spent: each entry looked at takes
  // one. Returns whether everything due was applied.
  virtual bool CloseDue(const Instant& at, Budget& budget) = 0;

  // The same for leases that ran out by `at.leases`.
  virtual bool ExpireLeases(const Instant& at, Budget& budget) = 0;

  // Nothing is due before this; kNever if nothing will be.
  virtual EngineTime NextDue() const noexcept = 0;
  virtual LeaseTime NextLeaseDue() const noexcept = 0;

  // Stops the program if an invariant does not hold. For tests: looks at everything.
  virtual void CheckWhole() const = 0;
};

}  // namespace pleat::inline v0_1
