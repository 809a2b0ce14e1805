#include "tests/support/programs.h"

namespace pleat::inline v0_1 {

std::string PleatProgram() { return PLEAT_BINARY; }

std::string ModelFoldProgram() { return MODEL_FOLD_BINARY; }

}  // namespace pleat::inline v0_1
