// Lines with values of every kind, drawn: for tests of what any input may do.
#pragma once

#include <cstdint>
#include <random>
#include <string>

#include <pleat/json_lines.h>

namespace pleat {

class DrawnEvents {
 public:
  explicit DrawnEvents(uint64_t seed) : random_(seed) {
    names_ = Draw(4) == 0 ? 1500 : 30;
    longest_ = Draw(3) == 0 ? 300 : 30;
  }

  // The members of an event, with a comma before each: n, a number; i, an integer; s, a scalar;
  // v, any value; o, an object; and some that no spec names. Each may be absent.
  std::string Members() {
    std::string members;
    const auto add = [&](const std::string& name, const std::string& value) {
      if (Draw(5) != 0) members += ",\"" + name + "\":" + value;
    };
    add("n", Number());
    add("i", Integer());
    add("s", Scalar());
    add("v", Value());
    add("o", Object());
    const size_t first = Draw(names_);
    const size_t count = Draw(names_ > 100 ? 60 : 4);
    for (size_t i = first; i < first + count; ++i) add("r" + std::to_string(i), Scalar());
    return members;
  }

  // Below `n`.
  size_t Draw(size_t n) { return random_() % n; }

 private:
  std::string Digits(size_t most) {
    std::string digits(1, static_cast<char>('1' + Draw(9)));
    for (size_t left = Draw(most); left > 0; --left) digits += static_cast<char>('0' + Draw(10));
    return digits;
  }

  std::string Integer() {
    switch (Draw(20)) {
      case 0: return "9223372036854775807";
      case 1: return "-9223372036854775808";
      case 2: return "-0";
      case 3: return Digits(40);
      case 4: return "170141183460469231731687303715884105727";
      case 5: return "-170141183460469231731687303715884105728";
      default: return (Draw(2) == 0 ? "-" : "") + Digits(9);
    }
  }

  std::string Number() {
    switch (Draw(20)) {
      case 0: return "1.7976931348623157e308";
      case 1: return "-1e308";
      case 2: return "1e400";
      case 3: return "1e-400";
      case 4: return "-0.0";
      case 5: return Digits(3) + "." + Digits(60);
      case 6: return Digits(20) + "E-" + Digits(1);
      case 7:
      case 8:
      case 9: return Integer();
      default: return (Draw(2) == 0 ? "-" : "") + Digits(4) + "." + Digits(6);
    }
  }

  std::string Text() {
    static constexpr const char* kPieces[] = {"a",       "b", "zz",  "\\n", "\\\"", "\\\\",
                                              "\\u0001", "é", "\\/", "#",   ",",    "\\u00e9"};
    std::string text = "\"";
    for (size_t left = Draw(Draw(3) == 0 ? longest_ : 4); left > 0; --left) {
      text += kPieces[Draw(std::size(kPieces))];
    }
    return text + "\"";
  }

  std::string Scalar() {
    switch (Draw(10)) {
      case 0: return "null";
      case 1: return "true";
      case 2: return "false";
      case 3:
      case 4:
      case 5: return Number();
      default: return Text();
    }
  }

  std::string Object() {
    std::string object;
    const size_t first = Draw(40);
    for (size_t i = first; i < first + Draw(6); ++i) {
      object += (object.empty() ? "\"m" : ",\"m") + std::to_string(i) + "\":" + Scalar();
    }
    return "{" + object + "}";
  }

  std::string Value() {
    if (Draw(6) == 0) return Object();
    if (Draw(2) == 0) return Scalar();
    std::string array;
    for (size_t left = Draw(6); left > 0; --left) array += (array.empty() ? "" : ",") + Scalar();
    return "[" + array + "]";
  }

  std::mt19937_64 random_;
  size_t names_ = 0;    // of members that no spec names
  size_t longest_ = 0;  // text, in pieces
};

// A merge of every reducer, with and without what bounds it.
inline std::string EveryReducer() {
  return "--merge 'events=count()' --merge 'count=count(v)' --merge 'keys=keys(o)' --merge "
         "'few=keys(o,5)' "
         "--merge 'set=set(v)' --merge 'small=set(v,7)' --merge 'sum=sum(n)' --merge "
         "'whole=sum(i)' "
         "--merge 'lo=min(n)' --merge 'hi=max(n)' --merge 'mean=mean(n)' --merge 'first=first(v)' "
         "--merge 'last=last(v)' --merge 'distinct=distinct(v)' --merge 'some=distinct(v,9)' "
         "--merge 'array=array(v,60)' --merge 'concat=concat(s,-,2000)' --merge "
         "'cat=concat(s,-,40)' --merge 'opening=first(.)' --merge 'closing=last(.)' --merge "
         "'seconds=duration()' "
         "--merge 'median=p50(n)' --merge 'most=p99(n)' --merge 'rare=p999(i)' --merge "
         "'often=top(v,3)' --merge 'top=top(s)'";
}

}  // namespace pleat
