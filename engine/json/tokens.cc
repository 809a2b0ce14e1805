// Which tokenizer this build uses. CMake defines PLEAT_PLAIN_TOKENIZER for this file alone.
#include "engine/json/tokens.h"

namespace pleat::inline v0_1 {

std::unique_ptr<Tokenizer> MakeTokenizer() {
#ifdef PLEAT_PLAIN_TOKENIZER
  return MakePlainTokenizer();
#else
  return MakeFastTokenizer();
#endif
}

}  // namespace pleat::inline v0_1
