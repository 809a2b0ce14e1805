#include "tools/pleat/fold/spec_document.h"

#include <algorithm>
#include <utility>
#include <vector>

#include <pleat/json.h>

#include "tools/pleat/fold/fold_flags.h"

namespace pleat::cli {
namespace {

using NameAndText = std::pair<std::string, std::string>;

absl::Status UnknownMember(std::span<const Flag> flags, std::string_view name) {
  std::vector<std::string_view> known;
  for (const Flag& flag : flags) {
    if (InDocument(flag)) known.push_back(flag.name);
  }
  std::string message = "unknown option \"" + std::string(name) + "\"";
  const std::string nearest = NearestName(name, known);
  if (!nearest.empty()) message += "; did you mean \"" + nearest + "\"?";
  return absl::InvalidArgumentError(message);
}

// The options that differ from the defaults: first those that belong to the spec.
std::vector<NameAndText> MembersOf(FoldOptions& options) {
  FoldOptions defaults;
  const std::vector<Flag> flags = FoldFlags(options);
  const std::vector<Flag> usual = FoldFlags(defaults);
  std::vector<NameAndText> members = OptionsOf(options.spec);
  // Its default is not the library's, and depends on the machine.
  std::erase_if(members, [](const NameAndText& member) { return member.first == "max-memory"; });
  for (size_t i = 0; i < flags.size(); ++i) {
    if (!InDocument(flags[i]) || !flags[i].value.text) continue;
    std::string text = flags[i].value.text();
    if (text != usual[i].value.text()) members.emplace_back(flags[i].name, std::move(text));
  }
  return members;
}

void AppendValue(FlagKind kind, const std::string& text, std::string& out) {
  const bool bare = kind == FlagKind::kNumber || kind == FlagKind::kSwitch ||
                    (kind == FlagKind::kCondition && text.starts_with('{'));
  bare ? void(out += text) : AppendJsonString(text, out);
}

}  // namespace

absl::Status ApplyDocument(std::string_view document, std::string_view file, FoldOptions& options) {
  const std::vector<Flag> flags = FoldFlags(options);
  absl::Status status =
      ForEachOption(document, [&](std::string_view name, std::string_view text) -> absl::Status {
        std::string spelled(name);
        std::ranges::replace(spelled, '_', '-');
        const Flag* const flag = FindFlag(flags, spelled);
        if (flag == nullptr || !InDocument(*flag)) return UnknownMember(flags, name);
        return flag->value.set(flag->name, text);
      });
  if (status.ok()) return status;
  return absl::InvalidArgumentError(std::string(file) + ": " + std::string(status.message()));
}

absl::StatusOr<std::string> PrintDocument(FoldOptions options) {
  const std::vector<Flag> flags = FoldFlags(options);
  const std::vector<NameAndText> members = MembersOf(options);
  std::string out;
  for (auto next = members.begin(); next != members.end();) {
    const auto& [name, text] = *next;
    const FlagKind kind = FindFlag(flags, name)->value.kind;
    out += out.empty() ? "{\n  " : ",\n  ";
    AppendJsonString(name, out);
    out += kind == FlagKind::kList ? ": [" : ": ";
    AppendValue(kind, text, out);
    for (++next; next != members.end() && next->first == name; ++next) {
      out += ", ";
      AppendValue(kind, next->second, out);
    }
    if (kind == FlagKind::kList) out += ']';
  }
  out += "\n}\n";

  // A document that cannot be read back is not worth printing; a file name may be any bytes.
  FoldOptions again;
  if (absl::Status read = ApplyDocument(out, "--print-spec", again); !read.ok()) return read;
  return out;
}

}  // namespace pleat::cli
