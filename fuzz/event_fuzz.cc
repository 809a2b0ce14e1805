// Lines of text through a JsonFolder under one of several specs. Claims:
//   - However the text comes in, the result is the same: line by line, all lines of a piece at once,
//     pieces read beforehand and folded a few lines at a time, by an intake, and, on event time, all of
//     it in one piece. The same are the unusual lines with their reasons, the counts, the ledger, the bytes
//     that come out.
//   - A line is an event or invalid as the slow plain parser says; if it is valid, it is invalid only for what
//     it says, not for how it says it.
//   - A rejected line changes nothing: without its invalid lines a text gives the same emissions.
//   - With a bound of disorder that is met, lines give what the same lines give sorted by time.
//   - The ledger adds up at every stop.
//   - What comes out is lines that both the plain parser and our own scanner take, in canonical form.
//
// The input: a letter that chooses the spec, a byte that chooses how the text is cut, the text.
#include <algorithm>
#include <chrono>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <pleat/json_intake.h>

#include "engine/lines/scan/reasons.h"
#include "engine/lines/scan/scanner.h"
#include "fuzz/target.h"
#include "tests/support/plain_json.h"

namespace pleat_fuzz {
namespace {

using pleat::Duration;
using pleat::EngineTime;
using pleat::JsonFolder;
using pleat::JsonIntake;
using pleat::JsonLines;
using pleat::LineResult;
using pleat::UnusualLine;
using std::chrono_literals::operator""s;

// By the letter that chooses them; a new one comes last, so that no seed changes its meaning.
constexpr const char* kSpecs[] = {
    // a: event time as text, every reducer without a bound.
    R"x({"key":"k","quiet":"1m","time":"t","merge":["n=count()","with=count(v)","sum=sum(v)",
        "min=min(v)","max=max(v)","mean=mean(v)","first=first(v)","last=last(v)","set=set(v)",
        "keys=keys(v)","name=first(s)"]})x",
    // b: event time as a number, and every limit on it.
    R"x({"key":"k","quiet":"5s","max-wait":"20s","time":"t","time-unit":"s","reorder":"3s",
        "allowed-lateness":"10s","future-limit":"1h","merge":["sum=sum(v.a)","last=last(v.a)"]})x",
    // c: arrival time, several keys, nested.
    R"x({"key":["k","x=v.a","/v/b~1c"],"quiet":"10s","max-wait":"30s",
        "merge":["n=count()","keys=keys(v)"]})x",
    // d: arrival time, small groups, no metadata.
    R"x({"key":"k","quiet":"inf","max-events":3,"no-meta":true,
        "merge":["set=set(v)","v=last(v)"]})x",
    // e: room for three groups.
    R"x({"key":"k","quiet":"1m","time":"t","time-unit":"ms","max-groups":3,
        "merge":["set=set(v)"]})x",
    // f: little memory.
    R"x({"key":"k","quiet":"1m","time":"t","time-unit":"us","max-memory":"4Ki",
        "merge":["set=set(v)","first=first(v)"]})x",
    // g: no unit for a time that is a number.
    R"x({"key":"k","quiet":"1s","time":"t","merge":["n=count()"]})x",
    // h: names in quotes, and pointers.
    R"x({"key":"\"a,b\"=/k","quiet":"1m","time":"/t","time-unit":"ns",
        "merge":["\"n=(1)\"=sum(/v)","\"\"=last(\"v.a\")"]})x",
    // i: bounded merges, the last of the rest, raw events.
    R"x({"key":"k","quiet":"1m","time":"t","rest":"last","raw":2,"raw-last":2,
        "merge":["a=array(v,3)","d=distinct(v,4)","c=concat(s,;,9)","set=set(v,2)",
                 "keys=keys(v,1)","event=last(.)","seconds=duration()","p50=p50(v)",
                 "p99=p99(v)","top=top(v,2)"]})x",
    // j: the first of the rest, on arrival time.
    R"x({"key":"k","quiet":"10s","rest":"first",
        "merge":["a=array(v)","d=distinct(v)","c=concat(v)"]})x",
    // k: marks, conditions, events that only close or drop a group.
    R"x({"key":"k","quiet":"1m","time":"t","start-when":"start=true","end-when":"end=true",
        "flush-when":"s=flush","cancel-when":"s=cancel",
        "close-when":{"any":["n>=4","last=\"x\"",{"not":"last<100"}]},
        "merge":["n=count()","last=last(v)"]})x",
    // l: ids.
    R"x({"key":"k","quiet":"1m","time":"t","time-unit":"s","reorder":"5s","allowed-lateness":"30s",
        "id":"id","emission-id":true,"merge":["n=count()"]})x",
    // m: both edges and partials, corrections of late events, a grid of closing times, a cap on bytes.
    R"x({"key":"k","quiet":"10s","time":"t","time-unit":"s","allowed-lateness":"5s",
        "on-late":"correct","edge":"both","partial-every":"3s","close-every":"7s@2s","max-bytes":200,
        "emission-id":true,"merge":["a=array(v)"]})x",
    // n: on arrival time partials, quiet periods and closing times of the events' own, room for two
    // groups.
    R"x({"key":"k","quiet":"20s","quiet-path":"q","close-at":"v","partial-every":"8s","max-groups":2,
        "on-limit":"emit","flush-when":"s=flush","future-limit":"1d","merge":["last=last(v)"]})x",
    // o: late events folded, the leading edge only, little memory.
    R"x({"key":"k","quiet":"30s","time":"t","time-unit":"s","allowed-lateness":"5s","on-late":"fold",
        "edge":"leading","max-memory":"4Ki","on-limit":"emit","merge":["set=set(v)"]})x",
    // p: learned quiet periods, by class.
    R"x({"key":"k","quiet":"adaptive:2s..1m","class":"s","time":"t","time-unit":"s",
        "max-wait":"5m","merge":["n=count()"]})x",
    // q: a bound of disorder, and all that may depend on the order.
    R"x({"key":"k","quiet":"10s","time":"t","time-unit":"s","reorder":"6s","start-when":"start=true",
        "end-when":"end=true","flush-when":"s=flush","cancel-when":"s=cancel","partial-every":"4s",
        "max-events":5,"emission-id":true,"merge":["a=array(v)","c=concat(s)","last=last(v)"]})x",
    // r: likewise, with little memory for lines that wait.
    R"x({"key":"k","quiet":"10s","time":"t","time-unit":"s","reorder":"1h","allowed-lateness":"5s",
        "on-late":"correct","edge":"both","merge":["a=array(v)"]})x",
};

// Whether it matters when emissions are popped: what waits takes room.
bool PopMatters(const pleat::FoldSpec& spec) {
  return spec.folder.limits.max_bytes != pleat::FoldSpec().folder.limits.max_bytes;
}

// Whether lines may be taken before their turn.
bool MayBeTakenEarly(const pleat::FoldSpec& spec) {
  return spec.event.max_waiting_bytes != pleat::FoldSpec().event.max_waiting_bytes;
}

// One text and how it is cut: into pieces of some lines, between which time passes and emissions are
// popped.
struct Case {
  const pleat::FoldSpec& spec;
  std::vector<std::string> pieces;  // whole lines, each ended by its newline but for the last
  size_t folded_at_once;            // lines, of those read beforehand
};

struct Unusual {
  size_t line;
  std::string text;
  LineResult::Kind kind;
  pleat::FoldOutcome fold;
  std::string reason;

  friend bool operator==(const Unusual&, const Unusual&) = default;
};

struct Result {
  std::vector<Unusual> unusual;  // blank lines not among them
  pleat::LineCounts counts;
  pleat::Ledger ledger;
  std::string out;
};

// An engine and a folder, and what came out of them.
class Run {
 public:
  explicit Run(const pleat::FoldSpec& spec, bool has_intake = false) : spec_(spec) {
    pleat::EngineOptions options = pleat::EngineOptionsFor(spec.event);
    options.internals.hash_key = {1, 2};
    engine_ = *pleat::Engine::Open(options);
    if (has_intake) {
      intake_ = *JsonIntake::Open(*engine_, spec.event);
      folder_ = *JsonFolder::Open(*intake_, "lines", spec);
    } else {
      folder_ = *JsonFolder::Open(*engine_, "lines", spec);
    }
  }

  JsonFolder& folder() { return *folder_; }
  JsonIntake& intake() { return *intake_; }
  EngineTime arrival() const { return arrival_; }

  void Note(size_t line, std::string_view text, const LineResult& result) {
    result_.unusual.push_back(
        {line, std::string(text), result.kind, result.fold, std::string(result.reason)});
  }

  // Tells of unusual lines of a text that begins at line `first`, or before it.
  auto Noting(size_t first) {
    return [this, first](const UnusualLine& line) {
      Note(static_cast<size_t>(static_cast<int64_t>(first) + line.index), line.text, line.result);
      return true;
    };
  }

  auto NotingOfIntake(size_t first) {
    return [noting = Noting(first)](const UnusualLine& line, std::string_view) {
      return noting(line);
    };
  }

  // Between two pieces.
  void Rest() {
    Expect();
    arrival_ += 7s;
    if (spec_.event.time.empty()) engine_->Advance(arrival_);
    folder_->Pop(2 + result_.out.size() % 3, result_.out);
    Expect();
  }

  // `lines` were given. When an unusual line is told of that has waited, depends on how the text is cut.
  Result End(size_t lines) {
    if (intake_ == nullptr) {
      folder_->TakeWaiting(Noting(lines));
    } else {
      intake_->TakeWaiting(NotingOfIntake(lines));
    }
    std::ranges::sort(result_.unusual, {}, &Unusual::line);
    folder_->CloseAll();
    Expect();
    folder_->Pop(SIZE_MAX, result_.out);
    Expect();
    result_.counts = folder_->counts();
    result_.ledger = folder_->ledger();
    return std::move(result_);
  }

 private:
  void Expect() const {
    FUZZ_EXPECT(folder_->ledger().Balances(), result_.out);
    const pleat::LineCounts counts = folder_->counts();
    FUZZ_EXPECT(counts.lines == counts.events + counts.invalid + counts.waiting, result_.out);
  }

  const pleat::FoldSpec& spec_;
  std::unique_ptr<pleat::Engine> engine_;
  std::unique_ptr<JsonIntake> intake_;
  std::unique_ptr<JsonFolder> folder_;
  EngineTime arrival_ = pleat::FromUnix(1'700'000'000s);
  Result result_;
};

bool IsUsual(const LineResult& result) {
  return result.kind == LineResult::Kind::kBlank || result.kind == LineResult::Kind::kWaiting ||
         (result.kind == LineResult::Kind::kEvent && (result.fold == pleat::FoldOutcome::kOpened ||
                                                      result.fold == pleat::FoldOutcome::kFolded));
}

// `on_line` is told of every line: its number and its result.
template <class OnLine>
Result FoldLineByLine(const Case& test, OnLine on_line) {
  Run run(test.spec);
  size_t number = 0;
  for (const std::string& piece : test.pieces) {
    for (const std::string_view line : LinesOf(piece)) {
      const PaddedText padded(line);
      const LineResult result =
          run.folder().FoldLine(padded.view(), run.arrival(), run.Noting(number));
      if (!IsUsual(result)) run.Note(number, line, result);
      on_line(number, line, result);
      ++number;
    }
    run.Rest();
  }
  return run.End(number);
}

Result FoldPieces(const Case& test) {
  Run run(test.spec);
  size_t before = 0;
  for (const std::string& piece : test.pieces) {
    const PaddedText padded(piece);
    run.folder().FoldLines(padded.view(), run.arrival(), run.Noting(before));
    before += LinesOf(piece).size();
    run.Rest();
  }
  return run.End(before);
}

// Each piece is read before the one in front of it is folded, as if by another thread.
Result FoldReadLines(const Case& test) {
  Run run(test.spec);
  JsonLines read[] = {JsonLines(run.folder().plan()), JsonLines(run.folder().plan())};
  std::vector<PaddedText> texts;
  for (const std::string& piece : test.pieces) texts.emplace_back(piece);
  size_t before = 0;
  for (size_t i = 0; i <= texts.size(); ++i) {
    if (i < texts.size()) read[i % 2].Read(texts[i].view());
    if (i == 0) continue;
    JsonLines& lines = read[(i - 1) % 2];
    const size_t count = LinesOf(test.pieces[i - 1]).size();
    FUZZ_EXPECT(lines.left() == count, test.pieces[i - 1]);
    while (const size_t left = lines.left()) {
      const size_t folded =
          run.folder().Fold(lines, test.folded_at_once, run.arrival(), run.Noting(before));
      FUZZ_EXPECT(folded == std::min(left, test.folded_at_once), test.pieces[i - 1]);
      FUZZ_EXPECT(lines.left() == left - folded, test.pieces[i - 1]);
    }
    before += count;
    run.Rest();
  }
  return run.End(before);
}

Result FoldByIntake(const Case& test) {
  Run run(test.spec, /*has_intake=*/true);
  size_t before = 0;
  for (const std::string& piece : test.pieces) {
    const PaddedText padded(piece);
    const bool pushed = run.intake().Push(padded.view(), run.arrival(), run.NotingOfIntake(before));
    FUZZ_EXPECT(pushed, piece);
    before += LinesOf(piece).size();
    run.Rest();
  }
  return run.End(before);
}

// The stamp of a line, if it is one that may wait.
std::optional<EngineTime> StampOf(const pleat::FoldSpec& spec, std::string_view line) {
  Run run(spec);
  const PaddedText padded(line);
  run.folder().FoldLine(padded.view(), run.arrival());
  const pleat::StampCounts stamps = run.folder().stamps();
  return stamps.oldest <= stamps.newest ? std::optional(stamps.newest) : std::nullopt;
}

// `lines` without the invalid ones.
void ExpectOrderMakesNoDifference(const pleat::FoldSpec& spec, const Result& result,
                                  std::vector<std::string> lines, std::string_view whole) {
  std::multimap<EngineTime, std::string> in_turn;  // of equal stamps in the order of arrival
  EngineTime newest = pleat::kBeginningOfTime;
  for (std::string& line : lines) {
    const std::optional<EngineTime> at = StampOf(spec, line);
    if (!at) continue;
    newest = std::max(newest, *at);
    if (newest - *at > spec.event.reorder) return;
    in_turn.emplace(*at, std::move(line));
  }
  pleat::FoldSpec in_order = spec;
  in_order.event.reorder = Duration{0};
  in_order.event.future_limit = pleat::kForever;
  Case sorted{in_order, {""}, 1};
  for (const auto& [at, line] : in_turn) sorted.pieces.front() += line + '\n';
  const Result good = FoldPieces(sorted);
  FUZZ_EXPECT_SAME(result.out, good.out, whole);
  FUZZ_EXPECT(result.counts.events == good.counts.events, whole);
  FUZZ_EXPECT(result.ledger == good.ledger || result.counts.invalid > 0, whole);
}

void ExpectSameResult(const Result& a, const Result& b, std::string_view text) {
  FUZZ_EXPECT_SAME(a.out, b.out, text);
  FUZZ_EXPECT(a.unusual == b.unusual, text);
  FUZZ_EXPECT(a.counts == b.counts, text);
  FUZZ_EXPECT(a.ledger == b.ledger, text);
}

// An intake has collections refuse what is beyond the future limit, also of events that wait.
void ExpectSameButForFuture(Result a, Result b, std::string_view text) {
  for (Result* each : {&a, &b}) each->ledger.events -= std::exchange(each->ledger.future, 0);
  ExpectSameResult(a, b, text);
}

// Whether the reason is that the line is not a document of ours at all.
bool IsAboutForm(std::string_view reason) {
  return reason.starts_with("not ") || reason.starts_with("nested ") ||
         reason.starts_with("an object of ") || reason.starts_with("longer ") ||
         reason.ends_with(" appears twice");
}

void ExpectVerdict(std::string_view line, const LineResult& result) {
  using Kind = LineResult::Kind;
  const bool blank = line.find_first_not_of(" \t\r\n") == std::string_view::npos;
  FUZZ_EXPECT(blank == (result.kind == Kind::kBlank), line);
  if (blank) return;
  const std::optional<pleat::PlainJson> plain = pleat::ParseLoosePlainJson(line);
  const bool valid = plain && plain->kind == pleat::PlainJson::Kind::kObject;
  FUZZ_EXPECT(valid || result.kind == Kind::kInvalid, line);
  const bool unusable = result.kind == Kind::kInvalid || result.kind == Kind::kNoUnit;
  const bool conflict = result.fold == pleat::FoldOutcome::kConflict;
  FUZZ_EXPECT((unusable || conflict) != result.reason.empty(), line);
  if (result.kind != Kind::kInvalid) return;
  // Whether a name that comes twice is a mistake depends on the spec.
  const bool twice = result.reason.ends_with(" appears twice");
  FUZZ_EXPECT(twice ? !plain || pleat::HasNameTwice(*plain) : valid != IsAboutForm(result.reason),
              line);
}

// Whether a line may be more than we take: raw events are two levels further in than they came, and
// the members of the rest come on top of others.
bool MayBeTooLarge(const pleat::FoldSpec& spec, std::string_view reason) {
  return ((spec.raw != 0 || spec.raw_last != 0) && reason == pleat::invalid_line::kDepth) ||
         (spec.rest != pleat::Rest::kDrop && reason == pleat::invalid_line::kMembers);
}

void ExpectLines(const pleat::FoldSpec& spec, std::string_view out) {
  pleat::PathTree all;
  all.AskForAll();
  pleat::Scanner scanner(all);
  FUZZ_EXPECT(out.empty() || out.ends_with('\n'), out);
  for (const std::string_view line : LinesOf(out)) {
    const PaddedText padded(line);
    const std::string reason(scanner.Scan(padded.view()));
    if (MayBeTooLarge(spec, reason)) continue;
    FUZZ_EXPECT_SAME(reason, "", line);
    const std::optional<pleat::PlainJson> plain = pleat::ParsePlainJson(line);
    FUZZ_EXPECT(plain && plain->kind == pleat::PlainJson::Kind::kObject, line);
    FUZZ_EXPECT_SAME(pleat::WritePlainJson(*plain), line, line);
  }
}

void Check(const pleat::FoldSpec& spec, size_t cut, std::string_view text) {
  // Pieces of the same number of lines; not too many, as each costs several pops.
  const size_t lines_a_piece = std::max(size_t{1} << cut % 8, LinesOf(text).size() / 256);
  Case test{spec, {}, 1 + cut / 8};
  Case without_invalid = test;
  size_t in_piece = 0;
  while (!text.empty()) {
    if (in_piece++ % lines_a_piece == 0) test.pieces.emplace_back();
    const size_t end = std::min(text.find('\n'), text.size() - 1) + 1;
    test.pieces.back() += text.substr(0, end);
    text.remove_prefix(end);
  }
  std::string whole;
  for (const std::string& piece : test.pieces) whole += piece;

  without_invalid.pieces.resize(test.pieces.size());
  const Result result =
      FoldLineByLine(test, [&](size_t line, std::string_view text_of_it, const LineResult& what) {
        ExpectVerdict(text_of_it, what);
        if (what.kind == LineResult::Kind::kInvalid || what.kind == LineResult::Kind::kNoUnit)
          return;
        without_invalid.pieces[line / lines_a_piece] += std::string(text_of_it) + '\n';
      });
  ExpectLines(spec, result.out);
  ExpectSameResult(result, FoldPieces(test), whole);
  ExpectSameResult(result, FoldReadLines(test), whole);
  // A line that waits in an intake counts other bytes.
  if (!MayBeTakenEarly(spec)) ExpectSameButForFuture(result, FoldByIntake(test), whole);

  const Result good = FoldPieces(without_invalid);
  FUZZ_EXPECT_SAME(result.out, good.out, whole);
  FUZZ_EXPECT(good.counts.invalid == 0 && good.counts.events == result.counts.events, whole);
  pleat::Ledger ledger = result.ledger;
  ledger.events -= ledger.future;
  ledger.future = 0;
  FUZZ_EXPECT(ledger == good.ledger, whole);

  if (spec.event.reorder > Duration{0} && !MayBeTakenEarly(spec)) {
    std::vector<std::string> lines;
    for (const std::string& piece : without_invalid.pieces) {
      for (const std::string_view line : LinesOf(piece)) lines.emplace_back(line);
    }
    ExpectOrderMakesNoDifference(spec, result, std::move(lines), whole);
  }
  if (!spec.event.time.empty() && !PopMatters(spec)) {
    ExpectSameResult(result, FoldPieces({spec, {whole}, 1}), whole);
  }
}

const std::vector<pleat::FoldSpec>& Specs() {
  static const std::vector<pleat::FoldSpec> specs = [] {
    std::vector<pleat::FoldSpec> parsed;
    for (const char* document : kSpecs) parsed.push_back(*pleat::ParseFoldSpec(document));
    parsed.back().event.max_waiting_bytes = 1'000;  // r
    return parsed;
  }();
  return specs;
}

}  // namespace
}  // namespace pleat_fuzz

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace pleat_fuzz;
  if (size < 2) return 0;
  const size_t letter = data[0] - size_t{'a'};
  const size_t number = letter < Specs().size() ? letter : data[0] % Specs().size();
  Check(Specs()[number], data[1], TextOf(data + 2, size - 2));
  return 0;
}
