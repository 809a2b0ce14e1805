#include "tests/support/programs.h"

namespace pleat::inline v0_1 {

std::string PleatProgram() { return PLEAT_BINARY; }

std::string ModelFoldProgram() { return MODEL_FOLD_BINARY; }

std::string ExampleProgram(std::string_view name) {
  return PLEAT_EXAMPLES + std::string("/") + std::string(name);
}

}  // namespace pleat::inline v0_1
