// Jobs of lines, drawn: options of each command, and lines with stamps that have a use for all of
// them. The texts of options are those of the command line, so that a case can be repeated with the
// program.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <random>
#include <string>
#include <vector>

#include <pleat/json_lines.h>

#include "tests/lines/drawn_events.h"

namespace pleat {

struct StampedLine {
  std::string text;  // without a newline
  EngineTime at;     // its stamp; of a line without one, where it belongs
};

class JobDraw {
 public:
  explicit JobDraw(uint64_t seed) : random_(seed), events_(seed) {}

  size_t Below(size_t n) { return random_() % n; }
  bool Chance(size_t percent) { return Below(100) < percent; }
  template <class Choice, size_t n>
  Choice Pick(const Choice (&choices)[n]) {
    return choices[Below(n)];
  }
  std::mt19937_64& random() { return random_; }

  // --- Options

  std::string FoldOptions() {
    std::string out = EventOptions() + Quiet();
    Maybe(out, 40, "max-wait", {"1s", "4s", "20s"});
    Maybe(out, 30, "max-events", {"1", "2", "3", "5"});
    Maybe(out, 20, "max-bytes", {"1", "150", "400", "1K"});
    Maybe(out, 20, "close-every", {"7s", "1m", "5s@2s", "20s"});
    Maybe(out, 20, "close-at", {"close"});
    for (const char* mark : {"start-when", "end-when", "flush-when", "cancel-when"}) {
      if (Chance(20)) out += std::string(" --") + mark + " " + Condition();
    }
    if (Chance(25)) {
      out += " --edge " + std::string(Pick({"both", "both", "leading"}));
    }
    if (out.find("leading") == std::string::npos)
      Maybe(out, 25, "partial-every", {"1s", "3s", "7500ms"});
    out += Lateness() + Merges();
    Maybe(out, 25, "rest", {"first", "last"});
    Maybe(out, 25, "raw", {"1", "3"});
    Maybe(out, 25, "raw-last", {"1", "3"});
    if (Chance(15)) out += " --no-meta";
    if (Chance(40)) out += " --emission-id";
    if (Chance(20)) {
      out += " --max-groups " + std::string(Pick({"3", "4", "5"})) + " --on-limit " +
             Pick({"refuse", "emit"});
    }
    Maybe(out, 10, "max-memory", {"6000", "12000", "30000"});
    return out;
  }

  std::string LiveSetOptions() {
    std::string out = EventOptions();
    out += Chance(70) ? " --member id" : " --member m.a --member m.b";
    out += " --ttl " + std::string(Pick({"1s", "3s", "10s", "2500ms", "inf"}));
    Maybe(out, 30, "ttl-path", {"ttl"});
    Maybe(out, 60, "refresh", {"latest", "first", "replace"});
    Maybe(out, 60, "payload", {"v", "g", "o"});
    Maybe(out, 40, "version", {"ver"});
    if (Chance(50)) out += " --remove-when " + Condition();
    Maybe(out, 20, "max-series", {"3", "4"});
    Maybe(out, 20, "max-members", {"3", "6"});
    Maybe(out, 10, "max-memory", {"6000", "12000"});
    Maybe(out, 40, "on-limit", {"refuse", "drop"});
    return out;
  }

  std::string RollupOptions() {
    std::string out = EventOptions();
    out += " --window " + std::string(Pick({"1s", "4s", "2500ms", "1s,2s", "2s,10s,60s", "1d",
                                            "500ms,3s", "4s,8s,12s", "1us"}));
    out += " --allowed-lateness " + std::string(Pick({"0", "1s", "2500ms", "20s", "2000000d"}));
    Maybe(out, 30, "margin", {"1s", "1us", "5s"});
    Maybe(out, 60, "value", {"n", "i"});
    Maybe(out, 40, "id", {"id"});
    Maybe(out, 60, "on-late", {"reject", "clamp", "correct"});
    if (Chance(40)) out += " --emission-id";
    Maybe(out, 15, "max-keys", {"3", "4"});
    Maybe(out, 15, "max-memory", {"6000", "12000", "30000"});
    return out;
  }

  // What every job has.
  std::string EventOptions() {
    std::string out = "--time " + std::string(Pick({"t", "t", "t", "h.t"})) +
                      " --time-unit s --key " +
                      Pick({"k", "k", "k", "k,c", "''", "inner=m.a", "beta=/m/b"});
    if (Chance(10)) out += " --where " + Condition();
    Maybe(out, 10, "from", {"1970-01-01T00:10:02Z", "1970-01-01T00:10:20.5Z"});
    Maybe(out, 10, "to", {"1970-01-01T00:10:21Z", "1970-01-01T00:11:00Z"});
    Maybe(out, 5, "time-zone", {"Europe/Berlin"});
    return out;
  }

  // A bound of disorder: around the steps between stamps, or so long that everything waits.
  Duration Bound() {
    using namespace std::chrono_literals;
    static constexpr Duration kBounds[] = {1us, 500ms, 1s,  1s,  2500ms,         3s,
                                           5s,  10s,   40s, 60s, 24h * 1'000'000};
    return Chance(2) ? kForever : Pick(kBounds);
  }

  // --- Lines

  // Five to sixty, by their stamps, many of which are equal.
  std::vector<StampedLine> Lines() {
    std::vector<StampedLine> lines;
    for (size_t left = 5 + Below(56); left > 0; --left) {
      if (Chance(4) && !lines.empty()) {
        lines.push_back(lines[lines.size() - 1 - Below(std::min<size_t>(lines.size(), 6))]);
        continue;
      }
      at_ += Step();
      lines.push_back({Chance(5) ? NoEvent() : Line(), at_});
    }
    return lines;
  }

 private:
  // An option that is there in so many cases of a hundred, with one of the values.
  void Maybe(std::string& out, size_t percent, const std::string& name,
             std::initializer_list<const char*> values) {
    if (!Chance(percent)) return;
    out += " --" + name + " " + std::data(values)[Below(values.size())];
  }

  // By a condition that an event may meet.
  std::string Condition() {
    return Pick({"g=3", "'g>=8'", "'g<2'", "c=x", "i=3", "m.a=1", "w.0=1",
                 R"('{"any":["g=1","g=5"]}')", R"('{"not":"g<8"}')"});
  }

  std::string Quiet() {
    if (Chance(15)) {
      return " --quiet adaptive:" + std::string(Pick({"1us", "300ms", "999ms"})) + ".." +
             Pick({"1s", "5s", "30s"}) + (Chance(50) ? " --class c" : "");
    }
    return " --quiet " + std::string(Pick({"1s", "1s", "2500ms", "5s", "30s", "inf"})) +
           (Chance(20) ? " --quiet-path q" : "");
  }

  std::string Lateness() {
    if (Chance(30)) return "";
    return " --allowed-lateness " + std::string(Pick({"0", "1s", "3s", "10s", "1d"})) +
           (Chance(40)   ? " --id id"
            : Chance(60) ? std::string(" --on-late ") + Pick({"fold", "correct"})
                         : "");
  }

  // Of every reducer, and sometimes a condition on one of them.
  std::string Merges() {
    static constexpr const char* kMerges[] = {"count=count(v)",
                                              "keys=keys(o)",
                                              "few=keys(o,2)",
                                              "set=set(v)",
                                              "small=set(v,3)",
                                              "sum=sum(n)",
                                              "whole=sum(i)",
                                              "lo=min(n)",
                                              "hi=max(n)",
                                              "mean=mean(n)",
                                              "first=first(v)",
                                              "last=last(v)",
                                              "distinct=distinct(v)",
                                              "some=distinct(v,3)",
                                              "array=array(v,60)",
                                              "short=array(v,3)",
                                              "concat=concat(s,-,99)",
                                              "opening=first(.)",
                                              "closing=last(.)",
                                              "seconds=duration()",
                                              "median=p50(n)",
                                              "p90=p90(n)",
                                              "p95=p95(n)",
                                              "most=p99(n)",
                                              "rare=p999(i)",
                                              "often=top(v,3)",
                                              "top=top(s)",
                                              "element=last(w.0)",
                                              "deep=array(w.1.x)",
                                              "deeper=sum(w.0.0)",
                                              "pointer=set(/m/b)"};
    std::string out;
    const size_t share = Pick({0, 10, 30});
    for (const char* merge : kMerges) {
      if (Chance(share)) out += std::string(" --merge '") + merge + "'";
    }
    if (Chance(20)) {
      out +=
          Pick({" --merge 'events=count()' --close-when 'events>=3'",
                " --merge 'g=last(g)' --close-when g=4", " --merge 'g=first(g)' --close-when 'g>7'",
                " --merge 'lag=duration()' --close-when 'lag>=4'",
                " --merge 'total=sum(g)' --close-when 'total>12'"});
    }
    return out;
  }

  Duration Step() {
    using namespace std::chrono_literals;
    static constexpr Duration kSteps[] = {0s, 0s, 0s,    0s, 0s, 500ms, 500ms,
                                          1s, 1s, 250ms, 2s, 3s, 1us,   9s};
    return Chance(2) ? 45s : Pick(kSteps);
  }

  std::string Digit(size_t below) { return std::to_string(Below(below)); }

  std::string Time(EngineTime at) {
    if (Chance(20)) return '"' + FormatTimestamp(at) + '"';
    const int64_t us = at.time_since_epoch().count();
    std::string text = std::to_string(us / 1'000'000);
    if (us % 1'000'000 == 0) return text + Pick({"", "", ".0"});
    return text + "." + std::to_string(1'000'000 + us % 1'000'000).substr(1);
  }

  // Members in any order and spelling.
  std::string Line() {
    std::vector<std::string> members = {
        Named("k") + Pick({"\"a\"", "\"a\"", "\"b\"", "1", "\"\\u0061\""}),
        Named("t") + Time(at_),
        Named("h") + "{" + Named("t") + Time(at_) + "}",
        Named("m") + "{" + Named("a") + Digit(2) + "," + Named("b") + Digit(2) + "}",
        Named("g") + Digit(10),
        Named("c") + Pick({"\"x\"", "\"y\"", "\"\\u0079\""})};
    const auto add = [&](size_t percent, const std::string& member) {
      if (Chance(percent)) members.push_back(member);
    };
    add(97, Named("id") + Digit(12));
    add(50, Named("ver") + Digit(3));
    add(30, Named("ttl") + Pick({"\"0\"", "\"500ms\"", "\"2s\"", "\"20s\"", "null"}));
    add(30, Named("q") + Pick({"\"500ms\"", "\"2s\"", "\"20s\"", "null", "\"1us\""}));
    add(30,
        Named("close") + Time(at_ + std::chrono::milliseconds(500) * static_cast<int>(Below(12)) -
                              std::chrono::seconds(1)));
    add(40, Named("w") + Pick({"[]", "[1]", "[2,{\"x\":3}]", "[[4],{\"x\":[5]}]", "{\"0\":1}",
                               "null", "[ 1 , { \"\\u0078\" : \"\\n\" } ]"}));
    if (Chance(30)) std::ranges::shuffle(members, random_);
    const std::string gap = Chance(80) ? "" : Pick({" ", "\t", "  \r"});
    std::string out;
    for (const std::string& member : members) out += (out.empty() ? "" : gap + ",") + gap + member;
    if (Chance(50)) out += events_.Members();
    return gap + "{" + out + "}" + (Chance(10) ? "\r" : gap);
  }

  // The name of a member and its colon; some names are written with an escape.
  std::string Named(const std::string& name) {
    if (!Chance(4)) return "\"" + name + "\":";
    constexpr char kDigits[] = "0123456789abcdef";
    const auto code = static_cast<size_t>(name.front());
    return std::string("\"\\u00") + kDigits[code / 16] + kDigits[code % 16] + name.substr(1) +
           "\" : ";
  }

  // A line that is no event under any options, or is blank.
  std::string NoEvent() {
    return Pick({"", " \t", "no line", "{}", "[1]", R"({"k":"a","t":null,"id":1})",
                 R"({"k":"a","t":"1970-13-01T00:00:00Z","id":1})", R"({"k":"a","t":600}})",
                 R"({"t":600,"id":)"});
  }

  std::mt19937_64 random_;
  DrawnEvents events_;
  EngineTime at_ = FromUnix(std::chrono::seconds(600));
};

}  // namespace pleat
