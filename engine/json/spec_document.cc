// A spec as a JSON document: one object whose members are the options by name.
#include <string>

#include <pleat/json.h>

#include "engine/json/reasons.h"
#include "engine/json/scanner.h"
#include "engine/json/text.h"

namespace pleat::inline v0 {
namespace {

using bad_line::Quoted;

using Set = absl::FunctionRef<absl::Status(std::string_view, std::string_view)>;

// The bytes of a string in quotes.
std::string Unescaped(std::string_view quoted) {
  const std::string_view inside = quoted.substr(1, quoted.size() - 2);
  std::string out(inside.size(), '\0');
  out.resize(static_cast<size_t>(WriteUnescaped(inside, out.data()) - out.data()));
  return out;
}

absl::Status SetScalar(std::string_view name, std::string_view value, Set set) {
  switch (value[0]) {
    case '"': return set(name, Unescaped(value));
    case '{':
    case '[':
    case 'n':
      return absl::InvalidArgumentError(
          "option " + Quoted(name) +
          " takes a string, a number, true or false, or an array of these");
    default: return set(name, value);
  }
}

absl::Status SetMember(std::string_view name, std::string_view value, Set set) {
  if (value[0] != '[') return SetScalar(name, value, set);
  absl::Status status;
  ForEachElement(value, [&](std::string_view element) {
    if (status.ok()) status = SetScalar(name, element, set);
  });
  return status;
}

}  // namespace

absl::Status ForEachOption(std::string_view document, Set set) {
  const size_t begin = std::min(document.find_first_not_of(" \t\r\n"), document.size());
  std::string padded(document.substr(begin));
  const size_t size = padded.size();
  if (size == 0) return absl::InvalidArgumentError("spec: empty");
  padded.append(kLinePaddingBytes, ' ');
  const std::string_view text = std::string_view(padded).substr(0, size);
  const PathTree none;
  Scanner scanner(none);
  if (std::string_view wrong = scanner.Scan(text); !wrong.empty()) {
    return absl::InvalidArgumentError("spec: " + std::string(wrong));
  }
  absl::Status status;
  ForEachMember(text, [&](std::string_view name, std::string_view value) {
    if (status.ok()) status = SetMember(Unescaped(name), value, set);
  });
  return status;
}

absl::StatusOr<FoldSpec> ParseFoldSpec(std::string_view document) {
  FoldSpec spec;
  absl::Status status =
      ForEachOption(document, [&](std::string_view name, std::string_view text) -> absl::Status {
        absl::Status set = SetOption(spec, name, text);
        if (!absl::IsNotFound(set)) return set;
        return absl::InvalidArgumentError(std::string(set.message()));
      });
  if (!status.ok()) return status;
  return spec;
}

}  // namespace pleat::inline v0
