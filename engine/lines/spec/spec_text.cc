#include "engine/lines/spec/spec_text.h"

#include <algorithm>
#include <charconv>
#include <optional>
#include <utility>

#include "engine/lines/reduce/reducers.h"
#include "engine/lines/scan/option_json.h"
#include "engine/lines/scan/path.h"
#include "engine/lines/scan/reasons.h"
#include "engine/lines/scan/text.h"
#include "engine/lines/scan/written_path.h"
#include "engine/lines/spec/option_text.h"

namespace pleat::inline v0_1 {
namespace {

using invalid_line::Quoted;

constexpr std::string_view kMarks = ",=()";
constexpr std::string_view kSeparator = ",";  // of concat, if it names none

// A field, and whether it was in quotes.
struct Field {
  std::string text;
  bool quoted = false;
};

void SkipSpace(std::string_view& rest) {
  while (!rest.empty() && IsJsonSpace(rest.front())) rest.remove_prefix(1);
}

// Takes a field and the white space around it off the front of `rest`, up to one of the `stops` or
// to the end.
absl::StatusOr<Field> TakeField(std::string_view& rest, std::string_view stops) {
  SkipSpace(rest);
  if (rest.starts_with('"')) {
    absl::StatusOr<std::string> text = TakeQuoted(rest);
    if (!text.ok()) return text.status();
    SkipSpace(rest);
    return Field{*std::move(text), true};
  }
  const size_t end = std::min(rest.find_first_of(stops), rest.size());
  Field field{std::string(Trimmed(rest.substr(0, end)))};
  rest.remove_prefix(end);
  return field;
}

// Takes a path and the white space around it off the front of `rest`, up to one of the `stops` or to the
// end.
std::string TakePathField(std::string_view& rest, std::string_view stops) {
  SkipSpace(rest);
  const size_t end = EndOfWritten(rest, stops);
  std::string path(Trimmed(rest.substr(0, end)));
  rest.remove_prefix(end);
  return path;
}

// Of a NAME or a PATH of a merge. A mark in it is more likely a slip than meant; `slip` says which.
absl::Status CheckMarks(const Field& field, std::string_view slip) {
  if (field.quoted || EndOfWritten(field.text, kMarks) == field.text.size())
    return absl::OkStatus();
  return Wrong(Quoted(field.text) + " has one of , = ( ) in it: " + std::string(slip) +
               "; if the mark is meant, put the name or the path in quotes");
}

constexpr std::string_view kOneValueEach = "each --merge gives one value";

absl::StatusOr<KeyField> TakeKeyField(std::string_view& rest) {
  SkipSpace(rest);
  const std::string_view item = rest;
  std::string path = TakePathField(rest, rest.starts_with('/') ? "," : ",=");
  std::optional<std::string> name;
  if (rest.starts_with('=')) {
    std::string_view before = item.substr(0, item.size() - rest.size());
    absl::StatusOr<Field> field = TakeField(before, "=");
    if (!field.ok()) return field.status();
    if (!before.empty()) return Wrong("expected = before " + Quoted(before));
    if (field->text.empty() && !field->quoted) return Wrong("a name is missing before =");
    name = std::move(field->text);
    rest.remove_prefix(1);
    path = TakePathField(rest, ",");
  }
  if (std::string_view quoted = path; quoted.starts_with('"')) {
    if (absl::StatusOr<std::string> text = TakeQuoted(quoted); !text.ok()) return text.status();
    quoted = Trimmed(quoted);
    if (!quoted.empty() && std::string_view("|?.[").find(quoted[0]) == quoted.npos) {
      return Wrong("expected a comma before " + Quoted(quoted));
    }
  }
  path = NormalPath(path);
  if (absl::Status status = CheckPath(path); !status.ok()) return status;
  if (!name) name = DefaultName(path);
  return KeyField{*std::move(name), std::move(path)};
}

absl::Status UnknownReducer(std::string_view name) {
  // As other languages call them.
  constexpr std::pair<std::string_view, std::string_view> kElsewhere[] = {
      {"avg", "mean"},         {"average", "mean"},  {"list", "array"}, {"unique", "distinct"},
      {"nunique", "distinct"}, {"uniq", "distinct"}, {"median", "p50"}, {"total", "sum"},
  };
  for (const auto& [other, ours] : kElsewhere) {
    if (other == name) return Wrong(Quoted(name) + " is called " + std::string(ours));
  }
  std::string message = Quoted(name) + " is not a reducer (one of";
  for (const ReducerName& known : kReducerNames) {
    message += &known == kReducerNames ? " " : ", ";
    message += known.name;
  }
  return Wrong(message + ")");
}

absl::StatusOr<Reducer> ParseReducer(std::string_view name) {
  for (const ReducerName& known : kReducerNames) {
    if (known.name == name) return known.reducer;
  }
  return UnknownReducer(name);
}

bool TakesBound(Reducer reducer) {
  switch (reducer) {
    case Reducer::kKeys:
    case Reducer::kSet:
    case Reducer::kDistinct:
    case Reducer::kArray:
    case Reducer::kTop:
    case Reducer::kConcat: return true;
    default: return false;
  }
}

absl::Status ParseBound(std::string_view text, Merge& merge) {
  const char* const end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, merge.bound);
  const std::string name(NameOf(merge.reducer));
  if (error == std::errc::result_out_of_range) return Wrong(name + ": N is too large");
  if (merge.reducer == Reducer::kTop && merge.bound > kTopBoundMax) {
    return Wrong("top: N is at most " + std::to_string(kTopBoundMax));
  }
  if (error == std::errc() && stop == end && merge.bound != 0) return absl::OkStatus();
  return Wrong(name + ": N must be a whole number of at least 1, not " + Quoted(text));
}

// Takes a separator off the front of `rest`, which has a comma before it. White space is part of
// one without quotes.
absl::Status TakeSeparator(std::string_view& rest, Merge& merge) {
  rest.remove_prefix(1);
  if (Trimmed(rest).starts_with('"')) {
    absl::StatusOr<Field> field = TakeField(rest, ",");
    if (!field.ok()) return field.status();
    merge.separator = std::move(field->text);
  } else {
    merge.separator = rest.substr(0, rest.find(','));
    rest.remove_prefix(merge.separator.size());
    if (merge.separator.empty()) {
      return Wrong("concat: SEP is missing (a comma, or nothing, goes in quotes: \",\" or \"\")");
    }
  }
  if (!rest.empty() && rest[0] != ',') return Wrong("expected a comma before " + Quoted(rest));
  return absl::OkStatus();
}

// What is likely meant by a mark in the path of a merge.
std::string SlipIn(const std::string& path, const std::string& reducer) {
  const size_t bracket = EndOfWritten(path, "()");
  if (path.substr(bracket).starts_with('(')) return reducer + " takes one path, and no call";
  const size_t compares = EndOfWritten(path, "=<>!");
  if (bracket < path.size() || compares == path.size()) return std::string(kOneValueEach);
  return reducer + " takes no condition: --where keeps the events for which one holds, and top(" +
         std::string(Trimmed(path.substr(0, compares))) + ") counts each value";
}

// Parses the text between the parentheses.
absl::Status ParseArguments(std::string_view text, Merge& merge) {
  std::string_view rest = text;
  Field path{TakePathField(rest, ",")};
  if (std::string_view quoted = path.text; quoted.starts_with('"')) {
    if (absl::StatusOr<std::string> read = TakeQuoted(quoted); !read.ok()) return read.status();
    path = {NormalPath(path.text), /*quoted=*/Trimmed(quoted).empty()};
  }
  const std::string name(NameOf(merge.reducer));
  if (path.text == "*" && !path.quoted) {
    return Wrong(name + "(*): a path is the name of a member; count() counts events");
  }
  const std::string slip = SlipIn(path.text, name);
  if (absl::Status status = CheckMarks(path, slip); !status.ok()) return status;
  merge.path = std::move(path.text);
  const bool more = rest.starts_with(',') && TakesBound(merge.reducer);
  if (!rest.empty() && !more) {
    return Wrong(name + " takes no argument after its path (a path with a comma goes in quotes)");
  }
  if (merge.path == kWholeEvent) {
    if (!TakesWholeEvent(merge.reducer)) {
      return Wrong(name + "(.): the whole event is taken by first and last; --raw and --raw-last " +
                   "keep several");
    }
  } else if (!merge.path.empty()) {
    if (absl::Status status = CheckPath(merge.path); !status.ok()) return status;
  } else if (!TakesNoPath(merge.reducer)) {
    return Wrong(name + " needs a path");
  }
  if (merge.reducer == Reducer::kDuration && !merge.path.empty()) {
    return Wrong("duration() takes no path: it is the time from the first event to the last");
  }
  if (more && merge.reducer == Reducer::kConcat) {
    if (absl::Status status = TakeSeparator(rest, merge); !status.ok()) return status;
  }
  return rest.empty() ? absl::OkStatus() : ParseBound(Trimmed(rest.substr(1)), merge);
}

// How to write a reducer that `rest`, as "=count", names alone; empty if it names none.
std::string CallMeant(std::string_view rest) {
  if (!rest.starts_with('=')) return {};
  const std::string name(Trimmed(rest.substr(1)));
  const absl::StatusOr<Reducer> reducer = ParseReducer(name);
  if (!reducer.ok()) return {};
  return "; write " + name + (TakesNoPath(*reducer) ? "()" : "(PATH)");
}

std::string FormatField(std::string_view text, std::string_view marks) {
  // A quote or a bracket may begin something that has no end here.
  const bool bare = !text.empty() && text != "*" && text == Trimmed(text) &&
                    text.find_first_of("\"[") == std::string_view::npos &&
                    text.find_first_of(marks) == std::string_view::npos;
  std::string out;
  bare ? void(out += text) : AppendJsonString(text, out);
  return out;
}

// Of a path, which may be any text that was read as one, or comes from a program.
std::string FormatPathField(std::string_view path) {
  if (!IsWrittenWithMarks(path)) return FormatField(path, kMarks);
  if (EndOfWritten(path, kMarks) == path.size()) return std::string(path);
  return FormatWritten(*ParseWrittenPath(path));
}

}  // namespace

std::string_view NameOf(Reducer reducer) {
  for (const ReducerName& known : kReducerNames) {
    if (known.reducer == reducer) return known.name;
  }
  return "unknown";
}

std::string DefaultName(std::string_view path) {
  return ParseWrittenPath(path).ok() ? LastStep(path) : std::string();
}

bool TakesNoPath(Reducer reducer) {
  return reducer == Reducer::kCount || reducer == Reducer::kDuration;
}

bool TakesWholeEvent(Reducer reducer) {
  return reducer == Reducer::kFirst || reducer == Reducer::kLast;
}

absl::StatusOr<std::vector<KeyField>> ParseKeyFields(std::string_view text) {
  std::vector<KeyField> fields;
  if (text.empty()) return fields.emplace_back(), fields;
  for (std::string_view rest = text;;) {
    absl::StatusOr<KeyField> field = TakeKeyField(rest);
    if (!field.ok()) return field.status();
    fields.push_back(*std::move(field));
    if (rest.empty()) return fields;
    rest.remove_prefix(1);
  }
}

absl::StatusOr<Merge> ParseMerge(std::string_view text) {
  constexpr std::string_view kForm = " is not NAME=REDUCER(PATH)";
  std::string_view rest = Trimmed(text);
  absl::StatusOr<Field> name = TakeField(rest, "=");
  if (!name.ok()) return name.status();
  const size_t open = rest.find('(');
  const bool formed = rest.starts_with('=') && rest.ends_with(')') &&
                      open != std::string_view::npos && (name->quoted || !name->text.empty());
  if (!formed) {
    const bool nameless = rest.empty() && name->text.ends_with(')') &&
                          ParseReducer(name->text.substr(0, name->text.find('('))).ok();
    return Wrong(Quoted(text) + std::string(kForm) +
                 (nameless ? "; write n=" + name->text : CallMeant(rest)));
  }
  if (absl::Status status = CheckMarks(*name, kOneValueEach); !status.ok()) return status;
  absl::StatusOr<Reducer> reducer = ParseReducer(Trimmed(rest.substr(1, open - 1)));
  if (!reducer.ok()) return reducer.status();
  Merge merge{std::move(name->text), *reducer, {}};
  if (*reducer == Reducer::kConcat) merge.separator = kSeparator;
  absl::Status status = ParseArguments(rest.substr(open + 1, rest.size() - open - 2), merge);
  if (!status.ok()) return status;
  return merge;
}

std::string FormatKeyField(const KeyField& field) {
  if (field.name.empty() && field.path.empty()) return {};
  std::string path = FormatPathField(field.path);
  if (field.name == DefaultName(field.path)) return path;
  const bool like_path = field.name.starts_with('/');
  return FormatField(field.name, like_path ? "/" : kMarks) + "=" + path;
}

std::string FormatMerge(const Merge& merge) {
  std::string out =
      FormatField(merge.name, kMarks) + "=" + std::string(NameOf(merge.reducer)) + "(";
  if (!merge.path.empty()) out += FormatPathField(merge.path);
  const bool bound = merge.bound != 0 && TakesBound(merge.reducer);
  if (merge.reducer == Reducer::kConcat && (bound || merge.separator != kSeparator)) {
    out += "," + FormatField(merge.separator, kMarks);
  }
  if (bound) out += "," + std::to_string(merge.bound);
  return out + ")";
}

}  // namespace pleat::inline v0_1
