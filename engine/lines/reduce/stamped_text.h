// A value with its stamp, of which a group keeps the first or the last. Plain data, like SmallText.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include <pleat/stored.h>
#include <pleat/time.h>

#include "engine/lines/reduce/small_text.h"

namespace pleat::inline v0_1 {

struct StampedText {
  SmallText text;  // empty: nothing came yet
  int64_t at;

  // Keeps `value` if its stamp is smaller, or with `last` not smaller, than that of the one kept.
  // Returns by how many bytes the heap it owns has grown.
  size_t Fold(std::string_view value, EngineTime stamp, bool last) noexcept {
    const int64_t its = stamp.time_since_epoch().count();
    const bool better = last ? its >= at : its < at;
    if (!text.empty() && !better) return 0;
    at = its;
    const size_t before = text.heap_bytes();
    text.Assign(value);
    return text.heap_bytes() - before;
  }

  void Save(FieldWriter& out) const {
    text.Save(out);
    if (!text.empty()) out(at);
  }
  // REQUIRES: all zeros.
  void Load(FieldReader& in) {
    text.Load(in);
    if (!text.empty()) in(at);
  }
};

}  // namespace pleat::inline v0_1
