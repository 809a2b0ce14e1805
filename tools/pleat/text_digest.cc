#include "tools/pleat/text_digest.h"

#include <xxhash.h>

#include <new>

namespace pleat::cli {

TextDigest::TextDigest() : state_(XXH3_createState()) {
  if (state_ == nullptr) throw std::bad_alloc();
  Clear();
}
TextDigest::~TextDigest() = default;

void TextDigest::Free::operator()(XXH3_state_s* state) const { XXH3_freeState(state); }

void TextDigest::Add(std::string_view text) {
  XXH3_64bits_update(state_.get(), text.data(), text.size());
}
void TextDigest::Clear() { XXH3_64bits_reset(state_.get()); }
uint64_t TextDigest::value() const { return XXH3_64bits_digest(state_.get()); }

}  // namespace pleat::cli
