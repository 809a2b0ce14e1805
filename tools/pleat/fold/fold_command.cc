#include "tools/pleat/fold/fold_command.h"

#include <utility>

#include "tools/pleat/fold/fold_run.h"

namespace pleat::cli {
namespace {

constexpr std::string_view kFoldExamples =
    R"(pleat fold: folds bursts of events into one line per group

Usage: pleat fold [OPTIONS] [FILE...]

Examples:
  One line per account, once it has been quiet for five minutes, as it happens:
    tail -F events.ndjson | pleat fold --key account_id --quiet 5m \
        --merge 'metrics=keys(metrics)'

  A day of edits by user, by the time the events state, at most an hour a group:
    pleat fold --key user --time time --quiet 5m --max-wait 1h \
        --merge 'edits=count()' --merge 'added=sum(added)' wiki.ndjson.gz

  Unix seconds, 30 seconds out of order, a compound key, rejected lines kept:
    pleat fold --key who=user.id,page --time ts --time-unit s --reorder 30s \
        --quiet 10m --allowed-lateness 1h --late late.ndjson \
        --invalid invalid.ndjson *.zst

  One line per order, as soon as it is paid or failed, or comes to 1000 or more:
    pleat fold --key order --time at --quiet 1h --merge 'total=sum(price)' \
        --end-when '{"any":["status=paid","status=failed"]}' \
        --close-when 'total>=1000' orders.ndjson

  The first alert of a burst at once, and at its end how many there were:
    pleat fold --key alert --quiet 10m --edge both --merge 'n=count()' a.ndjson

  The last page of each visitor of an access log, after 30 minutes of quiet:
    pleat fold --input access --key host --time time --quiet 30m \
        --merge 'page=last(path)' --merge 'requests=count()' access.log

  The last message of each unit of a journal, after a burst of them:
    journalctl -o json | pleat fold --key 'unit=UNIT|_SYSTEMD_UNIT?' \
        --time __REALTIME_TIMESTAMP --time-unit us --quiet 30s \
        --merge 'message=last(MESSAGE)' --merge 'n=count()'

  How many visitors there were in each hour, and how often each status:
    pleat fold --input access --key '' --time time --close-every 1h \
        --merge 'visitors=distinct(host)' --merge 'status=top(status)' a.log
)";

constexpr std::string_view kFoldNotes =
    R"(Conditions: PATH OP VALUE, such as status=done or 'total>=100', with = != < <= >
  >=. VALUE is a number, true, false, null or a string in quotes if it reads as
  one, else text. Several: {"all":["a=1",{"not":"b=2"}]}, also with any.
  Numbers compare by value and exactly, strings by their bytes; beside a number
  a text that is a number counts as one; an absent member is null. A PATH with
  an operator in it goes in quotes: '"a=b"=1'.
Numbers: "1200" in quotes is a number for sum, min, max, mean and percentiles.
  As keys and in set, distinct and top, 1, 1.0 and 10e-1 are one.
Output: one line per group, in the order in which the groups close:
    {"user":"ann","edits":3,"_fold":{"count":3,
     "first":"2015-09-12T00:47:35.776000Z","last":"...","closed":"...",
     "reason":"quiet"}}
  These times are printed in UTC, also with --time-zone and --close-every.
  reason is quiet, max_wait, closing_time, max_events, max_bytes, start_mark,
  end_mark, condition, flush, limit or end; of lines before the last of a group
  leading or partial; correction; and in the file of --open, open.
Stats: lines = events + invalid + excluded;
  events = opened + folded + late + over_limit + duplicate + conflict
           + corrected + control;
  opened = emissions - partial - corrected + silent + cancelled + open.
)";

std::vector<Flag> FoldFlags(FoldOptions& o) {
  std::vector<Flag> flags = {
      Heading("Grouping"),
      CommonFlag(
          o, "key",
          "the members that make up the group key (required); a.b nests, a.0 goes\n"
          "into an array, and a PATH that starts with / is a JSON Pointer; NAME is how it is\n"
          "called in the output. --key '' makes all events one group"),
      {"merge", "NAME=REDUCER(PATH)",
       "adds a member to the output; may be repeated, in output order. REDUCER is one\n"
       "of keys set sum min max mean count first last distinct array concat duration\n"
       "p50 p90 p95 p99 p999 top; count() counts events, duration() is the seconds from\n"
       "the first event to the last, p50 to p999 are rounded to three digits, which is\n"
       "within 0.5 %, array(PATH,N) keeps N elements, concat(PATH,SEP,N) N bytes; last(.)\n"
       "and first(.) give the whole event",
       ListOf(o.fold, o.fold.merges)},
      {"rest", "drop|first|last",
       "members that no other option takes: drop them (default), or\n"
       "add each to the output with its first or its last value"},
      {"raw", "N", "adds the first N events, as they came, as \"_raw\""},
      {"raw-last", "N", "adds the last N events, by their time, as \"_raw_last\""},
      Heading("Which lines are events"),
      CommonFlag(o, "where"),
      CommonFlag(o, "from"),
      CommonFlag(o, "to"),
      Heading("When a group closes"),
      {"quiet", "DURATION",
       "this long after its last event (required without --close-every). adaptive:FLOOR..CEILING "
       "learns the\n"
       "period from the gaps between events, such that each CEILING of waiting folds\n"
       "more than one event",
       OptionOf(o.fold), 'q'},
      {"class", "PATH",
       "with adaptive: the member that names the class of a key; each class learns\n"
       "its own period"},
      {"max-wait", "DURATION", "this long after its first event, however busy it is (default inf)"},
      {"close-every", "DURATION[@TIME]",
       "when the clock comes to a multiple of DURATION, counted from 1970, or TIME later:\n"
       "24h@09:00 is each day at nine, 1h@00:15 a quarter past each hour. The clock is that\n"
       "of --time-zone. With it --quiet may be left out"},
      {"close-at", "PATH",
       "at the time that an event states there, if it does: a time as that of --time.\n"
       "Of several the last one holds; one that is past closes the group at once"},
      {"max-events", "N", "when it holds N events"},
      {"max-bytes", "BYTES", "when its lines add up to this many bytes, also as 64Ki or 1M"},
      {"start-when", "COND",
       "before an event for which this holds: it opens the next group of its key"},
      {"end-when", "COND", "after an event for which this holds: it is the last of its group"},
      {"close-when", "COND", "as soon as this holds for its merged values, by their NAME"},
      {"flush-when", "COND",
       "an event for which this holds closes the open group of its key, if there is\n"
       "one, and is not folded itself"},
      {"cancel-when", "COND", "likewise, but the group is dropped"},
      {"quiet-path", "PATH",
       "the member with an event's own quiet period, as text such as \"90s\"; without\n"
       "the member --quiet counts. A group closes at the latest deadline of its events"},
      CommonFlag(o, "at-end",
                 "at the end of input: close the open groups with the reason \"end\" (default),\n"
                 "drop them (not with --state), or with --state keep them for the next run,\n"
                 "and leave it the lines that wait (--reorder) and a last line of a FILE that has\n"
                 "no end yet"),
      CommonFlag(o, "open",
                 "write the groups that are open when the input ends to FILE, with the reason\n"
                 "\"open\", whatever --at-end does with them"),
      Heading("When a group comes out"),
      {"edge", "trailing|leading|both",
       "when it closes (default); or when it opens, with its first event, and what\n"
       "follows is held back until it closes; or both, if anything followed"},
      {"leading", "N",
       "with --edge leading or both: the first N events of a group are handed out at\n"
       "once, each with the group as it is then (default 1)"},
      {"partial-every", "DURATION",
       "also while it is open: its state so far, this long after it opened and at\n"
       "every multiple of that, if it changed since the last time"},
      Heading("Time"),
      CommonFlag(
          o, "time",
          "the member with the time of an event: a number with --time-unit, or text, such as\n"
          "2015-02-24 09:58:42 or 24/Feb/2015:09:58:42 +0100.\n"
          "Without --time an event happens when it is read, and emissions appear as they\n"
          "fall due"),
      CommonFlag(o, "time-unit"),
      CommonFlag(o, "time-zone"),
      CommonFlag(o, "time-format"),
      CommonFlag(o, "time-year"),
      CommonFlag(o, "reorder",
                 "how far out of order events may come (default 0). An event waits until none can\n"
                 "come that is older by then, and is taken in the order of time: the results are\n"
                 "those of a sorted input. On a pipe they come out later by this much, also those\n"
                 "of --edge leading and --partial-every"),
      {"allowed-lateness", "DURATION",
       "events older than the watermark by more than this are late (default inf)"},
      {"on-late", "reject|fold|correct",
       "count late events without folding them (default), fold them like any other, or\n"
       "write each by itself, with the reason \"correction\""},
      CommonFlag(o, "late"),
      CommonFlag(o, "future-limit"),
      {"id", "PATH",
       "the member that identifies an event within its key. An id seen before is a\n"
       "duplicate, or with different content a conflict; neither is folded. Needs\n"
       "--allowed-lateness"},
      {"deduplication-window", "DURATION",
       "how long an id is remembered after its stamp, 46 bytes each (default the allowed\n"
       "lateness); longer where a retry has a stamp of its own"},
      CommonFlag(o, "idle",
                 "with --time, on a pipe: after this long without input the watermark follows\n"
                 "the wall clock, so that the last groups come out (for stamps near it)"),
      Heading("Input and limits"),
      CommonFlag(o, "input"),
      CommonFlag(o, "separator"),
      CommonFlag(o, "tsv-escapes"),
      CommonFlag(o, "comment"),
      CommonFlag(o, "header"),
      CommonFlag(o, "on-invalid"),
      CommonFlag(o, "invalid"),
      CommonFlag(o, "strict"),
      {"max-groups", "N",
       "open groups at a time (default 50000000); an event past a limit is refused"},
      CommonFlag(o, "max-memory",
                 "memory for open groups, also as 512Mi or 2G (default half of the machine's, or\n"
                 "of the control group's)"),
      {"on-limit", "refuse|emit",
       "at these limits refuse events (default), or make room: close the groups that\n"
       "are due next early, with the reason \"limit\""},
      Heading("Output"),
      {"no-meta", "", "leave out \"_fold\", unless a sum is at the end of its range"},
      {"emission-id", "", "add an \"id\" to \"_fold\" that no other line of this run has"},
      CommonFlag(o, "output"),
      CommonFlag(o, "stats"),
      CommonFlag(o, "quiet-summary"),
      Heading("Going on after a restart"),
      CommonFlag(o, "state"),
      CommonFlag(o, "snapshot-every"),
      CommonFlag(o, "max-forward-jump"),
      Heading("Running"),
      CommonFlag(
          o, "threads",
          "1 to 256; same output for every N. One thread folds, the others decompress files\n"
          "and check their lines. Default: up to 3, as there are processors, if a file has\n"
          "1 MiB or more, else 1; a live input has one thread"),
      CommonFlag(
          o, "spec",
          "read the options above from a JSON document, {\"key\":[\"user\"],\"quiet\":\"5m\"};\n"
          "flags override it, and a --key or --merge replaces its whole list"),
      CommonFlag(o, "print-spec"),
      CommonFlag(o, "help"),
  };
  return InSpec(o.fold, std::move(flags));
}

absl::Status CheckFoldOptions(const FoldOptions& options) {
  const FoldSpec& spec = options.fold;
  absl::Status effects =
      CheckEffects(options, {.states_times = !spec.marks.close_at.empty(),
                             .asks_clock = spec.folder.closing.every != kForever});
  if (!effects.ok()) return effects;
  if (!options.has_time() && spec.marks.id.empty() &&
      spec.folder.late.allowed_lateness != kForever) {
    return WrongFlag("allowed-lateness", "needs --time, without which no event is late (or --id)");
  }
  if (!options.late_file.empty() && spec.folder.late.allowed_lateness == kForever) {
    return WrongFlag("late", "needs --allowed-lateness, without which no event is late");
  }
  return absl::OkStatus();
}

}  // namespace

constexpr EngineCommand<FoldOptions> kFoldCommand = {
    .name = "fold",
    .examples = kFoldExamples,
    .notes = kFoldNotes,
    .flags = FoldFlags,
    .check = CheckFoldOptions,
    .run = [](const FoldOptions& options) { return FoldRun(options).Run(); },
};

}  // namespace pleat::cli
