// What episodes fold: events, and a state that remembers every one of them and their order, in place and on the
// heap.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include <pleat/time.h>

namespace pleat::inline v0_1 {

// Counts its living copies: when an engine is gone, no state may be left, nor be destroyed twice.
struct Counted {
  static inline int64_t living = 0;

  Counted() noexcept { ++living; }
  Counted(const Counted&) noexcept { ++living; }
  Counted& operator=(const Counted&) noexcept = default;
  ~Counted() { --living; }
};

struct Tick {
  uint64_t value = 0;
  bool starts = false;
  bool ends = false;
  Duration quiet{0};
  EngineTime close_at = kNever;
  std::string_view id = {};
  uint64_t content = 0;
};

struct Chain {
  uint64_t hash = 0;
  std::string text;
  Counted counted;

  void Fold(const Tick& tick) noexcept {
    hash = (hash ^ tick.value) * 0x9E3779B97F4A7C15u + 1;
    text.append(1 + tick.value % 3, static_cast<char>('a' + tick.value % 26));
  }
  // What it could hold is nobody's promise; so that a cap on bytes is exact, what it does.
  size_t HeapBytes() const noexcept { return text.size(); }

  template <class F>
  void Stored(F& f) {
    f(hash, text);
  }

  static Chain Of(const std::vector<uint64_t>& values) {
    Chain chain;
    for (const uint64_t value : values) chain.Fold({.value = value});
    return chain;
  }
};

}  // namespace pleat::inline v0_1
