#include "tools/pleat/store/file_notes.h"

#include <charconv>
#include <cstdint>
#include <map>
#include <string_view>
#include <utility>

#include <pleat/stored.h>

namespace pleat::cli {
namespace {

constexpr std::string_view kPlaces = "pleat.file.";
constexpr std::string_view kLines = "pleat.lines.";
constexpr uint32_t kFormat = 1;

std::string PlaceText(const RunNote::Input& input) {
  RunNote::Input place = input;
  place.line_ends.clear();
  FieldWriter out;
  out(kFormat, place);
  return std::string(out.bytes());
}

std::string LinesText(const RunNote::Input& input) {
  FieldWriter out;
  out(kFormat, input.line_ends);
  return std::string(out.bytes());
}

template <class Value>
absl::Status Read(const std::string& name, const std::string& text, Value& value) {
  FieldReader in(text);
  uint32_t format = 0;
  in(format);
  if (in.ok() && format > kFormat) {
    return absl::UnimplementedError("the note " + name +
                                    " was written by a newer version of pleat: use that one");
  }
  in(value);
  if (in.done()) return absl::OkStatus();
  return absl::DataLossError("the note " + name +
                             " was not written by pleat store append, which takes this name");
}

// The number in the name of a note.
std::optional<size_t> NumberIn(std::string_view name, std::string_view prefix) {
  if (!name.starts_with(prefix)) return std::nullopt;
  size_t number = 0;
  const char* const end = name.data() + name.size();
  const auto read = std::from_chars(name.data() + prefix.size(), end, number);
  if (read.ec != std::errc() || read.ptr != end) return std::nullopt;
  return number;
}

}  // namespace

absl::Status FileNotes::Load(const StoreNotes& notes) {
  std::map<size_t, RunNote::Input> places;
  std::map<size_t, std::vector<LineEnd>> lines;
  for (const auto& [name, value] : notes) {
    absl::Status read;
    if (const auto number = NumberIn(name, kPlaces)) {
      read = Read(name, value, places[*number]);
    } else if (const auto of_lines = NumberIn(name, kLines)) {
      read = Read(name, value, lines[*of_lines]);
    }
    if (!read.ok()) return read;
  }
  for (auto& [number, input] : places) {
    if (number != inputs_.size()) return absl::DataLossError("a note of a FILE is missing");
    kept_.push_back({.place = PlaceText(input), .line_ends = lines[number].size()});
    input.line_ends = std::move(lines[number]);
    const size_t ahead =
        std::erase_if(input.line_ends, [&](const LineEnd& end) { return end.bytes > input.bytes; });
    if (ahead > 0) kept_.back().line_ends = SIZE_MAX;
    inputs_.push_back(std::move(input));
  }
  return absl::OkStatus();
}

FileNotes::Kept& FileNotes::KeptOf(size_t input) {
  if (kept_.size() <= input) kept_.resize(input + 1);
  return kept_[input];
}

std::optional<FileNotes::Text> FileNotes::TakeLines(size_t input) {
  Kept& kept = KeptOf(input);
  const RunNote::Input& of = inputs_[input];
  if (of.line_ends.size() == kept.line_ends) return std::nullopt;
  kept.line_ends = of.line_ends.size();
  return Text{std::string(kLines) + std::to_string(input), LinesText(of)};
}

std::optional<FileNotes::Text> FileNotes::TakePlace(size_t input) {
  std::string place = PlaceText(inputs_[input]);
  Kept& kept = KeptOf(input);
  if (place == kept.place) return std::nullopt;
  kept.place = place;
  return Text{std::string(kPlaces) + std::to_string(input), std::move(place)};
}

size_t FileNotes::noted() {
  while (noted_ < kept_.size() && !kept_[noted_].place.empty()) ++noted_;
  return noted_;
}

}  // namespace pleat::cli
