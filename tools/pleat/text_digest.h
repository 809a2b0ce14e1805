// A TextDigest tells whether the beginning of an input is the one that was read before.
#pragma once

#include <cstdint>
#include <memory>
#include <string_view>

struct XXH3_state_s;

namespace pleat::cli {

// XXH3-64 of texts, as of one.
class TextDigest {
 public:
  TextDigest();
  ~TextDigest();
  TextDigest(const TextDigest&) = delete;
  TextDigest& operator=(const TextDigest&) = delete;

  void Add(std::string_view text);
  void Clear();
  uint64_t value() const;

 private:
  struct Free {
    void operator()(XXH3_state_s* state) const;
  };
  std::unique_ptr<XXH3_state_s, Free> state_;
};

}  // namespace pleat::cli
