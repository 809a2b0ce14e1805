#include "engine/store/binding.h"

#include <xxhash.h>

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

}  // namespace pleat::inline v0_1
