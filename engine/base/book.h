// A Book is one collection's state inside one partition: all that the partition knows of it. Every
// method runs under the partition's lock.
#pragma once

#include <cstdint>

#include <pleat/stored.h>
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

  // Writes all that the book knows, such that Load() makes an equal book. Changes nothing.
  virtual void Save(FieldWriter& out) const = 0;
  // Takes what Save() of a book with the same options wrote, at the time and position of then. Bytes
  // that no book can have written end in `!in.ok()`; then the book may only be destroyed.
  // REQUIRES: nothing has happened to the book yet.
  virtual void Load(FieldReader& in, const Instant& at) = 0;

  // Numbers that were seen outside, of emissions, leases and changes, go on `by` further.
  virtual void SkipNumbers(uint64_t /*by*/, const Instant&) {}

  // Stops the program if an invariant does not hold. For tests: looks at everything.
  virtual void CheckWhole() const = 0;
};

}  // namespace pleat::inline v0_1
