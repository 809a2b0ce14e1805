// pleat_bench: the options of Google Benchmark, and
//
//   --quick  inputs a fraction of the full size; also by PLEAT_BENCH_QUICK=1 in the environment
//
// Exits with 1 if a benchmark found a wrong result, however well the others did.
#include <cstdlib>
#include <cstring>

#include "bench/settings.h"

namespace pleat::bench {
namespace {

bool quick = false;
bool failed = false;

// Takes --quick out of the arguments, because Google Benchmark refuses what it does not know.
void TakeQuick(int& argc, char** argv) {
  const char* variable = std::getenv("PLEAT_BENCH_QUICK");
  quick = variable != nullptr && std::strcmp(variable, "1") == 0;
  int kept = 0;
  for (int i = 0; i < argc; ++i) {
    if (std::strcmp(argv[i], "--quick") == 0) {
      quick = true;
    } else {
      argv[kept++] = argv[i];
    }
  }
  argc = kept;
  argv[argc] = nullptr;
}

}  // namespace

bool Quick() { return quick; }

void Fail(benchmark::State& state, const std::string& why) {
  failed = true;
  state.SkipWithError(why.c_str());
}

int Main(int argc, char** argv) {
  TakeQuick(argc, argv);
  benchmark::Initialize(&argc, argv);
  if (benchmark::ReportUnrecognizedArguments(argc, argv)) return 1;
  benchmark::RunSpecifiedBenchmarks();
  benchmark::Shutdown();
  return failed ? 1 : 0;
}

}  // namespace pleat::bench

int main(int argc, char** argv) { return pleat::bench::Main(argc, argv); }
