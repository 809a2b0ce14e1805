// Sums of numbers as they are spelled in JSON, as counters make them, for the models.
//
// Integers exactly, until they leave 64 bits: there the sum stays. Other numbers apart from them, in
// order of arrival, with Neumaier's compensation, until they leave the doubles: likewise. The two
// meet in the total only.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace pleat::inline v0_1 {

bool IsPlainInteger(const std::string& number);
// An integer in 64 bits; nothing if it does not fit.
std::optional<int64_t> ReadPlainInteger(const std::string& number);
double ReadPlainDouble(const std::string& number);
std::string WritePlainDouble(double value);

struct PlainNumberSum {
  int64_t integers = 0;
  double doubles = 0;
  double lost = 0;
  bool any_integer = false;
  bool any_double = false;
  bool saturated = false;  // the integers
  bool full = false;       // the doubles

  void Add(const std::string& number);
  // Adds what the numbers of another sum came to.
  void Add(const PlainNumberSum& other);

  // All of it, in `doubles`; `saturated` if either is.
  PlainNumberSum Total() const;

  // As it is printed; null without a number.
  std::string Text() const;

 private:
  void AddDouble(double x);
  void Fill(bool negative);
};

}  // namespace pleat::inline v0_1
