// The inputs of the benchmarks, fixed by seed, so that every contestant and every run gets the same.
//
//   uniform_1M  1,000,000 keys of 20 bytes, hit uniformly at random; what `fold/*` folds
//   zipf_1M     the same keys, hit by Zipf's law with exponent 0.99
//   higgs       the lines of higgs-activity.ndjson.gz if the file is there, else lines of the same
//               shape and size: {"userA":N,"userB":N,"timestamp":N,"interaction":"RT"}, with userB
//               drawn from a heavy tail; what `ndjson/*` parses
//
// Keys are scattered and loaded in shuffled order: keys that were inserted in the order of their rank
// would be neighbours in memory and look faster than they are.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace pleat::bench {

struct KeyedWorkload {
  std::vector<std::string> keys;
  std::vector<uint32_t> events;  // indexes of keys, in input order
};
const KeyedWorkload& Uniform1M();
const KeyedWorkload& Zipf1M();

struct LineWorkload {
  std::string text;                      // with padding behind the last line
  std::vector<std::string_view> lines;   // without newlines
  std::vector<std::string_view> blocks;  // the same, 4,096 lines each, with newlines
  bool real = false;                     // read from the file, not generated
};
const LineWorkload& Higgs();

// The unpacked text of a file; empty if it cannot be read.
std::string ReadGzip(const std::string& path);

}  // namespace pleat::bench
