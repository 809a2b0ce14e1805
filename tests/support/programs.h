// Where the programs are that tests run.
#pragma once

#include <string>
#include <string_view>

namespace pleat::inline v0_1 {

std::string PleatProgram();      // tools/pleat
std::string ModelFoldProgram();  // tests/model

std::string ExampleProgram(std::string_view name);  // one of examples

}  // namespace pleat::inline v0_1
