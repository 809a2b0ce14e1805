// model_fold: a naive `pleat fold` for files on event time, to hold the real one against. It takes
// the options of `pleat fold` that say what comes out (and ignores --threads and --quiet-summary,
// which do not), reads plain NDJSON files, and believes that its arguments are right.
#include <fstream>
#include <iostream>
#include <string>
#include <utility>
#include <vector>

#include "tests/model/plain_options.h"

namespace pleat::inline v0_1 {
namespace {

int Run(const std::vector<std::string>& arguments) {
  const PlainCall call = ReadPlainOptions(arguments);
  if (!call.unknown.empty()) {
    std::cerr << "model_fold: " << call.unknown << "?\n";
    return 2;
  }
  NdjsonModel model(call.options);
  std::string out;
  for (const std::string& file : call.files) {
    std::ifstream in(file, std::ios::binary);
    for (std::string line; std::getline(in, line);) {
      if (!model.AddLine(line, out)) return 2;
      std::cout << std::exchange(out, "");
    }
    if (!in.eof()) return 1;
  }
  model.End(out);
  std::cout << out << std::flush;
  if (!call.stats.empty()) std::ofstream(call.stats, std::ios::binary) << model.Stats();
  return std::cout.good() ? 0 : 1;
}

}  // namespace
}  // namespace pleat::inline v0_1

int main(int argc, char** argv) { return pleat::Run({argv + 1, argv + argc}); }
