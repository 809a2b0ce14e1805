// Stories of `pleat fold`, `pleat live` and `pleat rollup`: a command, the lines that it reads and
// those that it writes. README.md says how they are written down. Each is told to the program and
// to the plain model of tests/model, which shares no code with it; both must write the same bytes
// and count the same.
#pragma once

#include <map>
#include <string>
#include <vector>

namespace pleat::cli {

// One line of input, and what the model must have written once it has read the line.
struct StoryLine {
  std::string in;
  std::string out = "";
};

// One run of the program.
struct StoryRun {
  std::string command;  // fold, live or rollup
  std::string options;  // the words that follow it
  std::vector<StoryLine> lines;
  std::string out = "";                      // all that comes out
  std::string err = "";                      // all of standard error but for summary and statistics
  std::map<std::string, double> stats = {};  // those that matter
  int code = 0;
  bool in_step = true;  // whether `lines` says which line an output follows
};

struct Story {
  std::string suite;
  std::string name;
  std::string file;
  int line = 0;
  std::vector<StoryRun> runs = {};
};

// All stories of a file. A line that cannot be understood ends the program: it is a mistake of ours.
std::vector<Story> ReadStories(const std::string& path);

// Tells it to both and compares.
void Tell(const StoryRun& run);

}  // namespace pleat::cli
