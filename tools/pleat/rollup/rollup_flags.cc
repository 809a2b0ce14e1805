#include "tools/pleat/rollup/rollup_flags.h"

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

  Plays that producers may send twice, and for how long their ids are remembered
  depends on the allowed lateness; those that are too late kept for later:
    pleat rollup --key title --id play --time at --window 1h \
        --allowed-lateness 5m --late late.ndjson plays.ndjson

  Late sales as corrections of the hours that are out, each with the id of the
  line that it corrects:
    pleat rollup --key shop --value cents --time at --window 1h \
        --allowed-lateness 1m --on-late correct --emission-id sales.ndjson
)";

constexpr std::string_view kRollupNotes = R"(
Input: one JSON object a line, or what --input says. FILEs are read in the order
  given; - or none is standard input. gzip and zstd are recognised by their
  first bytes.
Durations: numbers with us ms s m h d w, such as 250ms, 1.5h, 1h30m; also as
  pleat analyze prints them, '1 min 30 s', and as ISO 8601 does, PT5M; or inf.
Windows: they begin at multiples of their length since 1970, and their end is
  not part of them. A window is final, and written, when the watermark is the
  allowed lateness and the margin past its end: it never changes again.
Output: one line per key and window, in the order in which windows end:
    {"page":"Main","start":"2015-09-12T00:47:00.000000Z","end":"...","count":9,
     "sum":120,"reason":"final"}
  Times are printed in UTC, also with --time-zone.
  sum with --value only. reason is final; end for what the end of the input
  closed, which is not final; correction; and in the file of --open, open.
Stats: lines = events + invalid + excluded;
  events = added + late + duplicate + conflict + clamped + corrected
           + over_limit;
  windows = final + ended + open.
Exit codes: 0 done, also with skipped invalid lines, and when the reader of the
  output has gone; 1 could not read or write, no usable line, events over a
  limit, --strict, --on-invalid fail; 2 wrong usage; 130, 143, 129 asked to end
  (SIGINT, SIGTERM, SIGHUP): finished and flushed, or kept with --state.
)";

}  // namespace

std::vector<Flag> RollupFlags(RollupRunOptions& o) {
  return {
      Heading("Counting"),
      {"key", "[NAME=]PATH[,...]",
       "the members of a line that say what is counted by (required); a.b nests, a.0\n"
       "goes into an array, and a PATH that starts with / is a JSON Pointer; NAME is how\n"
       "it is called in the output. --key '' counts all events together",
       ListInSpec(o.spec, o.spec.event.key), 'k'},
      {"value", "PATH",
       "the number that an event adds, for \"sum\"; what is no number adds nothing, and the\n"
       "event counts",
       InSpec(o.rollup)},
      {"id", "PATH",
       "the member that identifies an event within its key. An id seen before is a\n"
       "duplicate, or with another value a conflict; neither counts. Ids are remembered\n"
       "for ten times --allowed-lateness",
       InSpec(o.rollup)},
      Heading("Which lines are events"),
      CommonFlag(o, "where"),
      CommonFlag(o, "from"),
      CommonFlag(o, "to"),
      Heading("When a window comes out"),
      {"window", "DURATION[,...]",
       "the length of the windows (required); or several lengths, each a multiple of the\n"
       "first, such as 1m,1h",
       ListInSpec(o.rollup, o.rollup.rollup.windows)},
      {"allowed-lateness", "DURATION",
       "events older than the watermark by more than this are late (required); a window\n"
       "is final this long after its end",
       InSpec(o.rollup)},
      {"margin", "DURATION",
       "and this much later (default 0), for the clocks of other hosts; it makes no\n"
       "event acceptable",
       InSpec(o.rollup)},
      EngineFlag(o, "at-end",
                 "at the end of input: close the open windows with the reason \"end\" (default),\n"
                 "drop them (not with --state), or with --state keep them for the next run,\n"
                 "and leave it a last line of a FILE that has no end yet"),
      {"open", "FILE",
       "write the windows that are open when the input ends to FILE, with the reason\n"
       "\"open\", whatever --at-end does with them",
       FileName(o.open_file, Dash::kRefused)},
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
      CommonFlag(o, "reorder",
                 "how far out of order events may come: the watermark trails the newest event\n"
                 "by this much (default 0)"),
      {"on-late", "reject|clamp|correct",
       "count late events without adding them (default), add them to the earliest window\n"
       "that takes any, or write each by itself, with the reason \"correction\"",
       InSpec(o.rollup)},
      {"late", "FILE", "write rejected late lines there, as they came",
       FileName(o.late_file, Dash::kRefused)},
      CommonFlag(o, "future-limit"),
      {"idle", "DURATION",
       "with --time, on a pipe: after this long without input the watermark follows\n"
       "the wall clock, so that the last windows come out (for stamps near it)",
       AboveZero(o.idle)},
      Heading("Input and limits"),
      CommonFlag(o, "input"),
      CommonFlag(o, "on-invalid"),
      CommonFlag(o, "invalid"),
      CommonFlag(o, "strict"),
      {"max-keys", "N",
       "keys with open windows at a time (default 50000000); an event past a limit is\n"
       "over_limit",
       InSpec(o.rollup, FlagKind::kNumber)},
      CommonFlag(o, "max-memory",
                 "memory for open windows and ids, also as 512Mi or 2G (default half of the\n"
                 "machine's, or of the control group's)"),
      Heading("Output"),
      {"emission-id", "", "add an \"id\" that no other line of this run has",
       InSpec(o.rollup, FlagKind::kSwitch)},
      CommonFlag(o, "output"),
      EngineFlag(o, "stats"),
      CommonFlag(o, "quiet-summary"),
      Heading("Going on after a restart"),
      EngineFlag(o, "state"),
      EngineFlag(o, "snapshot-every"),
      EngineFlag(o, "max-forward-jump"),
      Heading("Running"),
      CommonFlag(o, "threads",
                 "1 to 256; same output for every N. One thread adds, the others decompress files\n"
                 "and check their lines. Default: up to 3, as there are processors, if a file has\n"
                 "1 MiB or more, else 1; a live input has one thread"),
      {"spec", "FILE",
       "read the options above from a JSON document, {\"key\":[\"page\"],\"window\":[\"1m\"]};\n"
       "flags override it, and a --key or --window replaces its whole list",
       FileName(o.spec_file, Dash::kRefused)},
      EngineFlag(o, "print-spec"),
      CommonFlag(o, "help"),
  };
}

std::string RollupHelp() {
  RollupRunOptions options;
  return std::string(kRollupExamples) + FlagsHelp(RollupFlags(options)) + std::string(kRollupNotes);
}

}  // namespace pleat::cli
