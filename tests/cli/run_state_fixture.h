// Runs of `pleat fold` that go on in one state directory, and one run without it, to compare.
#pragma once

#include <string>

#include "tests/cli/run_pleat.h"

namespace pleat::cli {

// Edits of three users, one every 20 seconds, from line `first` on.
inline std::string Edits(int first, int last) {
  std::string lines;
  for (int i = first; i < last; ++i) lines += At(20 * i, std::string(1, "abc"[i % 3]));
  return lines;
}

class RunStateTest : public testing::Test {
 protected:
  // `pleat fold` with the state directory and an output.
  RunResult Run(const std::string& words) {
    return Fold("--key k --time t --quiet 1m --merge 'n=count()' --output " + (dir_ / "out") +
                " --state " + (dir_ / "j") + " " + words);
  }
  // What it writes without a state directory.
  RunResult Whole(const std::string& files) {
    return Fold("--key k --time t --quiet 1m --merge 'n=count()' --output " + (dir_ / "whole") +
                " " + files);
  }

  TemporaryDirectory dir_;
};

}  // namespace pleat::cli
