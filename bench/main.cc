// pleat_bench: the options of Google Benchmark, and
//
//   --quick  inputs a fraction of the full size, for a glance; or PLEAT_BENCH_QUICK=1 in the environment
//   --tiny   the smallest inputs that still show whether the contestants agree, for the tests
//
// Exits with 1 if a benchmark found a wrong result, however well the others did.
#include <sys/utsname.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <fstream>

#include "bench/settings.h"

namespace pleat::bench {
namespace {

bool quick = false;
bool tiny = false;
bool failed = false;

// Takes our options out of the arguments, because Google Benchmark refuses what it does not know.
void TakeOptions(int& argc, char** argv) {
  const char* variable = std::getenv("PLEAT_BENCH_QUICK");
  quick = variable != nullptr && std::strcmp(variable, "1") == 0;
  char** const end = std::remove_if(argv, argv + argc, [](const char* argument) {
    const bool is_tiny = std::strcmp(argument, "--tiny") == 0;
    const bool is_quick = std::strcmp(argument, "--quick") == 0;
    tiny |= is_tiny;
    quick |= is_quick || is_tiny;
    return is_quick || is_tiny;
  });
  *end = nullptr;
  argc = static_cast<int>(end - argv);
}

// The first value of `name` in a file such as /proc/cpuinfo.
std::string FieldOf(const char* file, const std::string& name) {
  std::ifstream in(file);
  for (std::string line; std::getline(in, line);) {
    if (line.starts_with(name))
      return line.substr(line.find_first_not_of(" \t", line.find(':') + 1));
  }
  return "unknown";
}

// What the results depend on; Google Benchmark itself tells the processors, the load and the time.
void DescribeMachine() {
  utsname kernel{};
  uname(&kernel);
  benchmark::AddCustomContext("cpu", FieldOf("/proc/cpuinfo", "model name"));
  const double kib = std::strtod(FieldOf("/proc/meminfo", "MemTotal").c_str(), nullptr);
  benchmark::AddCustomContext("memory", std::to_string(std::lround(kib / 1048576)) + " GiB");
  benchmark::AddCustomContext("build_type", PLEAT_BUILD_TYPE);
  benchmark::AddCustomContext("kernel", std::string(kernel.sysname) + " " + kernel.release);
#ifdef __clang__
  benchmark::AddCustomContext("compiler", __VERSION__);
#else
  benchmark::AddCustomContext("compiler", "g++ " __VERSION__);
#endif
}

}  // namespace

bool Quick() { return quick; }
bool Tiny() { return tiny; }

std::string FindProgram(std::string_view name) {
  const char* path = std::getenv("PATH");
  for (std::string_view rest = path == nullptr ? "" : path; !rest.empty();) {
    const size_t end = std::min(rest.find(':'), rest.size());
    std::string program = std::string(rest.substr(0, end)).append("/").append(name);
    if (access(program.c_str(), X_OK) == 0) return program;
    rest.remove_prefix(std::min(end + 1, rest.size()));
  }
  return "";
}

void Fail(benchmark::State& state, const std::string& why) {
  failed = true;
  state.SkipWithError(why.c_str());
}

int Main(int argc, char** argv) {
  TakeOptions(argc, argv);
  benchmark::Initialize(&argc, argv);
  if (benchmark::ReportUnrecognizedArguments(argc, argv)) return 1;
  DescribeMachine();
  benchmark::RunSpecifiedBenchmarks();
  benchmark::Shutdown();
  return failed ? 1 : 0;
}

}  // namespace pleat::bench

int main(int argc, char** argv) { return pleat::bench::Main(argc, argv); }
