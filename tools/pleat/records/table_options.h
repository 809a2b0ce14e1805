// How a table of text is written.
#pragma once

#include <string>
#include <vector>

namespace pleat::cli {

struct TableOptions {
  char separator = ',';             // of CSV
  bool tsv_escapes = true;          // of TSV: \t, \n, \r, \\ and \N
  char comment = 0;                 // lines that begin with it are skipped; 0: none
  std::vector<std::string> header;  // empty: the first line has it
};

// A name that a header has more than once, and those that the further columns got.
struct DoubledName {
  std::string name;
  std::vector<std::string> others;
};

}  // namespace pleat::cli
