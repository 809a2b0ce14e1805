// A sum of deltas by the rule of the reducer `sum`, as plainly as it can be said: integers exactly,
// other numbers as doubles with A. Neumaier's compensation, each part at its end for good once it
// would have left its type.
#pragma once

#include <cstdint>

#include <pleat/rollup_values.h>

namespace pleat::inline v0_1 {

class PlainSum {
 public:
  void Add(const Delta& delta);
  // Adds what another sum came to, as its events came to it.
  void Add(const PlainSum& later);

  Amount amount() const;
  int64_t whole() const { return whole_; }  // of the integers alone

 private:
  struct Reals {
    double sum = 0;
    double lost = 0;
    bool full = false;

    void Add(double x);
    void Fill(bool below);
    double Value();
  };

  void AddWhole(int64_t x);
  void FillWholes(bool below);

  uint64_t count_ = 0;
  bool any_whole_ = false;
  bool any_real_ = false;
  int64_t whole_ = 0;
  bool whole_full_ = false;
  Reals reals_;
};

// Whether two deltas are the same content: the same number, whatever its kind. None is as 0, and so is NaN;
// numbers beyond 64 bits are as above or below.
bool SameDelta(const Delta& a, const Delta& b);

}  // namespace pleat::inline v0_1
