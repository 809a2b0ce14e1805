#include "tools/pleat/spec_document.h"

#include <algorithm>
#include <utility>
#include <vector>

#include <pleat/json.h>

#include "tools/pleat/errno_status.h"
#include "tools/pleat/input.h"
#include "tools/pleat/old_names.h"

namespace pleat::cli {
namespace {

// Whether a document may hold the flag's option: all but those that belong to one call.
bool InDocument(const Flag& flag) {
  return !flag.name.empty() && flag.name != "spec" && flag.name != "print-spec" &&
         flag.name != "help";
}

absl::Status UnknownMember(std::span<const Flag> flags, std::string_view name) {
  std::vector<std::string_view> known;
  for (const Flag& flag : flags) {
    if (InDocument(flag)) known.push_back(flag.name);
  }
  std::string message = "unknown option \"" + std::string(name) + "\"";
  std::string spelled(name);
  std::ranges::replace(spelled, '_', '-');
  if (const std::string now = NewNameOf(spelled, known, "\"", "\""); !now.empty()) {
    return absl::InvalidArgumentError(message + now);
  }
  const std::string nearest = NearestName(name, known);
  if (!nearest.empty()) message += "; did you mean \"" + nearest + "\"?";
  return absl::InvalidArgumentError(message);
}

// `file` is for messages.
absl::Status ApplyDocument(std::string_view document, std::string_view file,
                           std::span<const Flag> flags) {
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

void AppendValue(const Flag& flag, const std::string& text, std::string& out) {
  const bool bare =
      flag.is_number() || flag.is_switch() || (flag.is_condition() && text.starts_with('{'));
  bare ? void(out += text) : AppendJsonString(text, out);
}

// The options that belong to no spec and have another text than in `usual`.
void AppendChanged(std::span<const Flag> flags, std::span<const Flag> usual,
                   std::vector<OptionText>& out) {
  for (size_t i = 0; i < flags.size(); ++i) {
    if (!InDocument(flags[i]) || !flags[i].value.text) continue;
    std::string text = flags[i].value.text();
    if (text != usual[i].value.text()) out.emplace_back(flags[i].name, std::move(text));
  }
}

std::string DocumentOf(std::span<const OptionText> options, std::span<const Flag> flags) {
  std::string out;
  for (auto next = options.begin(); next != options.end();) {
    const auto& [name, text] = *next;
    const Flag& flag = *FindFlag(flags, name);
    out += out.empty() ? "{\n  " : ",\n  ";
    AppendJsonString(name, out);
    out += flag.is_list() ? ": [" : ": ";
    AppendValue(flag, text, out);
    for (++next; next != options.end() && next->first == name; ++next) {
      out += ", ";
      AppendValue(flag, next->second, out);
    }
    if (flag.is_list()) out += ']';
  }
  return out + "\n}\n";
}

}  // namespace

absl::Status ReadDocument(const std::string& file, std::span<const Flag> flags) {
  absl::StatusOr<std::string> document = ReadWholeFile(file);
  if (!document.ok()) return document.status();
  return ApplyDocument(*document, Printable(file), flags);
}

absl::StatusOr<std::string> PrintDocument(std::vector<OptionText> of_specs,
                                          std::span<const Flag> flags, std::span<const Flag> usual,
                                          std::span<const Flag> again) {
  // Its default is not the library's, and depends on the machine.
  std::erase_if(of_specs, [](const OptionText& option) { return option.first == "max-memory"; });
  AppendChanged(flags, usual, of_specs);
  std::string out = DocumentOf(of_specs, flags);
  // A document that cannot be read back is not worth printing; a file name may be any bytes.
  if (absl::Status read = ApplyDocument(out, "--print-spec", again); !read.ok()) return read;
  return out;
}

}  // namespace pleat::cli
