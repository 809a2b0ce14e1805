// The rules on who may include whom, and on what code may not call, read off the text of a file.
//
// The picture (docs/design.md):
//
//   base <- table, timer, state <- outbox <- fold, rollup, live <- partition <- core
//                                 core <- include/pleat (API) <- lines, asio, metrics <- tools/pleat
//   base <- store, a library of its own
//
// A folder sees itself, folders to its left, and those public headers that declare plain types.
// What stands right of the API sees only the API. A third party comes in by one door. Time is an
// argument, so clocks are read only where a person waits: in the program and in benchmarks.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace pleat_structure {

// What is wrong with one line, as "path:line: reason".
using Findings = std::vector<std::string>;

// Checks the file `path`, given from the root of the tree with '/' as separator, whose content is
// `text`.
Findings Examine(std::string_view path, std::string_view text);

}  // namespace pleat_structure
