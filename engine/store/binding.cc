#include "engine/store/binding.h"

#include <xxhash.h>

#include <algorithm>

#include "engine/store/record_code.h"

namespace pleat::inline v0_1 {
namespace {

uint64_t SeedOf(const Binding& binding) noexcept {
  char words[24];
  PutFixed(words, binding.identity);
  PutFixed(words + 8, binding.segment);
  PutFixed(words + 16, binding.place);
  return XXH3_64bits(words, sizeof words);
}

}  // namespace

uint64_t ChecksumOf(std::string_view bytes, const Binding& binding) noexcept {
  return XXH3_64bits_withSeed(bytes.data(), bytes.size(), SeedOf(binding));
}

uint64_t ChecksumOfSection(std::string_view bytes, const Binding& binding, uint32_t partition,
                           uint64_t first_offset) noexcept {
  char words[16];
  PutFixed(words, uint64_t{partition});
  PutFixed(words + 8, first_offset);
  const uint64_t seed = XXH3_64bits_withSeed(words, sizeof words, SeedOf(binding));
  return XXH3_64bits_withSeed(bytes.data(), bytes.size(), seed);
}

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
