// pleat_report RESULTS.json TEMPLATE.md OUT.md [OUT.svg]: fills the results of pleat_bench into a text.
//
// Everything written by hand is in the template, bench/report.md; what it asks for stands in braces:
//
//   {{context KEY}}            what the program said of machine and build
//   {{ratio NAME NAME}}        of two rates
//   {{figure NAME COUNTER}}    rounded to a whole number
//   {{table PREFIX BASE UNIT}} up to {{end}}: a table with a line for each line `CONTESTANT | words`, of the
//                              benchmarks PREFIX/CONTESTANT; ratios are against PREFIX/BASE, and UNIT names
//                              what is counted. Columns that nobody has a figure for are left out.
//   {{goals}} up to {{end}}    a table with a line for each line `case | goal | floor | figure`, where
//                              goal and floor begin with >= or <=. A figure is `NAME : COUNTER`; or
//                              `NAME / NAME`, the ratio of two rates, or of two counters if they are
//                              given; or `growth PREFIX : COUNTER`, of the benchmarks PREFIX/N the
//                              largest ratio from one N to the next
//
// What was not measured says so; nothing is left out for it.
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <fstream>
#include <iostream>
#include <sstream>
#include <stdexcept>

#include "bench/report_chart.h"
#include "bench/report_results.h"

namespace pleat::bench {
namespace {

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
};
const CounterColumn kCounterColumns[] = {
    {"bytes/member", {"bytes_per_member"}},
    {"bytes/key", {"bytes_per_key"}},
    {"bytes/group", {"bytes_per_group", "rss_bytes_per_group", "accounted_bytes_per_group"}},
    {"p50 ns", {"p50_ns", "call_p50_ns"}},
    {"p99 ns", {"p99_ns", "call_p99_ns"}},
    {"p99.9 ns", {"p999_ns"}},
    {"longest call, us", {"max_pause_us"}},
    {"add ns", {"add_ns"}},
    {"add in no order ns", {"add_shuffled_ns"}},
    {"refresh ns", {"refresh_ns"}},
    {"one by one ns", {"refresh_single_ns"}},
    {"count ns", {"count_ns"}},
    {"count since ns", {"count_since_ns"}},
    {"expire ns", {"expire_ns"}},
};

std::vector<std::string> Headings(const std::string& base, const std::string& unit) {
  std::vector<std::string> headings = {unit + "s/s", "ns/" + unit, "against `" + base + "`"};
  for (const CounterColumn& column : kCounterColumns) headings.emplace_back(column.heading);
  return headings;
}

// What the columns say of the benchmark `name`; an empty cell where there is no figure.
std::vector<std::string> Cells(const Results& results, const std::string& name,
                               const std::string& base) {
  const auto rate = results.Rate(name);
  const auto ratio = Ratio(results, name, base);
  std::vector<std::string> cells = {rate ? Short(*rate) : "", rate ? Digits(1e9 / *rate) : "",
                                    ratio ? Digits(*ratio) : ""};
  for (const CounterColumn& column : kCounterColumns) {
    std::string& cell = cells.emplace_back();
    for (const char* counter : column.counters) {
      const auto figure = results.Figure(name, counter);
      if (cell.empty() && figure) cell = Digits(*figure);
    }
  }
  return cells;
}

// "`pleat_batch`: one thread", and why there are no figures if there are none.
std::string RowTitle(const Results& results, const std::string& name,
                     const std::vector<std::string>& line) {
  std::string title =
      "`" + line[0] + "`" + (line.size() > 1 && !line[1].empty() ? ": " + line[1] : "");
  const std::string_view error = results.Error(name);
  if (!error.empty()) return title.append(" (failed: ").append(error).append(")");
  if (!results.Rate(name)) return title.append(" (").append(kNotMeasured).append(")");
  return title;
}

// `request`: "table", PREFIX, BASE, UNIT; `lines`: CONTESTANT | words.
std::string Table(const Results& results, const std::vector<std::string>& request,
                  const std::vector<std::string>& lines) {
  if (request.size() != 4) throw std::runtime_error("{{table PREFIX BASE UNIT}}");
  const std::string prefix = request[1] + "/";
  const std::vector<std::string> headings = Headings(request[2], request[3]);
  std::vector<std::vector<std::string>> rows = {{"case"}, {"---"}};
  for (const std::string& line : lines) {
    const std::vector<std::string> parts = Split(line, '|');
    rows.push_back({RowTitle(results, prefix + parts[0], parts)});
  }
  for (size_t column = 0; column < headings.size(); ++column) {
    bool empty = true;
    for (size_t i = 0; i < lines.size(); ++i) {
      const std::string name = prefix + Split(lines[i], '|')[0];
      rows[i + 2].push_back(Cells(results, name, prefix + request[2])[column]);
      empty = empty && rows[i + 2].back().empty();
    }
    if (empty) {
      for (size_t i = 0; i < lines.size(); ++i) rows[i + 2].pop_back();
    } else {
      rows[0].push_back(headings[column]);
      rows[1].emplace_back("---:");
    }
  }
  std::string out;
  for (const std::vector<std::string>& row : rows) {
    for (const std::string& cell : row) out += "| " + cell + " ";
    out += "|\n";
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

std::string Goals(const Results& results, const std::vector<std::string>& lines) {
  std::string out =
      "| case | goal | floor | measured | by processor time | floor held | goal reached |\n"
      "| --- | ---: | ---: | ---: | ---: | --- | --- |\n";
  for (const std::string& line : lines) {
    const std::vector<std::string> parts = Split(line, '|');
    if (parts.size() != 4) throw std::runtime_error("case | goal | floor | figure: " + line);
    const auto figure = Evaluate(results, parts[3], kByWallClock);
    const auto by_cpu = Evaluate(results, parts[3], kByProcessorTime);
    out += "| " + parts[0] + " | " + parts[1] + " | " + parts[2] + " | ";
    if (figure) {
      out += Digits(*figure) + " | " + (by_cpu ? Digits(*by_cpu) : "") +
             (Holds(*figure, parts[2]) ? " | yes |" : " | **no** |") +
             (Holds(*figure, parts[1]) ? " yes |\n" : " no |\n");
    } else {
      out.append(kNotMeasured).append(" | | | |\n");
    }
  }
  return out;
}

// The answer to what stands in braces within a line.
std::string Inline(const Results& results, const std::string& request) {
  const std::vector<std::string> words = Split(request, ' ');
  if (words[0] == "context" && words.size() == 2) return std::string(results.Context(words[1]));
  if (words[0] == "ratio" && words.size() == 3) {
    const auto ratio = Ratio(results, words[1], words[2]);
    return ratio ? Digits(*ratio) : kNotMeasured;
  }
  if (words[0] == "figure" && words.size() == 3) {
    const auto figure = results.Figure(words[1], words[2]);
    return figure ? std::to_string(std::llround(*figure)) : kNotMeasured;
  }
  throw std::runtime_error("nobody knows {{" + request + "}}");
}

std::string FillLine(const Results& results, std::string_view line) {
  std::string out;
  for (size_t begin; (begin = line.find("{{")) != line.npos;) {
    const size_t end = line.find("}}", begin);
    if (end == line.npos) throw std::runtime_error("no }} in " + std::string(line));
    out.append(line.substr(0, begin));
    out += Inline(results, std::string(line.substr(begin + 2, end - begin - 2)));
    line.remove_prefix(end + 2);
  }
  return out.append(line);
}

std::vector<std::string> LinesUpToEnd(std::istream& in) {
  std::vector<std::string> lines;
  for (std::string line; std::getline(in, line);) {
    if (line == "{{end}}") return lines;
    lines.push_back(line);
  }
  throw std::runtime_error("a table has no {{end}}");
}

std::string Fill(const Results& results, std::istream& in) {
  std::string out;
  for (std::string line; std::getline(in, line);) {
    if (line.starts_with("{{table ")) {
      const auto request = Split(std::string_view(line).substr(2, line.size() - 4), ' ');
      out += Table(results, request, LinesUpToEnd(in));
    } else if (line == "{{goals}}") {
      out += Goals(results, LinesUpToEnd(in));
    } else {
      out += FillLine(results, line) + "\n";
    }
  }
  return out;
}

void Write(const char* path, const std::string& text) {
  std::ofstream out(path, std::ios::binary);
  out << text;
  if (!out.flush()) throw std::runtime_error(std::string("cannot write ") + path);
}

int Main(int argc, char** argv) try {
  if (argc != 4 && argc != 5) {
    std::cerr << "usage: pleat_report RESULTS.json TEMPLATE.md OUT.md [OUT.svg]\n";
    return 2;
  }
  const Results results(argv[1]);
  std::ifstream text(argv[2]);
  if (!text) throw std::runtime_error(std::string("cannot read ") + argv[2]);
  Write(argv[3], Fill(results, text));
  if (argc == 5) Write(argv[4], Chart(results));
  return 0;
} catch (const std::exception& error) {
  std::cerr << "pleat_report: " << error.what() << "\n";
  return 1;
}

}  // namespace
}  // namespace pleat::bench

int main(int argc, char** argv) { return pleat::bench::Main(argc, argv); }
