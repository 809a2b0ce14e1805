#include "tools/pleat/fold/fold_flags.h"

#include <utility>

#include "tools/pleat/errno_status.h"
#include "tools/pleat/input.h"

namespace pleat::cli {
namespace {

constexpr Flag kFlags[] = {
    {"", "", FlagKind::kText, "Grouping"},
    {"key", "[NAME=]PATH[,...]", FlagKind::kList,
     "the members that make up the group key (required); a.b nests, and a PATH\n"
     "that starts with / is a JSON Pointer; NAME is how it is called in the output"},
    {"merge", "NAME=REDUCER(PATH)", FlagKind::kList,
     "adds a member to the output; may be repeated, in output order. REDUCER is one\n"
     "of keys set sum min max mean count first last distinct array concat; count()\n"
     "counts events, array(PATH,N) keeps N elements, concat(PATH,SEP,N) N bytes"},
    {"rest", "drop|first|last", FlagKind::kText,
     "members that no other option takes: drop them (default), or\n"
     "add each to the output with its first or its last value"},
    {"raw", "N", FlagKind::kNumber, "adds the first N events, as they came, as \"_raw\""},
    {"", "", FlagKind::kText, "When a group closes"},
    {"quiet", "DURATION", FlagKind::kText,
     "this long after its last event (required). adaptive:FLOOR..CEILING learns the\n"
     "period from the gaps between events, such that each CEILING of waiting folds\n"
     "more than one event"},
    {"class", "PATH", FlagKind::kText,
     "with adaptive: the member that names the class of a key; each class learns\n"
     "its own period"},
    {"max-hold", "DURATION", FlagKind::kText,
     "this long after its first event, however busy it is (default inf)"},
    {"max-events", "N", FlagKind::kNumber, "when it holds N events"},
    {"max-bytes", "BYTES", FlagKind::kNumber,
     "when its lines add up to this many bytes, also as 64Ki or 1M"},
    {"start-when", "COND", FlagKind::kCondition,
     "before an event for which this holds: it opens the next group of its key"},
    {"end-when", "COND", FlagKind::kCondition,
     "after an event for which this holds: it is the last of its group"},
    {"close-when", "COND", FlagKind::kCondition,
     "as soon as this holds for its merged values, by their NAME"},
    {"flush-when", "COND", FlagKind::kCondition,
     "an event for which this holds closes the open group of its key, if there is\n"
     "one, and is not folded itself"},
    {"cancel-when", "COND", FlagKind::kCondition, "likewise, but the group is dropped"},
    {"quiet-path", "PATH", FlagKind::kText,
     "the member with an event's own quiet period, as text such as \"90s\"; without\n"
     "the member --quiet counts. A group closes at the latest deadline of its events"},
    {"at-end", "flush|drop", FlagKind::kText,
     "at the end of input: close the open groups with the reason \"end\" (default),\n"
     "or drop them"},
    {"open", "FILE", FlagKind::kText,
     "write the groups that are open when the input ends to FILE, with the reason\n"
     "\"open\", whatever --at-end does with them"},
    {"", "", FlagKind::kText, "When a group comes out"},
    {"edge", "trailing|leading|both", FlagKind::kText,
     "when it closes (default); or when it opens, with its first event, and what\n"
     "follows is held back until it closes; or both, if anything followed"},
    {"partial-every", "DURATION", FlagKind::kText,
     "also while it is open: its state so far, this long after it opened and at\n"
     "every multiple of that, if it changed since the last time"},
    {"", "", FlagKind::kText, "Time"},
    {"time", "PATH", FlagKind::kText,
     "the member with the time of an event: RFC 3339, or a number with --time-unit.\n"
     "Without --time an event happens when it is read, and emissions appear as they\n"
     "fall due"},
    {"time-unit", "s|ms|us|ns", FlagKind::kText, "the unit of a number at --time; never guessed"},
    {"lateness", "DURATION", FlagKind::kText,
     "how far out of order events may come: the watermark, which closes groups,\n"
     "trails the newest event by this much (default 0)"},
    {"accept-limit", "DURATION", FlagKind::kText,
     "events older than the watermark by more than this are late (default inf)"},
    {"on-late", "reject|fold|correct", FlagKind::kText,
     "count late events without folding them (default), fold them like any other, or\n"
     "write each by itself, with the reason \"correction\""},
    {"late", "FILE", FlagKind::kText, "write rejected late lines there, as they came"},
    {"future-limit", "DURATION", FlagKind::kText,
     "events ahead of the watermark by more than this are bad (default inf)"},
    {"id", "PATH", FlagKind::kText,
     "the member that identifies an event within its key. An id seen before is a\n"
     "duplicate, or with different content a conflict; neither is folded. Ids are\n"
     "remembered for --accept-limit, which is required with it"},
    {"idle", "DURATION", FlagKind::kText,
     "with --time, on a pipe: after this long without input the watermark follows\n"
     "the wall clock, so that the last groups come out (for stamps near it)"},
    {"", "", FlagKind::kText, "Bad input and limits"},
    {"on-bad", "skip|fail", FlagKind::kText,
     "a line that is not a usable event: skip it (default), or stop there"},
    {"bad", "FILE", FlagKind::kText, "write bad lines there, as they came"},
    {"strict", "", FlagKind::kSwitch, "go on, but exit with 1 if there was a bad line"},
    {"max-groups", "N", FlagKind::kNumber,
     "open groups at a time (default 50000000); an event past a limit is refused"},
    {"max-memory", "BYTES", FlagKind::kNumber,
     "memory for open groups, also as 512Mi or 2G (default half of the machine's, or\n"
     "of the control group's)"},
    {"on-limit", "refuse|emit", FlagKind::kText,
     "at these limits refuse events (default), or make room: close the groups that\n"
     "are due next early, with the reason \"limit\""},
    {"", "", FlagKind::kText, "Output"},
    {"no-meta", "", FlagKind::kSwitch, "leave out \"_fold\""},
    {"emission-id", "", FlagKind::kSwitch,
     "add an \"id\" to \"_fold\" that no other line of this run has"},
    {"output", "FILE", FlagKind::kText,
     "write there instead of stdout; the file appears whole or not at all"},
    {"stats", "FILE|-", FlagKind::kText, "the ledger of the run as one JSON object (- is stderr)"},
    {"quiet-summary", "", FlagKind::kSwitch, "no summary and no progress on stderr"},
    {"", "", FlagKind::kText, "Running"},
    {"threads", "N", FlagKind::kNumber,
     "1 to 256 (default 1); same output for every N. One thread folds, the others\n"
     "decompress files and check their lines; a live input has one thread"},
    {"spec", "FILE", FlagKind::kText,
     "read the options above from a JSON document, {\"key\":[\"user\"],\"quiet\":\"5m\"};\n"
     "flags override it, and a --key or --merge replaces its whole list"},
    {"print-spec", "", FlagKind::kSwitch, "print what the options amount to, as such a document"},
    {"help", "", FlagKind::kSwitch, "this text"},
};

constexpr std::string_view kExamples = R"(pleat fold: folds bursts of events into one line per group

Usage: pleat fold [OPTIONS] [FILE...]

Examples:
  One line per account, once it has been quiet for five minutes, as it happens:
    tail -F events.ndjson | pleat fold --key account_id --quiet 5m \
        --merge 'metrics=keys(metrics)'

  A day of edits by user, by the time the events state, at most an hour a group:
    pleat fold --key user --time time --quiet 5m --max-hold 1h \
        --merge 'edits=count()' --merge 'added=sum(added)' wiki.ndjson.gz

  Unix seconds, 30 seconds out of order, a compound key, rejected lines kept:
    pleat fold --key who=user.id,page --time ts --time-unit s --lateness 30s \
        --quiet 10m --accept-limit 1h --late late.ndjson --bad bad.ndjson *.zst

  One line per order, as soon as it is paid or failed, or comes to 1000 or more:
    pleat fold --key order --time at --quiet 1h --merge 'total=sum(price)' \
        --end-when '{"any":["status=paid","status=failed"]}' --close-when 'total>=1000'

  The first alert of a burst at once, and at its end how many there were:
    pleat fold --key alert --quiet 10m --edge both --merge 'n=count()' alerts.ndjson
)";

constexpr std::string_view kNotes = R"(
Input: one JSON object a line. FILEs are read in the order given; - or none is
  standard input. gzip and zstd are recognised by their first bytes.
Durations: a number and a unit, us ms s m h d, such as 250ms or 1.5h; or inf.
Conditions: PATH OP VALUE, such as status=done or 'total>=100', with = != < <= >
  >=. VALUE is a number, true, false, null or a string in quotes if it reads as
  one, else text. Several: {"all":["a=1",{"not":"b=2"}]}, also with any.
  Numbers compare by value and exactly, strings by their bytes; an absent member
  is null. A PATH with an operator in it goes in quotes: '"a=b"=1'.
Output: one line per group, in the order in which the groups close:
    {"user":"ann","edits":3,"_fold":{"count":3,"first":"2015-09-12T00:47:35.776000Z",
     "last":"...","closed":"...","reason":"quiet"}}
  reason is quiet, max_hold, max_events, max_bytes, start_mark, end_mark,
  condition, flush, limit or end; of lines before the last of a group leading or
  partial; correction; and in the file of --open, open.
Stats: lines = events + bad;
  events = opened + folded + late + refused + duplicate + conflict + corrected
           + control;
  opened = emissions - partial - corrected + silent + cancelled + open.
Exit codes: 0 done, also with skipped bad lines, and when the reader of the
  output has gone; 1 could not read or write, no usable line, refused events,
  --strict, --on-bad fail; 2 wrong usage; 130, 143, 129 asked to end (SIGINT,
  SIGTERM, SIGHUP): finished and flushed.
)";

bool InDocument(const Flag& flag) {
  return !flag.name.empty() && flag.name != "spec" && flag.name != "print-spec" &&
         flag.name != "help";
}

// A condition given twice looks as if both would count. Says how to write what is likely meant.
absl::Status GivenTwice(std::string_view name, const std::vector<std::string>& texts) {
  Condition any{.kind = Condition::Kind::kAny};
  for (const std::string& text : texts) {
    absl::StatusOr<Condition> condition = ParseCondition(text);
    if (!condition.ok()) return WrongFlag(name, std::string(condition.status().message()));
    any.parts.push_back(*std::move(condition));
  }
  return WrongFlag(name, "takes one condition; any of several is '" + FormatCondition(any) + "'");
}

// Flags after the document: a list given by flags replaces the document's.
absl::Status ApplyFlags(const GivenFlags& given, FoldOptions& options) {
  if (given.Has("key")) options.spec.key.clear();
  if (given.Has("merge")) options.spec.merges.clear();
  for (const Flag& flag : kFlags) {
    const auto found = given.texts.find(flag.name);
    if (found == given.texts.end() || !InDocument(flag)) continue;
    if (flag.kind == FlagKind::kCondition && found->second.size() > 1) {
      return GivenTwice(flag.name, found->second);
    }
    for (const std::string& text : found->second) {
      if (absl::Status set = SetFoldOption(options, flag.name, text); !set.ok()) return set;
    }
  }
  return absl::OkStatus();
}

}  // namespace

std::span<const Flag> FoldFlags() { return kFlags; }

FlagKind KindOf(std::string_view name) {
  for (const Flag& flag : kFlags) {
    if (!flag.name.empty() && flag.name == name) return flag.kind;
  }
  return FlagKind::kText;
}

std::vector<std::string_view> FoldOptionNames() {
  std::vector<std::string_view> names;
  for (const Flag& flag : kFlags) {
    if (InDocument(flag)) names.push_back(flag.name);
  }
  return names;
}

std::string FoldHelp() { return std::string(kExamples) + FlagsHelp(kFlags) + std::string(kNotes); }

absl::StatusOr<FoldCall> ParseFoldCall(int argc, const char* const* argv) {
  absl::StatusOr<GivenFlags> given = ParseFlags(kFlags, argc, argv);
  if (!given.ok()) return given.status();
  FoldCall call;
  call.help = given->IsOn("help");
  if (call.help) return call;
  call.options.inputs = std::move(given->inputs);
  call.options.print_spec = given->IsOn("print-spec");

  if (const auto spec = given->texts.find("spec"); spec != given->texts.end()) {
    const std::string& file = spec->second.back();
    call.options.spec_file = file;
    absl::StatusOr<std::string> document = ReadWholeFile(file);
    if (!document.ok()) return document.status();
    absl::Status applied = ApplyDocument(*document, Printable(file), call.options);
    if (!applied.ok()) return applied;
  }
  if (absl::Status applied = ApplyFlags(*given, call.options); !applied.ok()) return applied;
  if (absl::Status complete = Complete(call.options); !complete.ok()) return complete;
  return call;
}

}  // namespace pleat::cli
