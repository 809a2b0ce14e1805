#include "tools/pleat/live/live_set_command.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "tools/pleat/live/live_set_run.h"

namespace pleat::cli {
namespace {

constexpr std::string_view kLiveSetExamples =
    R"(pleat live: says who is live in each series, and when that ends

Usage: pleat live [OPTIONS] [FILE...]

Examples:
  Who is on each page, as it happens; 30 seconds after a reader's last heartbeat
  a line says that the reader is gone:
    tail -F beats.ndjson | pleat live --key page --member user --ttl 30s

  Who contributed to each project within 24 hours, by the time the events state:
    pleat live --key project --member user --ttl 24h --time at edits.ndjson

  How many there were on every hour, and of them how many in the last 5 minutes:
    pleat live --key project --member user --ttl 24h --time at \
        --every 1h --within 5m,1h edits.ndjson

  The ten pages with the most readers, minute by minute:
    pleat live --key page --member user --ttl 5m --time at \
        --every 1m --top 10 *.zst

  Requests of each client within the last minute, every 30 seconds:
    pleat live --key client --ttl 1m --time at --every 30s requests.ndjson

  News with their titles, for an hour or until they are withdrawn:
    pleat live --key site --member news.id --ttl 1h --time at \
        --payload news.title --remove-when action=withdraw news.ndjson

  Who was live when a log ended, in a file, and nothing else:
    pleat live --key page --member user --ttl 5m --time at \
        --open live.ndjson --output /dev/null beats.ndjson

  Who edits each wiki now, from server-sent events:
    curl -sN https://stream.wikimedia.org/v2/stream/recentchange |
        pleat live --input sse --key meta.domain --member user --ttl 5m
)";

constexpr std::string_view kLiveSetNotes =
    R"(Conditions: PATH OP VALUE, such as status=done or 'total>=100', with = != < <= >
  >=; see pleat fold --help.
Members: an event adds its member to its series, or refreshes it. A member lives
  until its stamp plus the TTL, and at that instant no more. An event whose own
  TTL is over is late, and changes nothing.
Output: one line per change, in the order of time:
    {"project":"p1","user":"ann","at":"2015-09-12T00:47:35.776000Z",
     "cause":"added","count":2,"stamp":"...","until":"..."}
    {"project":"p1","user":"ann","at":"...","cause":"expired","count":1}
  count is the number of live members after the change. cause is added,
  refreshed or updated; or it is an end: expired, unpublished (--remove-when),
  replaced or dropped (--on-limit). With --every one line per series:
    {"project":"p1","at":"...","count":7,"within":{"5m":1,"1h":4}}
  Times are printed in UTC, also with --time-zone. After the last event nothing
  more expires.
Stats: lines = events + invalid + excluded;
  events = added + refreshed + updated + unchanged + duplicate + conflict + late
           + tombstoned + over_limit + control;
  added = expired + removed + replaced + dropped + live.
)";

absl::Status AddSpan(std::string_view name, std::string_view text, std::vector<WithinSpan>& to) {
  absl::StatusOr<Duration> length = ParseDuration(text);
  if (!length.ok()) return WrongFlag(name, std::string(length.status().message()));
  if (*length <= Duration{0}) return WrongFlag(name, "must be above 0");
  for (const WithinSpan& other : to) {
    if (other.length != *length) continue;
    return WrongFlag(name, other.name + " and " + std::string(text) + " are the same");
  }
  to.push_back({std::string(text), *length});
  return absl::OkStatus();
}

// Durations with commas between them.
FlagValue Spans(std::vector<WithinSpan>& spans) {
  const auto set = [&spans](std::string_view name, std::string_view text) {
    std::vector<WithinSpan> read;
    for (size_t at = 0; at <= text.size();) {
      const size_t end = std::min(text.find(',', at), text.size());
      if (absl::Status added = AddSpan(name, text.substr(at, end - at), read); !added.ok()) {
        return added;
      }
      at = end + 1;
    }
    spans = std::move(read);
    return absl::OkStatus();
  };
  const auto text = [&spans] {
    std::string out;
    for (const WithinSpan& span : spans) out += (out.empty() ? "" : ",") + span.name;
    return out;
  };
  return {set, text};
}

// What is live at the end is never dropped.
Flag FlushOrKeep(Flag at_end) {
  at_end.placeholder = "flush|keep";
  return at_end;
}

std::vector<Flag> LiveSetFlags(LiveSetRunOptions& o) {
  std::vector<Flag> flags = {
      Heading("Members"),
      CommonFlag(
          o, "key",
          "the members of a line that name the series (required); a.b nests, a.0 goes\n"
          "into an array, and a PATH that starts with / is a JSON Pointer; NAME is how it is\n"
          "called in the output. --key '' makes all one series"),
      {"member", "[NAME=]PATH[,...]",
       "those that name the member of the series, such as a user; without it each event\n"
       "counts by itself for the TTL",
       ListOf(o.live_set, o.live_set.member.id)},
      {"ttl", "DURATION", "how long a member lives after its latest event (required); or inf"},
      {"ttl-path", "PATH",
       "the place of a member's own TTL, as text such as \"90s\"; where there is none,\n"
       "--ttl counts"},
      {"refresh", "latest|first|replace",
       "what an event of a live member does: the newest stamp counts (default); or\n"
       "nothing; or the member ends, and is added again"},
      {"payload", "PATH", "a value to keep with the member, and to show behind each change"},
      {"version", "PATH",
       "a whole number: of two events with one stamp the higher version counts, and\n"
       "two of one version with different payloads are a conflict"},
      {"remove-when", "COND",
       "an event for which this holds ends its member, unless that has a newer stamp;\n"
       "older events of it that come later do not bring it back"},
      CommonFlag(o, "open", "write the members that are live when the input ends to FILE"),
      Heading("Which lines are events"),
      CommonFlag(o, "where"),
      CommonFlag(o, "from"),
      CommonFlag(o, "to"),
      Heading("What comes out"),
      {"changes", "", "a line for each change (default)", Switch(o.changes)},
      {"refreshes", "", "also for each event that only refreshed its member", Switch(o.refreshes)},
      {"every", "DURATION",
       "instead of changes the count of each series that is not empty, at every\n"
       "multiple of DURATION since 1970. Where time jumps past more than 1000000 of them,\n"
       "their counts are left out; for wrong stamps there is --future-limit",
       AboveZero(o.every)},
      {"within", "DURATION[,...]",
       "with --every: also how many of them have a stamp within these durations, such\n"
       "as 5m,1h; none longer than the TTL",
       Spans(o.within)},
      {"top", "N", "with --every: only the N series with the largest counts, the largest first",
       Number(o.top, 1, std::numeric_limits<int>::max())},
      Heading("Time"),
      CommonFlag(
          o, "time",
          "the member with the time of an event: a number with --time-unit, or text, such as\n"
          "2015-02-24 09:58:42 or 24/Feb/2015:09:58:42 +0100.\n"
          "Without --time an event happens when it is read, and lines appear as they\n"
          "fall due"),
      CommonFlag(o, "time-unit"),
      CommonFlag(o, "time-zone"),
      CommonFlag(o, "time-format"),
      CommonFlag(o, "time-year"),
      CommonFlag(o, "reorder"),
      CommonFlag(o, "late", "write late lines there, as they came"),
      CommonFlag(o, "future-limit"),
      CommonFlag(o, "idle",
                 "with --time, on a pipe: after this long without input the watermark follows\n"
                 "the wall clock, so that the last members expire (for stamps near it)"),
      Heading("Input and limits"),
      CommonFlag(o, "input"),
      CommonFlag(o, "separator"),
      CommonFlag(o, "tsv-escapes"),
      CommonFlag(o, "comment"),
      CommonFlag(o, "header"),
      CommonFlag(o, "on-invalid"),
      CommonFlag(o, "invalid"),
      CommonFlag(o, "strict"),
      {"max-series", "N", "series at a time (default 10000000); an event past a limit is refused"},
      {"max-members", "N", "members at a time (default 50000000)"},
      CommonFlag(o, "max-memory",
                 "memory for members, also as 512Mi or 2G (default half of the machine's, or of\n"
                 "the control group's)"),
      {"on-limit", "refuse|drop",
       "at these limits refuse events (default), or make room: the members that would\n"
       "expire next end early, with the cause \"dropped\""},
      Heading("Output"),
      CommonFlag(o, "output"),
      CommonFlag(o, "stats"),
      CommonFlag(o, "quiet-summary"),
      Heading("Going on after a restart"),
      CommonFlag(o, "state",
                 "keep the members in this directory, so that the same command goes on there\n"
                 "after a crash or a kill, and the next run with further FILEs: each FILE is read\n"
                 "once. --output, --late and --invalid are then written in place. See pleat state\n"
                 "--help"),
      FlushOrKeep(CommonFlag(
          o, "at-end",
          "at the end of input, with --state: keep leaves the lines that wait (--reorder) to\n"
          "the next run, as a signal does; flush takes them (default)")),
      CommonFlag(o, "snapshot-every"),
      CommonFlag(o, "max-forward-jump"),
      Heading("Running"),
      CommonFlag(o, "threads"),
      CommonFlag(
          o, "spec",
          "read the options above from a JSON document, {\"key\":[\"page\"],\"ttl\":\"5m\"};\n"
          "flags override it, and a --key or --member replaces its whole list"),
      CommonFlag(o, "print-spec"),
      CommonFlag(o, "help"),
  };
  return InSpec(o.live_set, std::move(flags));
}

absl::Status CheckCounts(const LiveSetRunOptions& options) {
  if (options.every == kForever) return WrongFlag("every", "must not be inf");
  if (options.changes) return WrongFlag("changes", "not with --every, which prints counts instead");
  if (options.refreshes) return WrongFlag("refreshes", "not with --every, which prints counts");
  for (const WithinSpan& span : options.within) {
    if (span.length <= options.live_set.live_set.ttl) continue;
    return WrongFlag("within", span.name + " is longer than --ttl " +
                                   FormatDuration(options.live_set.live_set.ttl) +
                                   ", after which members are gone");
  }
  return absl::OkStatus();
}

absl::Status CheckLiveSetOptions(const LiveSetRunOptions& options) {
  if (options.at_end == AtEnd::kDrop) {
    return WrongFlag("at-end", "must be flush or keep: what is live at the end stays so");
  }
  if (absl::Status effects = CheckEffects(options); !effects.ok()) return effects;
  if (!options.late_file.empty() && !options.has_time()) {
    return WrongFlag("late", "needs --time, without which no event is late");
  }
  if (options.prints_counts()) return CheckCounts(options);
  if (!options.within.empty()) return WrongFlag("within", "needs --every, which prints counts");
  if (options.top > 0) return WrongFlag("top", "needs --every, which prints counts");
  return absl::OkStatus();
}

}  // namespace

constexpr EngineCommand<LiveSetRunOptions> kLiveSetCommand = {
    .name = "live",
    .examples = kLiveSetExamples,
    .notes = kLiveSetNotes,
    .flags = LiveSetFlags,
    .check = CheckLiveSetOptions,
    .run = [](const LiveSetRunOptions& options) { return LiveSetRun(options).Run(); },
};

}  // namespace pleat::cli
