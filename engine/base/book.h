// A Book is one collection's state inside one partition: all that the partition knows of it. Every
// method runs under the partition's lock.
#pragma once

#include <cstddef>

#include <pleat/time.h>

namespace pleat::inline v0_1 {

class Book {
 public:
  virtual ~Book() = default;

  // Applies what is due by `now`, in order, looking at no more than `budget` entries, which it
  // lowers by as many. Returns whether everything due was applied.
  virtual bool CloseDue(EngineTime now, size_t& budget) = 0;

  // The same for leases, by their own clock.
  virtual bool ExpireLeases(LeaseTime lease_now, size_t& budget) = 0;

  // Nothing is due before this; kNever if nothing will be.
  virtual EngineTime NextDue() const noexcept = 0;
  virtual LeaseTime NextLeaseDue() const noexcept = 0;
};

}  // namespace pleat::inline v0_1
