// What the command line and the machine tell a benchmark, and what a benchmark tells the program's exit code.
#pragma once

#include <string>
#include <string_view>

#include <benchmark/benchmark.h>

namespace pleat::bench {

// --quick: inputs a fraction of the full size, for a glance.
bool Quick();

// --tiny: the smallest inputs that still show whether contestants agree, for the tests. Quick() too.
bool Tiny();

// The path of a program on PATH; empty if it is not installed.
std::string FindProgram(std::string_view name);

// Ends this benchmark with an error and makes the program exit with 1: results that differ must not
// pass because somebody only looks at the exit code.
void Fail(benchmark::State& state, const std::string& why);

}  // namespace pleat::bench
