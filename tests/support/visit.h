// The event of tests of an intake, and a state that tells which came and in which order.
#pragma once

#include <cstdint>
#include <string>

namespace pleat::inline v0_1 {

struct Visit {
  std::string user;
  int64_t number = 0;

  template <class F>
  void Stored(F& f) {
    f(user, number);
  }
};

struct Visits {
  std::string text;  // tells the order

  void Fold(const Visit& visit) noexcept {
    text += visit.user.substr(0, 3) + std::to_string(visit.number) + ' ';
  }
  template <class F>
  void Stored(F& f) {
    f(text);
  }
};

}  // namespace pleat::inline v0_1
