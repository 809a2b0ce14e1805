// Where the programs are that tests run.
#pragma once

#include <string>

namespace pleat::inline v0_1 {

std::string PleatProgram();      // tools/pleat
std::string ModelFoldProgram();  // tests/model

}  // namespace pleat::inline v0_1
