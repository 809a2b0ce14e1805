// pleat_report RUN.json TEMPLATE.md OUT.md OUT.svg [KEPT]: fills the results of pleat_bench into a text.
//
// KEPT is a directory with a file for each processor model, of the newest run there. What is to be kept
// of RUN replaces the file of its model, and the text has the figures of all models beside each other.
// Without KEPT it has those of RUN alone. The picture shows RUN. A file that was kept is a RUN as well.
//
// Everything written by hand is in the template, bench/report.md; what it asks for stands in braces:
//
//   {{figure NAME COUNTER}}    rounded to a whole number; of several models the range
//   {{machines}} up to {{end}} a table with a line for each line `words | text`, in which {{context KEY}} is
//                              what the program said of machine and build
//   {{table PREFIX BASE UNIT}} up to {{end}}: a table with a line for each line `CONTESTANT | words`, of the
//                              benchmarks PREFIX/CONTESTANT; ratios are against PREFIX/BASE, and UNIT names
//                              what is counted. Columns that nobody has a figure for are left out. What
//                              would be too wide becomes a table for each model.
//   {{goals}} up to {{end}}    a table with a line for each line `case | goal | floor | figure`, where
//                              goal and floor begin with >= or <=. A figure is `NAME : COUNTER`; or
//                              `NAME / NAME`, the ratio of two rates, or of two counters if they are
//                              given; or `growth PREFIX : COUNTER`, of the benchmarks PREFIX/N the
//                              largest ratio from one N to the next
//
// What was not measured says so, or has a dash; nothing is left out for it.
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <iterator>
#include <set>
#include <stdexcept>

#include "bench/report_chart.h"
#include "bench/report_results.h"

namespace pleat::bench {
namespace {

using Runs = std::vector<const Results*>;

constexpr const char* kNotMeasured = "not measured";

std::string Trim(std::string_view text) {
  const size_t begin = text.find_first_not_of(' ');
  if (begin == text.npos) return "";
  return std::string(text.substr(begin, text.find_last_not_of(' ') - begin + 1));
}

std::vector<std::string> Split(std::string_view text, char separator) {
  std::vector<std::string> parts;
  for (size_t end; (end = text.find(separator)) != text.npos; text.remove_prefix(end + 1)) {
    parts.push_back(Trim(text.substr(0, end)));
  }
  parts.push_back(Trim(text));
  return parts;
}

// Three digits that count, no exponent.
std::string Digits(double figure) {
  char text[64];
  const int decimals = figure >= 99.5 ? 0 : figure >= 9.95 ? 1 : 2;
  std::snprintf(text, sizeof(text), "%.*f", decimals, figure);
  return text;
}

constexpr const char* kByWallClock = "items_per_second";
constexpr const char* kByProcessorTime = "items_per_cpu_second";

std::optional<double> Ratio(const Results& results, std::string_view of, std::string_view to,
                            const char* rate = kByWallClock) {
  const auto a = results.Figure(of, rate);
  const auto b = results.Figure(to, rate);
  if (!a || !b) return std::nullopt;
  return *a / *b;
}

// A column beside those of the rate: its heading, and the counters that go by it, the first that is there.
struct CounterColumn {
  const char* heading;
  std::vector<const char*> counters;
  bool is_rate = false;
};
const CounterColumn kCounterColumns[] = {
    {"bytes/member", {"bytes_per_member"}},
    {"bytes/key", {"bytes_per_key"}},
    {"bytes/group", {"bytes_per_group", "rss_bytes_per_group", "accounted_bytes_per_group"}},
    {"p50 ns", {"p50_ns", "call_p50_ns"}},
    {"p99 ns", {"p99_ns", "call_p99_ns"}},
    {"p99.9 ns", {"p999_ns"}},
    {"longest call, us", {"max_pause_us"}},
    {"in each of three passes, us", {"max_pause_repeated_us"}},
    {"add ns", {"add_ns"}},
    {"add in no order ns", {"add_shuffled_ns"}},
    {"refresh ns", {"refresh_ns"}},
    {"one by one ns", {"refresh_single_ns"}},
    {"count ns", {"count_ns"}},
    {"count since ns", {"count_since_ns"}},
    {"expire ns", {"expire_ns"}},
    {"the rival's", {"rival_per_second"}, /*is_rate=*/true},
    {"ratio", {"rival_ratio"}},
    {"by processor time", {"rival_cpu_ratio"}},
};

std::vector<std::string> Headings(const std::string& base, const std::string& unit) {
  std::vector<std::string> headings = {unit + "s/s", "against `" + base + "`"};
  for (const CounterColumn& column : kCounterColumns) headings.emplace_back(column.heading);
  return headings;
}

// What the columns say of the benchmark `name`; an empty cell where there is no figure.
std::vector<std::string> Cells(const Results& results, const std::string& name,
                               const std::string& base) {
  const auto rate = results.Rate(name);
  const auto ratio = Ratio(results, name, base);
  std::vector<std::string> cells = {rate ? Short(*rate) : "", ratio ? Digits(*ratio) : ""};
  for (const CounterColumn& column : kCounterColumns) {
    std::string& cell = cells.emplace_back();
    for (const char* counter : column.counters) {
      const auto figure = results.Figure(name, counter);
      if (cell.empty() && figure) cell = column.is_rate ? Short(*figure) : Digits(*figure);
    }
  }
  return cells;
}

// "`pleat_batch`: one thread", and why there are no figures if nobody has any.
std::string RowTitle(const Runs& runs, const std::string& name,
                     const std::vector<std::string>& line) {
  std::string title =
      "`" + line[0] + "`" + (line.size() > 1 && !line[1].empty() ? ": " + line[1] : "");
  std::string_view error;
  for (const Results* run : runs) {
    if (run->Rate(name)) return title;
    if (error.empty()) error = run->Error(name);
  }
  if (!error.empty()) return title.append(" (failed: ").append(error).append(")");
  return title.append(" (").append(kNotMeasured).append(")");
}

std::string Row(const std::vector<std::string>& cells) {
  std::string out;
  for (const std::string& cell : cells) out += "| " + cell + " ";
  return out + "|\n";
}

// Those that have a figure of one of `names`, or all if there is none.
Runs Measured(const Runs& runs, const std::vector<std::string>& names) {
  Runs measured;
  std::ranges::copy_if(runs, std::back_inserter(measured), [&](const Results* run) {
    return std::ranges::any_of(
        names, [&](const std::string& name) { return run->Rate(name).has_value(); });
  });
  return measured.empty() ? runs : measured;
}

constexpr size_t kColumnsMax = 8;  // beside the first

// `request`: "table", PREFIX, BASE, UNIT; `lines`: CONTESTANT | words.
std::string Table(const Runs& all_runs, const std::vector<std::string>& request,
                  const std::vector<std::string>& lines) {
  if (request.size() != 4) throw std::runtime_error("{{table PREFIX BASE UNIT}}");
  const std::string prefix = request[1] + "/";
  const std::vector<std::string> headings = Headings(request[2], request[3]);
  std::vector<std::string> names;
  names.reserve(lines.size());
  for (const std::string& line : lines) names.push_back(prefix + Split(line, '|')[0]);
  const Runs runs = Measured(all_runs, names);
  const bool several = runs.size() > 1;

  std::vector<std::vector<std::string>> rows = {{several ? "case" : "on " + runs[0]->Model()},
                                                {"---"}};
  for (size_t i = 0; i < lines.size(); ++i) {
    rows.push_back({RowTitle(runs, names[i], Split(lines[i], '|'))});
  }
  for (size_t column = 0; column < headings.size(); ++column) {
    for (const Results* run : runs) {
      std::vector<std::string> cells;
      cells.reserve(names.size());
      for (const std::string& name : names) {
        cells.push_back(Cells(*run, name, prefix + request[2])[column]);
      }
      if (std::ranges::all_of(cells, &std::string::empty)) continue;
      rows[0].push_back(headings[column] + (several ? ", " + run->Model() : ""));
      rows[1].emplace_back("---:");
      for (size_t i = 0; i < lines.size(); ++i) rows[i + 2].push_back(cells[i]);
    }
  }

  std::string out;
  if (several && rows[0].size() > 1 + kColumnsMax) {
    for (const Results* run : runs) {
      out += (out.empty() ? "" : "\n") + Table({run}, request, lines);
    }
  } else {
    for (const std::vector<std::string>& row : rows) out += Row(row);
  }
  return out;
}

bool Holds(double figure, const std::string& bound) {
  const double limit = std::stod(bound.substr(2));
  if (bound.starts_with(">=")) return figure >= limit;
  if (bound.starts_with("<=")) return figure <= limit;
  throw std::runtime_error("a goal begins with >= or <=: " + bound);
}

// `NAME : COUNTER`; without a counter, the rate.
std::optional<double> Operand(const Results& results, const std::string& text, const char* rate) {
  const size_t colon = text.find(" : ");
  if (colon == text.npos) return results.Figure(text, rate);
  if (rate != kByWallClock) return std::nullopt;
  return results.Figure(text.substr(0, colon), text.substr(colon + 3));
}

std::optional<double> LargestGrowth(const Results& results, const std::string& text) {
  const size_t colon = text.find(" : ");
  if (colon == text.npos) throw std::runtime_error("growth PREFIX : COUNTER, not " + text);
  std::optional<double> largest;
  std::optional<double> before;
  for (const uint64_t size : results.Sizes(text.substr(0, colon))) {
    const auto figure =
        results.Figure(text.substr(0, colon) + "/" + std::to_string(size), text.substr(colon + 3));
    if (before && figure) largest = std::max(largest.value_or(0), *figure / *before);
    before = figure;
  }
  return largest;
}

// What the comment on top calls a figure.
std::optional<double> Evaluate(const Results& results, const std::string& expression,
                               const char* rate) {
  constexpr std::string_view kGrowth = "growth ";
  if (expression.starts_with(kGrowth)) {
    if (rate != kByWallClock) return std::nullopt;
    return LargestGrowth(results, expression.substr(kGrowth.size()));
  }
  const size_t ratio = expression.find(" / ");
  if (ratio == expression.npos) {
    if (expression.find(" : ") != expression.npos) return Operand(results, expression, rate);
    throw std::runtime_error("not a figure: " + expression);
  }
  const auto a = Operand(results, expression.substr(0, ratio), rate);
  const auto b = Operand(results, expression.substr(ratio + 3), rate);
  if (!a || !b) return std::nullopt;
  return *a / *b;
}

// "3.97 (4.01)": by the wall clock and by processor time; bold if the floor is not held.
std::string GoalCell(const Results& results, const std::string& figure, const std::string& floor) {
  const auto by_wall = Evaluate(results, figure, kByWallClock);
  const auto by_cpu = Evaluate(results, figure, kByProcessorTime);
  if (!by_wall) return "-";
  const std::string text = Digits(*by_wall) + (by_cpu ? " (" + Digits(*by_cpu) + ")" : "");
  return Holds(*by_wall, floor) ? text : "**" + text + "**";
}

// A table with a line for each line `words | ...` and a column for each model, of which `cell` makes a cell.
template <class Cell>
std::string TableOfModels(const Runs& runs, std::vector<std::string> top,
                          const std::vector<std::string>& lines, const Cell& cell) {
  std::vector<std::string> rule(top.size(), "---:");
  rule[0] = "---";
  for (const Results* run : runs) {
    top.push_back(run->Model());
    rule.emplace_back("---:");
  }
  std::string out = Row(top) + Row(rule);
  for (const std::string& line : lines) {
    std::vector<std::string> row = Split(line, '|');
    const std::string last = row.back();
    row.pop_back();
    if (row.size() + runs.size() != top.size())
      throw std::runtime_error("too few or many |: " + line);
    const std::vector<std::string> words = row;
    for (const Results* run : runs) row.push_back(cell(*run, words, last));
    out += Row(row);
  }
  return out;
}

std::string Goals(const Runs& runs, const std::vector<std::string>& lines) {
  return TableOfModels(runs, {"case", "goal", "floor"}, lines,
                       [](const Results& run, const std::vector<std::string>& words,
                          const std::string& figure) { return GoalCell(run, figure, words[2]); });
}

// Replaces what stands in braces within a line by what `answer` says to its words.
template <class Answer>
std::string FillLine(std::string_view line, const Answer& answer) {
  std::string out;
  for (size_t begin; (begin = line.find("{{")) != line.npos;) {
    const size_t end = line.find("}}", begin);
    if (end == line.npos) throw std::runtime_error("no }} in " + std::string(line));
    out.append(line.substr(0, begin));
    out += answer(Split(line.substr(begin + 2, end - begin - 2), ' '));
    line.remove_prefix(end + 2);
  }
  return out.append(line);
}

std::string Machines(const Runs& runs, const std::vector<std::string>& lines) {
  return TableOfModels(
      runs, {"measured on"}, lines,
      [](const Results& run, const std::vector<std::string>&, const std::string& text) {
        return FillLine(text, [&](const std::vector<std::string>& words) {
          if (words[0] != "context" || words.size() != 2) throw std::runtime_error(text);
          return std::string(run.Context(words[1]));
        });
      });
}

// {{figure NAME COUNTER}}: "2", or "2 to 5".
std::string FigureRange(const Runs& runs, const std::vector<std::string>& words) {
  if (words[0] != "figure" || words.size() != 3) {
    throw std::runtime_error("nobody knows {{" + words[0] + " ...}}");
  }
  std::set<long long> figures;
  for (const Results* run : runs) {
    const auto figure = run->Figure(words[1], words[2]);
    if (figure) figures.insert(std::llround(*figure));
  }
  if (figures.empty()) return kNotMeasured;
  return std::to_string(*figures.begin()) +
         (figures.size() > 1 ? " to " + std::to_string(*figures.rbegin()) : "");
}

std::vector<std::string> LinesUpToEnd(std::istream& in) {
  std::vector<std::string> lines;
  for (std::string line; std::getline(in, line);) {
    if (line == "{{end}}") return lines;
    lines.push_back(line);
  }
  throw std::runtime_error("a table has no {{end}}");
}

std::string Fill(const Runs& runs, const std::string& path) {
  std::ifstream in(path);
  if (!in) throw std::runtime_error("cannot read " + path);
  std::string out;
  for (std::string line; std::getline(in, line);) {
    if (line.starts_with("{{table ")) {
      const auto request = Split(std::string_view(line).substr(2, line.size() - 4), ' ');
      out += Table(runs, request, LinesUpToEnd(in));
    } else if (line == "{{goals}}") {
      out += Goals(runs, LinesUpToEnd(in));
    } else if (line == "{{machines}}") {
      out += Machines(runs, LinesUpToEnd(in));
    } else {
      out += FillLine(line, [&](const auto& words) { return FigureRange(runs, words); }) + "\n";
    }
  }
  return out;
}

void Write(const std::string& path, const std::string& text) {
  std::ofstream out(path, std::ios::binary);
  out << text;
  if (!out.flush()) throw std::runtime_error("cannot write " + path);
}

// Of the newest run of each model, in the order of their names.
std::vector<Results> ReadKept(const std::string& directory) {
  std::set<std::string> paths;
  for (const auto& file : std::filesystem::directory_iterator(directory)) paths.insert(file.path());
  return {paths.begin(), paths.end()};
}

int Main(int argc, char** argv) try {
  if (argc != 5 && argc != 6) {
    std::cerr << "usage: pleat_report RUN.json TEMPLATE.md OUT.md OUT.svg [KEPT]\n";
    return 2;
  }
  const Results run(argv[1]);
  std::string text = Fill({&run}, argv[2]);
  Write(argv[4], Chart(run));
  if (argc == 6) {
    std::filesystem::create_directories(argv[5]);
    Write(std::string(argv[5]) + "/" + run.FileName(), run.Kept());
    const std::vector<Results> kept = ReadKept(argv[5]);
    Runs runs;
    for (const Results& of_a_model : kept) runs.push_back(&of_a_model);
    text = Fill(runs, argv[2]);
  }
  Write(argv[3], text);
  return 0;
} catch (const std::exception& error) {
  std::cerr << "pleat_report: " << error.what() << "\n";
  return 1;
}

}  // namespace
}  // namespace pleat::bench

int main(int argc, char** argv) { return pleat::bench::Main(argc, argv); }
