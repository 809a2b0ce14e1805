// The inputs of the benchmarks, fixed by seed, so that every contestant and every run gets the same.
//
//   uniform_1M  1,000,000 keys of 20 bytes, hit uniformly at random; what `fold/*` folds
//   zipf_1M     the same keys, hit by Zipf's law with exponent 0.99
//   higgs       the lines of higgs-activity.ndjson.gz if the file is there, else lines of the same
//               shape and size: {"userA":N,"userB":N,"timestamp":N,"interaction":"RT"}, with userB
//               drawn from a heavy tail; what `ndjson/higgs` parses
//   events_56   2,000,000 lines of 56 bytes, newline included: {"id":"key-...","ts":N,"n":N}, over
//               100,000 keys of 20 bytes, hit uniformly; a line opens a group once in 20
//   events_185  1,000,000 lines of 185 bytes over the same keys, with five members that nobody reads
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
const LineWorkload& Events56();
const LineWorkload& Events185();

// The unpacked text of a file; empty if it cannot be read.
std::string ReadGzip(const std::string& path);

}  // namespace pleat::bench
