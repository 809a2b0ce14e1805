#include "engine/lines/scan/written_path.h"

#include <algorithm>
#include <iterator>
#include <optional>
#include <utility>

#include "engine/lines/scan/option_json.h"

namespace pleat::inline v0_1 {
namespace {

// Those of other options, and those of conditions.
constexpr std::string_view kForeignMarks = ",=()<>!\"";
// They end a bare value of a search, or are likely slips in it.
constexpr std::string_view kMarksInSearch = ",|?\"";

absl::Status Malformed(std::string_view phrase) {
  return absl::InvalidArgumentError(std::string(phrase));
}

// The size of the string in quotes that `text` begins with; that of `text` if it does not end.
size_t SizeOfQuoted(std::string_view text) {
  size_t end = 1;
  while (end < text.size() && text[end] != '"') end += text[end] == '\\' ? 2 : 1;
  return std::min(end + 1, text.size());
}

// The size of the search that `text` begins with, its brackets included; 0 if there is none.
size_t SizeOfSearch(std::string_view text) {
  size_t at = text.find_first_not_of(" \t", 1);
  if (!text.starts_with('[') || at == text.npos) return 0;
  if (text[at] == '"') at += SizeOfQuoted(text.substr(at));
  at = text.find_first_of("=]<>!\"", at);
  if (at == text.npos || text[at] != '=') return 0;
  at = text.find_first_not_of(" \t", at + 1);
  if (at == text.npos) return 0;
  if (text[at] == '"') at += SizeOfQuoted(text.substr(at));
  at = text.find(']', at);
  return at == text.npos ? 0 : at + 1;
}

// A name or a value in the brackets of a search.
struct Inside {
  std::string text;
  bool quoted = false;
};

absl::StatusOr<Inside> ReadInside(std::string_view text) {
  text = Trimmed(text);
  if (!text.starts_with('"')) return Inside{std::string(text)};
  absl::StatusOr<std::string> read = TakeQuoted(text);
  if (!read.ok()) return read.status();
  if (!text.empty()) return Malformed("has text behind the quotes in its brackets");
  return Inside{*std::move(read), true};
}

class WrittenPathReader {
 public:
  explicit WrittenPathReader(std::string_view text)
      : rest_(Trimmed(text).starts_with('"') ? Trimmed(text) : text) {}

  absl::StatusOr<WrittenPath> Read() {
    WrittenPath path;
    for (;;) {
      PathWay& way = path.ways.emplace_back();
      if (absl::Status read = ReadWay(way); !read.ok()) return read;
      if (Takes('?')) {
        path.optional = true;
        if (rest_.starts_with('|')) return Malformed("has a ? before |; write it behind the last");
        if (!rest_.empty()) return Malformed("has a ? before its end; put it in quotes if meant");
      }
      if (!Takes('|')) break;
    }
    if (!rest_.empty()) return Malformed("goes on behind a quote or a ]");
    if (!has_marks_ || !foreign_mark_) return path;
    return Malformed(std::string("has a ") + *foreign_mark_ + " outside of quotes");
  }

  bool has_marks() const { return has_marks_; }

 private:
  bool Takes(char mark) {
    rest_ = has_marks_ || mark == '|' ? Trimmed(rest_) : rest_;
    if (!rest_.starts_with(mark)) return false;
    has_marks_ = true;
    rest_ = Trimmed(rest_.substr(1));
    return true;
  }

  absl::Status ReadWay(PathWay& way) {
    if (rest_.starts_with('/')) {
      const size_t size =
          rest_.size() > 1 && rest_.ends_with('?') ? rest_.size() - 1 : rest_.size();
      return TakePlain(rest_.substr(0, size), size, way.steps);
    }
    if (rest_.starts_with('|') || rest_.empty()) return Malformed("has nothing on one side of |");
    if (absl::Status part = ReadPart(way.steps); !part.ok()) return part;
    for (;;) {
      Path& steps = way.searches.empty() ? way.steps : way.searches.back().steps;
      absl::Status next;
      if (rest_.starts_with('.')) {
        rest_.remove_prefix(1);
        next = ReadPart(steps);
      } else if (const size_t size = SizeOfSearch(rest_); size > 0) {
        next = ReadSearch(rest_.substr(1, size - 2), way.searches.emplace_back());
        rest_.remove_prefix(size);
        has_marks_ = true;
      } else {
        return absl::OkStatus();
      }
      if (!next.ok()) return next;
    }
  }

  absl::Status ReadPart(Path& steps) {
    if (!rest_.starts_with('"')) return ReadStep(steps);
    has_marks_ = true;
    absl::StatusOr<std::string> text = TakeQuoted(rest_);
    if (!text.ok()) return text.status();
    return TakePlain(*text, 0, steps);
  }

  // Without quotes.
  absl::Status ReadStep(Path& steps) {
    size_t end = 0;
    while (end < rest_.size() && rest_[end] != '.' && rest_[end] != '|' && rest_[end] != '?' &&
           SizeOfSearch(rest_.substr(end)) == 0) {
      ++end;
    }
    std::string_view step = rest_.substr(0, end);
    rest_.remove_prefix(end);
    if (rest_.starts_with('|') || rest_.starts_with('?')) {
      while (step.ends_with(' ')) step.remove_suffix(1);
    }
    if (step.empty() && rest_.starts_with('[')) return Malformed("has no list before a [");
    if (step.empty()) return Malformed("has an empty step");
    if (const size_t mark = step.find_first_of(kForeignMarks); mark != step.npos && !foreign_mark_)
      foreign_mark_ = step[mark];
    steps.emplace_back(step);
    return absl::OkStatus();
  }

  absl::Status ReadSearch(std::string_view text, PathSearch& search) {
    size_t at = text.find_first_not_of(" \t");
    if (text[at] == '"') at += SizeOfQuoted(text.substr(at));
    const size_t equals = text.find('=', at);
    absl::StatusOr<Inside> name = ReadInside(text.substr(0, equals));
    if (!name.ok()) return name.status();
    absl::StatusOr<Inside> value = ReadInside(text.substr(equals + 1));
    if (!value.ok()) return value.status();
    if (!name->quoted && name->text.empty()) return Malformed("has no name before the = in [");
    if (!value->quoted && value->text.empty()) return Malformed("has no value behind the = in [");
    const size_t mark =
        value->quoted ? std::string::npos : value->text.find_first_of(kMarksInSearch);
    if (mark != std::string::npos) {
      return Malformed(std::string("has a ") + value->text[mark] +
                       " in its brackets; put the value in quotes if it is meant");
    }
    search.name = std::move(name->text);
    search.value = std::move(value->text);
    search.text_only = value->quoted;
    return absl::OkStatus();
  }

  // `text` is a dotted path or a pointer; the path goes on `size` bytes behind.
  absl::Status TakePlain(std::string_view text, size_t size, Path& steps) {
    absl::StatusOr<Path> plain = ParsePath(text);
    if (!plain.ok()) return plain.status();
    std::ranges::move(*plain, std::back_inserter(steps));
    rest_.remove_prefix(size);
    return absl::OkStatus();
  }

  std::string_view rest_;
  bool has_marks_ = false;
  std::optional<char> foreign_mark_;  // outside of quotes, in a step
};

std::string QuotedPointer(const Path& steps) {
  std::string pointer;
  for (const std::string& step : steps) {
    pointer += '/';
    for (const char c : step) pointer += c == '~' ? "~0" : c == '/' ? "~1" : std::string(1, c);
  }
  return JsonString(pointer);
}

// The text in quotes, if all of `text` is one JSON string.
std::optional<std::string> AllInQuotes(std::string_view text) {
  text = Trimmed(text);
  if (!text.starts_with('"') || SizeOfQuoted(text) != text.size()) return std::nullopt;
  absl::StatusOr<std::string> read = TakeQuoted(text);
  return read.ok() && text.empty() ? std::optional(*std::move(read)) : std::nullopt;
}

}  // namespace

absl::StatusOr<WrittenPath> ParseWrittenPath(std::string_view text) {
  if (text.empty()) return Malformed("is empty");
  return WrittenPathReader(text).Read();
}

Path FirstSteps(std::string_view text) { return ParseWrittenPath(text)->ways.front().steps; }

std::string LastStep(std::string_view text) {
  const PathWay way = ParseWrittenPath(text)->ways.front();
  if (way.searches.empty()) return way.steps.back();
  const PathSearch& last = way.searches.back();
  return last.steps.empty() ? last.value : last.steps.back();
}

size_t EndOfWritten(std::string_view text, absl::FunctionRef<bool(std::string_view)> is_end) {
  const bool pointer = text.starts_with('/');
  bool begins_part = true;
  for (size_t i = 0; i < text.size();) {
    const std::string_view rest = text.substr(i);
    if (is_end(rest)) return i;
    const size_t quoted = !pointer && begins_part && rest[0] == '"' ? SizeOfQuoted(rest) : 0;
    const size_t search = pointer ? 0 : SizeOfSearch(rest);
    begins_part = rest[0] == '.' || rest[0] == '|' || (begins_part && rest[0] == ' ');
    i += std::max({quoted, search, size_t{1}});
  }
  return text.size();
}

size_t EndOfWritten(std::string_view text, std::string_view stops) {
  return EndOfWritten(text,
                      [&](std::string_view rest) { return stops.find(rest[0]) != stops.npos; });
}

std::string FormatWritten(const WrittenPath& path) {
  std::string text;
  for (const PathWay& way : path.ways) {
    text += (text.empty() ? "" : "|") + QuotedPointer(way.steps);
    for (const PathSearch& search : way.searches) {
      text += "[" + JsonString(search.name) + "=";
      text += (search.text_only ? JsonString(search.value) : search.value) + "]";
      if (!search.steps.empty()) text += "." + QuotedPointer(search.steps);
    }
  }
  return text + (path.optional ? "?" : "");
}

bool IsWrittenWithMarks(std::string_view text) {
  WrittenPathReader reader(text);
  return !text.empty() && reader.Read().ok() && reader.has_marks();
}

std::string UnquotedPath(std::string_view quoted) {
  const absl::StatusOr<Path> steps = ParsePath(quoted);
  const absl::StatusOr<WrittenPath> bare = ParseWrittenPath(quoted);
  const bool same = steps.ok() && bare.ok() && bare->plain() && bare->ways[0].steps == *steps;
  // What is wrong with it is told of the text itself.
  return same || !steps.ok() ? std::string(quoted) : JsonString(quoted);
}

std::string NormalPath(std::string_view text) {
  const std::optional<std::string> quoted = AllInQuotes(text);
  return quoted ? UnquotedPath(*quoted) : std::string(text);
}

}  // namespace pleat::inline v0_1
