// Inputs of other formats than lines of JSON. The first byte chooses the format: c, t, l, a, z, w, s or j, the
// second one how the rest is cut into reads. Claims:
//   - The lines of JSON, and the lines of the input that they name, do not depend on the cuts.
//   - Each line is one object of valid JSON, if it is UTF-8 and no member of logfmt comes twice; or it
//     is a refusal, with a reason of one line.
//   - The lines of the input that they name are lines that there are, and never go back, but for the
//     beginning of an array that does not end.
//   - An input that is refused as a whole is so with a message of one line.
//   - CSV and TSV: the records are those of a plain reader, and so are their fields, names and mistakes.
//   - A stream of JSON that is one valid object, or an array of them, is these objects.
#include <algorithm>
#include <cstring>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "fuzz/target.h"
#include "tests/support/plain_csv.h"
#include "tests/support/plain_json.h"
#include "tools/pleat/records/input_format.h"
#include "tools/pleat/records/refused_record.h"

namespace pleat_fuzz {
namespace {

using pleat::ParsePlainCsv;
using pleat::ParsePlainJson;
using pleat::ParsePlainTsv;
using pleat::PlainColumnNames;
using pleat::PlainJson;
using pleat::PlainRecord;
using pleat::QuotePlainJson;
using pleat::cli::InputFormat;
using pleat::cli::ReadRefused;
using pleat::cli::RefusedRecord;
using std::string_view_literals::operator""sv;

// Gives out a text in reads of sizes that follow from a byte.
class CutSource final : public pleat::cli::ByteSource {
 public:
  CutSource(std::string_view text, unsigned cut) : text_(text), cut_(cut) {}

  absl::StatusOr<size_t> Read(char* to, size_t size) override {
    const size_t wanted = cut_ == 0 ? text_.size() : 1 + reads_++ * cut_ % 11;
    const std::string_view piece = text_.substr(0, std::min(size, wanted));
    if (!piece.empty()) std::memcpy(to, piece.data(), piece.size());
    text_.remove_prefix(piece.size());
    return piece.size();
  }

 private:
  std::string_view text_;
  unsigned cut_;
  size_t reads_ = 0;
};

struct Converted {
  std::string text;
  std::vector<uint64_t> from;  // the line of the input of each
  std::string error;
};

Converted Convert(InputFormat format, std::string_view text, unsigned cut) {
  pleat::cli::LineMap map;
  const auto source =
      pleat::cli::ConvertedInput(format, std::make_unique<CutSource>(text, cut), "in", map);
  Converted converted;
  char buffer[1000];
  for (;;) {
    const absl::StatusOr<size_t> got = source->Read(buffer, cut == 0 ? sizeof(buffer) : cut);
    if (!got.ok()) {
      ExpectRefusal(got.status(), text);
      converted.error = MessageOf(got.status());
    }
    if (!got.ok() || *got == 0) break;
    converted.text.append(buffer, *got);
  }
  const size_t lines = LinesOf(converted.text).size();
  for (uint64_t i = 1; i <= lines; ++i) converted.from.push_back(map.InputLineOf(i));
  return converted;
}

bool IsObject(std::string_view line) {
  const std::optional<PlainJson> json = ParsePlainJson(line);
  return json && json->kind == PlainJson::Kind::kObject;
}

bool IsUtf8(std::string_view text) {
  return ParsePlainJson(QuotePlainJson(std::string(text))).has_value();
}

void ExpectLines(InputFormat format, std::string_view text, const Converted& converted) {
  const auto newlines = static_cast<uint64_t>(std::ranges::count(text, '\n'));
  for (const uint64_t from : converted.from) FUZZ_EXPECT(from >= 1 && from <= 1 + newlines, text);
  const bool names_array = converted.text.ends_with("array that does not end\0\n"sv);
  const auto last = converted.from.end() - (names_array ? 1 : 0);
  // A line of a server-sent event that is refused comes before the event, which its first line numbers.
  FUZZ_EXPECT(format == InputFormat::kSse || std::is_sorted(converted.from.begin(), last), text);
  for (const std::string_view line : LinesOf(converted.text)) {
    const std::optional<RefusedRecord> refused = ReadRefused(line);
    if (refused) {
      FUZZ_EXPECT(!refused->reason.empty() && refused->reason.size() < 100, text);
      continue;
    }
    if (format == InputFormat::kSse) {  // the data of an event, whatever it is
      FUZZ_EXPECT(line.find_first_not_of(" \t") == line.find('{'), text);
      continue;
    }
    FUZZ_EXPECT(line.starts_with('{') && line.ends_with('}'), text);
    const bool fields = format != InputFormat::kLogfmt && format != InputFormat::kJson;
    if (fields && IsUtf8(text)) FUZZ_EXPECT(IsObject(line), text);
  }
}

std::string PlainValue(const std::string& field) {
  if (field.empty()) return "null";
  const std::optional<PlainJson> json = ParsePlainJson(field);
  const bool is_number = json && json->kind == PlainJson::Kind::kNumber &&
                         field.find_first_of("eE \t\r\n") == std::string::npos;
  return is_number ? field : QuotePlainJson(field);
}

void ExpectPlainRecords(InputFormat format, std::string_view text, const Converted& converted) {
  if (!converted.error.empty()) return;
  if (text.starts_with("\xef\xbb\xbf")) text.remove_prefix(3);
  const std::vector<PlainRecord> records =
      format == InputFormat::kCsv ? ParsePlainCsv(text, ',') : ParsePlainTsv(text);
  const std::vector<std::string_view> lines = LinesOf(converted.text);
  size_t next = 0;
  for (size_t i = 1; i < records.size(); ++i) {
    const PlainRecord& record = records[i];
    const std::vector<std::string>& header = records[0].fields;
    if (record.fields == header && !record.unclosed && !record.broken) continue;
    FUZZ_EXPECT(next < lines.size() && converted.from[next] == record.line, text);
    const std::string_view line = lines[next++];
    if (record.unclosed || record.broken || record.fields.size() != header.size()) {
      const std::optional<RefusedRecord> refused = ReadRefused(line);
      FUZZ_EXPECT(refused && refused->record == record.text, text);
      continue;
    }
    std::string expected;
    for (size_t f = 0; f < header.size(); ++f) {
      const bool is_null = !record.null.empty() && record.null[f];
      expected += (f == 0 ? "{" : ",") + QuotePlainJson(PlainColumnNames(header)[f]) + ":" +
                  (is_null ? "null" : PlainValue(record.fields[f]));
    }
    FUZZ_EXPECT_SAME(line, expected + "}", text);
  }
  FUZZ_EXPECT(next == lines.size(), text);
}

// The objects of one valid document, if it has nothing else.
void ExpectPlainValues(std::string_view text, const Converted& converted) {
  const std::optional<PlainJson> json = ParsePlainJson(text);
  if (!json || json->kind < PlainJson::Kind::kArray) return;
  const std::vector<PlainJson> objects =
      json->kind == PlainJson::Kind::kArray ? json->elements : std::vector<PlainJson>{*json};
  for (const PlainJson& object : objects) {
    if (object.kind != PlainJson::Kind::kObject) return;
  }
  const std::vector<std::string_view> lines = LinesOf(converted.text);
  FUZZ_EXPECT(lines.size() == objects.size(), text);
  for (size_t i = 0; i < lines.size(); ++i) {
    const std::optional<PlainJson> line = ParsePlainJson(lines[i]);
    FUZZ_EXPECT(line.has_value(), text);
    FUZZ_EXPECT_SAME(WritePlainJson(*line), WritePlainJson(objects[i]), text);
  }
}

}  // namespace
}  // namespace pleat_fuzz

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace pleat_fuzz;
  constexpr std::pair<char, InputFormat> kFormats[] = {
      {'c', InputFormat::kCsv},    {'t', InputFormat::kTsv},  {'l', InputFormat::kLogfmt},
      {'a', InputFormat::kAccess}, {'z', InputFormat::kZeek}, {'w', InputFormat::kW3c},
      {'s', InputFormat::kSse},    {'j', InputFormat::kJson}};
  if (size < 2) return 0;
  const auto* const chosen =
      std::ranges::find(kFormats, static_cast<char>(data[0]), &std::pair<char, InputFormat>::first);
  if (chosen == std::end(kFormats)) return 0;
  const InputFormat format = chosen->second;
  const std::string text(TextOf(data + 2, size - 2));
  const Converted whole = Convert(format, text, 0);
  const Converted cut = Convert(format, text, 1 + data[1] % 64);
  FUZZ_EXPECT_SAME(whole.text, cut.text, text);
  FUZZ_EXPECT_SAME(whole.error, cut.error, text);
  FUZZ_EXPECT(whole.from == cut.from, text);
  ExpectLines(format, text, whole);
  if (format == InputFormat::kCsv || format == InputFormat::kTsv)
    ExpectPlainRecords(format, text, whole);
  if (format == InputFormat::kJson) ExpectPlainValues(text, whole);
  return 0;
}
