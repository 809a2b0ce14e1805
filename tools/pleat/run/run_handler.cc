#include "tools/pleat/run/run_handler.h"

#include <algorithm>

#include "tools/pleat/json_text.h"
#include "tools/pleat/unit_advice.h"

namespace pleat::cli {
namespace {

// The outcome of a line in one of the collections.
bool IsLate(const LineResult& result) {
  return result.fold == FoldOutcome::kLate || result.add == AddOutcome::kLate ||
         result.add == AddOutcome::kLateUnknown || result.live_set == LiveSetOutcome::kLate;
}
bool IsOverLimit(const LineResult& result) {
  return result.fold == FoldOutcome::kOverLimit || result.add == AddOutcome::kOverLimit ||
         result.live_set == LiveSetOutcome::kOverLimit || result.live_set == LiveSetOutcome::kFull;
}

// Of a line that goes into a topic, whose records have at most 1 MB by default: JSON makes six bytes of some.
std::string_view Beginning(std::string_view text) {
  size_t size = std::min(text.size(), size_t{128} << 10);
  while (size > 0 && size < text.size() && (text[size] & 0xc0) == 0x80) --size;
  return text.substr(0, size);
}

}  // namespace

void RunHandler::Begin(std::span<const LogRecord> records) {
  records_ = records;
  counts_.records += records.size();
  for (const LogRecord& each : records) counts_.bytes += each.payload.size();
}

void RunHandler::End() {
  records_ = {};
  if (has_looked_at_stamps_) return;
  // A wrong unit shows at the first events, and may be mended before there are many.
  const StampCounts seen = stamps();
  has_looked_at_stamps_ = seen.oldest <= seen.newest;
  if (!has_looked_at_stamps_ || !counts_.unit_advice.empty()) return;
  const TimeUnit unit = options_.collections.front().event().time_unit;
  counts_.unit_advice = AdviceOnUnit(unit, seen.oldest, seen.newest);
}

// Newlines between members are blanks, and inside of texts JSON has none.
void RunHandler::AppendLine(const LogRecord& record, std::string& to) {
  const size_t begin = to.size();
  to += record.payload;
  if (record.payload.find('\n') == record.payload.npos) return;
  std::replace(to.begin() + static_cast<ptrdiff_t>(begin), to.end(), '\n', ' ');
}

void RunHandler::NoteUnusual(const UnusualLine& line, std::string_view collection, Lane& lane) {
  const LineResult& result = line.result;
  switch (result.kind) {
    case LineResult::Kind::kInvalid:
    case LineResult::Kind::kNoUnit:
      if (counts_.invalid++ == 0) counts_.first_invalid = result.reason;
      if (options_.keeps_invalid()) {
        Tell(kInvalidMark, result.reason, collection, line, lane);
      }
      return;
    case LineResult::Kind::kEvent:
      if (IsOverLimit(result)) ++counts_.over_limit;
      if (!IsLate(result)) return;
      ++counts_.late;
      if (options_.keeps_late()) Tell(kLateMark, "late", collection, line, lane);
      return;
    default: return;
  }
}

// Null: not known. A line that has waited may come with its record or with a later one, as the
// records are cut into batches; an invalid one does not wait.
const LogRecord* RunHandler::RecordOf(const UnusualLine& line) const {
  const bool may_wait = line.result.kind == LineResult::Kind::kEvent &&
                        options_.collections.front().event().reorder > Duration{0};
  if (may_wait || line.index < 0 || records_.empty()) return nullptr;
  return &records_[static_cast<size_t>(line.index)];
}

void RunHandler::Tell(char mark, std::string_view reason, std::string_view collection,
                      const UnusualLine& line, Lane& lane) {
  std::string payload(1, mark);
  payload += "\"reason\":" + JsonText(reason) + ",\"collection\":" + JsonText(collection) +
             ",\"partition\":" + std::to_string(lane.partition());
  const LogRecord* const record = RecordOf(line);
  if (record != nullptr) payload += ",\"offset\":" + std::to_string(record->offset);
  const bool cut = !(mark == kInvalidMark ? options_.invalid_topic : options_.late_topic).empty();
  payload += ",\"payload\":" + JsonText(cut ? Beginning(line.text) : line.text) + "}";
  lane.Emit(record == nullptr ? std::string_view() : record->key, payload);
}

}  // namespace pleat::cli
