// A Book is one collection's state inside one partition: all that the partition knows of it. Every
// method runs under the partition's lock.
#pragma once

#include <cstddef>
#include <cstdint>

#include <pleat/stored.h>
#include <pleat/time.h>

#include "engine/base/budget.h"
#include "engine/base/copies.h"
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

  // Writes all that the book knows at this moment, such that Load() makes an equal book. The book
  // may go on changing before all is written: BeginSave() writes the first part and returns whether
  // there is more; SaveNext() writes the next part, of the book as it was when BeginSave() was
  // called, and returns whether there is more; EndSave() gives up what is left. What the book keeps
  // for it meanwhile is held by holders of `copies`, which outlive the saving; once these were told
  // to forget, only EndSave() may follow.
  virtual bool BeginSave(FieldWriter& out, Copies& copies) = 0;
  virtual bool SaveNext(FieldWriter&) { return false; }
  virtual void EndSave() noexcept {}
  // All at once.
  void Save(FieldWriter& out) {
    UncountedCopies copies;
    for (bool more = BeginSave(out, copies); more;) more = SaveNext(out);
  }
  // Takes what was written of a book with the same options, at the time and position of then. Bytes
  // that no book can have written end in `!in.ok()`; then the book may only be destroyed.
  // REQUIRES: nothing has happened to the book yet.
  virtual void Load(FieldReader& in, const Instant& at) = 0;

  // Numbers that were seen outside, of emissions, leases and changes, go on `by` further.
  virtual void SkipNumbers(uint64_t /*by*/, const Instant&) {}

  // The memory that the book and its tables have now, used or not; not what users' states own.
  virtual size_t held_bytes() const noexcept { return 0; }

  // Stops the program if an invariant does not hold. For tests: looks at everything.
  virtual void CheckWhole() const = 0;
};

}  // namespace pleat::inline v0_1
