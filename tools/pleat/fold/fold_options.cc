#include "tools/pleat/fold/fold_options.h"

#include <algorithm>
#include <charconv>
#include <utility>

#include "tools/pleat/block_queue.h"
#include "tools/pleat/fold/fold_flags.h"
#include "tools/pleat/machine_memory.h"

namespace pleat::cli {
namespace {

absl::Status SetFlag(std::string_view name, std::string_view text, bool& flag) {
  if (text != "true" && text != "false") return WrongFlag(name, "must be true or false");
  flag = text == "true";
  return absl::OkStatus();
}

absl::Status SetFile(std::string_view name, std::string_view text, std::string& file) {
  if (text.empty()) return WrongFlag(name, "needs a file name");
  if (text == "-" && (name == "late" || name == "bad" || name == "open")) {
    return WrongFlag(name, "needs a file of its own, not -");
  }
  if (text.find('\0') != std::string_view::npos)
    return WrongFlag(name, "a file name cannot hold NUL");
  file = text;
  return absl::OkStatus();
}

absl::Status SetThreads(std::string_view text, int& threads) {
  int value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() || value < 1 ||
      value > kThreadsMax) {
    return WrongFlag("threads", "must be a whole number from 1 to 256");
  }
  threads = value;
  return absl::OkStatus();
}

absl::Status SetIdle(std::string_view text, Duration& idle) {
  absl::StatusOr<Duration> value = ParseDuration(text);
  if (!value.ok()) return WrongFlag("idle", std::string(value.status().message()));
  if (*value <= Duration{0}) return WrongFlag("idle", "must be above 0");
  idle = *value;
  return absl::OkStatus();
}

template <class Enum>
absl::Status SetChoice(std::string_view name, std::string_view text, std::string_view first,
                       std::string_view second, Enum& choice) {
  if (text != first && text != second) {
    return WrongFlag(name, "must be " + std::string(first) + " or " + std::string(second));
  }
  choice = text == first ? Enum{0} : Enum{1};
  return absl::OkStatus();
}

// The options that are not part of a FoldSpec.
absl::Status SetOwnOption(FoldOptions& o, std::string_view name, std::string_view text) {
  if (name == "late") return SetFile(name, text, o.late_file);
  if (name == "bad") return SetFile(name, text, o.bad_file);
  if (name == "open") return SetFile(name, text, o.open_file);
  if (name == "stats") return SetFile(name, text, o.stats_file);
  if (name == "output") return SetFile(name, text, o.output_file);
  if (name == "strict") return SetFlag(name, text, o.strict);
  if (name == "quiet-summary") return SetFlag(name, text, o.quiet_summary);
  if (name == "threads") return SetThreads(text, o.threads);
  if (name == "idle") return SetIdle(text, o.idle);
  if (name == "at-end") return SetChoice(name, text, "flush", "drop", o.at_end);
  if (name == "on-bad") return SetChoice(name, text, "skip", "fail", o.on_bad);
  return absl::NotFoundError("unknown option");
}

// The counterpart of SetOwnOption, for what differs from the defaults.
std::vector<std::pair<std::string, std::string>> OwnOptions(const FoldOptions& o) {
  std::vector<std::pair<std::string, std::string>> out;
  if (!o.late_file.empty()) out.emplace_back("late", o.late_file);
  if (o.idle != kForever) out.emplace_back("idle", FormatDuration(o.idle));
  if (!o.open_file.empty()) out.emplace_back("open", o.open_file);
  if (o.at_end == FoldOptions::AtEnd::kDrop) out.emplace_back("at-end", "drop");
  if (o.on_bad == FoldOptions::OnBad::kFail) out.emplace_back("on-bad", "fail");
  if (!o.bad_file.empty()) out.emplace_back("bad", o.bad_file);
  if (o.strict) out.emplace_back("strict", "true");
  if (o.threads != 1) out.emplace_back("threads", std::to_string(o.threads));
  if (o.output_file != "-") out.emplace_back("output", o.output_file);
  if (!o.stats_file.empty()) out.emplace_back("stats", o.stats_file);
  if (o.quiet_summary) out.emplace_back("quiet-summary", "true");
  return out;
}

// Refuses what would do nothing.
absl::Status CheckEffects(const FoldOptions& options) {
  const FoldSpec& spec = options.spec;
  const bool on_arrival = spec.time.empty();
  if (on_arrival && spec.time_unit != TimeUnit::kNotStated) {
    return WrongFlag("time-unit", "needs --time, whose unit it is");
  }
  if (on_arrival && options.idle != kForever) {
    return WrongFlag("idle", "needs --time; without it the wall clock counts in any case");
  }
  if (on_arrival && spec.id.empty() && spec.accept_limit != kForever) {
    return WrongFlag("accept-limit", "needs --time, without which no event is late (or --id)");
  }
  if (!options.late_file.empty() && spec.accept_limit == kForever) {
    return WrongFlag("late", "needs --accept-limit, without which no event is late");
  }
  return absl::OkStatus();
}

}  // namespace

absl::Status SetFoldOption(FoldOptions& options, std::string_view name, std::string_view text) {
  absl::Status status = SetOwnOption(options, name, text);
  if (!absl::IsNotFound(status)) return status;
  status = SetOption(options.spec, name, text);
  if (status.ok() && name == "max-memory") options.max_memory_given = true;
  return status;
}

absl::Status ApplyDocument(std::string_view document, std::string_view file, FoldOptions& options) {
  absl::Status status =
      ForEachOption(document, [&](std::string_view name, std::string_view text) -> absl::Status {
        absl::Status set = SetFoldOption(options, name, text);
        if (!absl::IsNotFound(set)) return set;
        std::string message = "unknown option \"" + std::string(name) + "\"";
        const std::string nearest = NearestName(name, FoldOptionNames());
        if (!nearest.empty()) message += "; did you mean \"" + nearest + "\"?";
        return absl::InvalidArgumentError(message);
      });
  if (status.ok()) return status;
  return absl::InvalidArgumentError(std::string(file) + ": " + std::string(status.message()));
}

absl::Status Complete(FoldOptions& options) {
  if (options.inputs.empty()) options.inputs.push_back("-");
  if (!options.max_memory_given) options.spec.max_bytes = HalfOfMemory();
  if (absl::Status valid = Validate(options.spec); !valid.ok()) return valid;
  return CheckEffects(options);
}

absl::StatusOr<std::string> PrintDocument(const FoldOptions& options) {
  std::vector<std::pair<std::string, std::string>> members = OptionsOf(options.spec);
  // The default depends on the machine, so it is not the library's, and it should not be pinned.
  std::erase_if(members, [](const auto& member) { return member.first == "max-memory"; });
  if (options.max_memory_given) {
    members.emplace_back("max-memory", std::to_string(options.spec.max_bytes));
  }
  for (auto& own : OwnOptions(options)) members.push_back(std::move(own));

  std::string out = "{";
  for (size_t i = 0; i < members.size(); ++i) {
    const auto& [name, text] = members[i];
    const bool continues = i > 0 && members[i - 1].first == name;
    const FlagKind kind = KindOf(name);
    out += continues ? ", " : i > 0 ? ",\n  " : "\n  ";
    if (!continues) {
      AppendJsonString(name, out);
      out += kind == FlagKind::kList ? ": [" : ": ";
    }
    const bool bare = kind == FlagKind::kNumber || kind == FlagKind::kSwitch ||
                      (kind == FlagKind::kCondition && text.starts_with('{'));
    bare ? void(out += text) : AppendJsonString(text, out);
    const bool ends = i + 1 == members.size() || members[i + 1].first != name;
    if (kind == FlagKind::kList && ends) out += ']';
  }
  out += "\n}\n";

  // What cannot be read back is not worth printing; a file name, for one, may be any bytes.
  FoldOptions again;
  if (absl::Status read = ApplyDocument(out, "--print-spec", again); !read.ok()) return read;
  return out;
}

}  // namespace pleat::cli
