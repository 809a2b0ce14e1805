#include "engine/store/record_code.h"

#include <xxhash.h>

#include <algorithm>

#include "engine/store/binding.h"

namespace pleat::inline v0_1 {

uint64_t MarkOf(const StoredRecord& record) noexcept {
  char words[24];
  PutFixed(words, static_cast<uint64_t>(record.stamp.time_since_epoch().count()));
  PutFixed(words + 8, static_cast<uint64_t>(record.appended.time_since_epoch().count()));
  PutFixed(words + 16, uint64_t{record.key.size()} << 32 | record.id.size());
  uint64_t mark = XXH3_64bits(words, sizeof words);
  for (const std::string_view bytes : {record.key, record.id, record.payload}) {
    mark = XXH3_64bits_withSeed(bytes.data(), bytes.size(), mark);
  }
  return std::max(mark, uint64_t{1});
}

}  // namespace pleat::inline v0_1
