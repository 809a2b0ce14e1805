// Which tokenizer lines are read with. CMake defines PLEAT_PLAIN_TOKENIZER for this file alone.
#include "engine/lines/scan/tokens.h"

namespace pleat::inline v0_1 {

std::unique_ptr<Tokenizer> MakeTokenizer() {
#ifndef PLEAT_PLAIN_TOKENIZER
  if (std::unique_ptr<Tokenizer> fast = MakeFastTokenizer()) return fast;
#endif
  return MakePlainTokenizer();
}

}  // namespace pleat::inline v0_1
