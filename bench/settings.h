// What the command line tells every benchmark, and what a benchmark tells the program's exit code.
#pragma once

#include <string>

#include <benchmark/benchmark.h>

namespace pleat::bench {

// --quick: inputs a fraction of the full size, for a glance and for the tests.
bool Quick();

// Ends this benchmark with an error and makes the program exit with 1: results that differ must not
// pass because somebody only looks at the exit code.
void Fail(benchmark::State& state, const std::string& why);

}  // namespace pleat::bench
