#include "tools/pleat/rollup/rollup_command.h"

#include <utility>

#include "tools/pleat/rollup/rollup_run.h"

namespace pleat::cli {
namespace {

constexpr std::string_view kRollupExamples =
    R"(pleat rollup: counts by key and by window of time, once and for all

Usage: pleat rollup [OPTIONS] [FILE...]

Examples:
  Views of each page by the minute, as they happen; a minute is written ten
  seconds after its end:
    tail -F views.ndjson |
        pleat rollup --key page --window 1m --allowed-lateness 10s

  Edits of each channel, and how much text they added, by the minute and by the
  hour, by the time the events state:
    pleat rollup --key channel --value delta --time time --window 1m,1h \
        --allowed-lateness 30s wiki.ndjson.gz

  Plays that producers may send twice within a day, also stamped anew; those
  that are too late kept for later:
    pleat rollup --key title --id play --deduplication-window 1d --time at \
        --window 1h --allowed-lateness 5m --late late.ndjson plays.ndjson

  Revenue by the day and by the month of a shop in Amsterdam:
    pleat rollup --key shop --value cents --time at --window 1d,1mo \
        --time-zone Europe/Amsterdam --allowed-lateness 1h sales.ndjson

  Late sales as corrections of the hours that are out, each with the id of the
  line that it corrects:
    pleat rollup --key shop --value cents --time at --window 1h \
        --allowed-lateness 1m --on-late correct --emission-id sales.ndjson

  Requests by the minute, by path and status, of logs of CloudFront, the lines
  of which are out of order:
    pleat rollup --input w3c --key cs-uri-stem,sc-status --time date,time \
        --window 1m --allowed-lateness 1h *.gz
)";

constexpr std::string_view kRollupNotes =
    R"(Windows: days, weeks and months are those of the calendar of --time-zone (UTC),
  and may have an hour more or less; weeks begin on Monday. Shorter windows are
  counted from midnight. Their end is not part of them.
  A window is final, and written, when the watermark is the
  allowed lateness and the margin past its end: it never changes again.
Output: one line per key and window, in the order in which windows end:
    {"page":"Main","start":"2015-09-12T00:47:00.000000Z","end":"...","count":9,
     "sum":120,"reason":"final"}
  Times are printed in UTC, also with --time-zone.
  sum with --value only; null if no event had a number. reason is final; end
  for what the end of the input closed, which is not final; correction; and in
  the file of --open, open.
Stats: lines = events + invalid + excluded;
  events = added + late + duplicate + conflict + clamped + corrected
           + over_limit;
  windows = final + ended + open.
)";

std::vector<Flag> RollupFlags(RollupRunOptions& o) {
  std::vector<Flag> flags = {
      Heading("Counting"),
      CommonFlag(
          o, "key",
          "the members of a line that say what is counted by (required); a.b nests, a.0\n"
          "goes into an array, and a PATH that starts with / is a JSON Pointer; NAME is how\n"
          "it is called in the output. --key '' counts all events together"),
      {"value", "PATH",
       "the number that an event adds, for \"sum\", also in quotes; what is no number adds\n"
       "nothing, and the event counts"},
      {"id", "PATH",
       "the member that identifies an event within its key. An id seen before is a\n"
       "duplicate, or with another value a conflict; neither counts"},
      {"deduplication-window", "DURATION",
       "how long an id is remembered after its stamp, 46 bytes each (default ten times\n"
       "the allowed lateness); longer where a retry has a stamp of its own"},
      Heading("Which lines are events"),
      CommonFlag(o, "where"),
      CommonFlag(o, "from"),
      CommonFlag(o, "to"),
      Heading("When a window comes out"),
      {"window", "DURATION[,...]",
       "the length of the windows (required); or several lengths, each a multiple of the\n"
       "first, such as 1m,1h. 1d, 1w and 1mo are days, weeks and months of --time-zone",
       ListOf(o.rollup, o.rollup.rollup.windows)},
      {"window-offset", "DURATION",
       "days begin this much later than at midnight, weeks than on Monday, months than\n"
       "on the first: 6h, or 6d for weeks that begin on Sunday"},
      {"allowed-lateness", "DURATION",
       "events older than the watermark by more than this are late (required); a window\n"
       "is final this long after its end"},
      {"margin", "DURATION",
       "and this much later (default 0), for the clocks of other hosts; it makes no\n"
       "event acceptable"},
      CommonFlag(o, "at-end",
                 "at the end of input: close the open windows with the reason \"end\" (default),\n"
                 "drop them (not with --state), or with --state keep them for the next run,\n"
                 "and leave it the lines that wait (--reorder) and a last line of a FILE that has\n"
                 "no end yet"),
      CommonFlag(o, "open",
                 "write the windows that are open when the input ends to FILE, with the reason\n"
                 "\"open\", whatever --at-end does with them"),
      Heading("Time"),
      CommonFlag(
          o, "time",
          "the member with the time of an event: a number with --time-unit, or text, such as\n"
          "2015-02-24 09:58:42 or 24/Feb/2015:09:58:42 +0100.\n"
          "Without --time an event happens when it is read, and windows appear as they\n"
          "are final"),
      CommonFlag(o, "time-unit"),
      CommonFlag(o, "time-zone"),
      CommonFlag(o, "time-format"),
      CommonFlag(o, "time-year"),
      CommonFlag(o, "reorder"),
      {"on-late", "reject|clamp|correct",
       "count late events without adding them (default), add them to the earliest window\n"
       "that takes any, or write each by itself, with the reason \"correction\""},
      CommonFlag(o, "late"),
      CommonFlag(o, "future-limit"),
      CommonFlag(o, "idle",
                 "with --time, on a pipe: after this long without input the watermark follows\n"
                 "the wall clock, so that the last windows come out (for stamps near it)"),
      Heading("Input and limits"),
      CommonFlag(o, "input"),
      CommonFlag(o, "separator"),
      CommonFlag(o, "tsv-escapes"),
      CommonFlag(o, "comment"),
      CommonFlag(o, "header"),
      CommonFlag(o, "on-invalid"),
      CommonFlag(o, "invalid"),
      CommonFlag(o, "strict"),
      {"max-keys", "N",
       "keys with open windows at a time (default 50000000); an event past a limit is\n"
       "over_limit"},
      CommonFlag(o, "max-memory",
                 "memory for open windows and ids, also as 512Mi or 2G (default half of the\n"
                 "machine's, or of the control group's)"),
      Heading("Output"),
      {"emission-id", "", "add an \"id\" that no other line of this run has"},
      CommonFlag(o, "output"),
      CommonFlag(o, "stats"),
      CommonFlag(o, "quiet-summary"),
      Heading("Going on after a restart"),
      CommonFlag(o, "state"),
      CommonFlag(o, "snapshot-every"),
      CommonFlag(o, "max-forward-jump"),
      Heading("Running"),
      CommonFlag(o, "threads"),
      CommonFlag(
          o, "spec",
          "read the options above from a JSON document, {\"key\":[\"page\"],\"window\":[\"1m\"]};\n"
          "flags override it, and a --key or --window replaces its whole list"),
      CommonFlag(o, "print-spec"),
      CommonFlag(o, "help"),
  };
  return InSpec(o.rollup, std::move(flags));
}

absl::Status CheckRollupOptions(const RollupRunOptions& options) {
  absl::Status effects = CheckEffects(options, {.asks_clock = true});  // windows follow a zone
  if (!effects.ok() || options.has_time()) return effects;
  constexpr const char* kWhy = "needs --time, without which no event is late";
  if (!options.late_file.empty()) return WrongFlag("late", kWhy);
  if (options.rollup.rollup.on_late != OnLateAdd::kReject) return WrongFlag("on-late", kWhy);
  return absl::OkStatus();
}

}  // namespace

constexpr EngineCommand<RollupRunOptions> kRollupCommand = {
    .name = "rollup",
    .examples = kRollupExamples,
    .notes = kRollupNotes,
    .flags = RollupFlags,
    .check = CheckRollupOptions,
    .run = [](const RollupRunOptions& options) { return RollupRun(options).Run(); },
};

}  // namespace pleat::cli
