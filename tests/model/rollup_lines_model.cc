// See the header. AddLine() is what happens to one line, Judge() what to one event.
#include "tests/model/rollup_lines_model.h"

#include <algorithm>
#include <cmath>

#include "tests/model/plain_condition.h"
#include "tests/support/plain_time.h"

namespace pleat::inline v0_1 {
namespace {

using Kind = PlainJson::Kind;

constexpr int kAgesRemembered = 10;  // an id is remembered for so many times the allowed lateness
constexpr size_t kLongestId = 64 * 1024;

Duration HorizonOf(Duration allowed_lateness) {
  return allowed_lateness > kForever / kAgesRemembered ? kForever
                                                       : allowed_lateness * kAgesRemembered;
}

// Equal for equal numbers: integers by value, beyond 64 bits by their sign, others by the nearest double.
std::string ContentOf(const std::string& number) {
  if (number.empty()) return ContentOf("0");
  if (!IsPlainInteger(number)) {
    const double real = ReadPlainDouble(number);
    if (real >= 0x1p63) return "above";
    if (real < -0x1p63) return "below";
    if (real == std::floor(real)) return "integer " + std::to_string(static_cast<int64_t>(real));
    return "real " + WritePlainDouble(real);
  }
  const std::optional<int64_t> value = ReadPlainInteger(number);
  if (value) return "integer " + std::to_string(*value);
  return number.starts_with('-') ? "below" : "above";
}

// By the calendar in UTC: a day begins at midnight, a week on Monday, and 1970 began on a Thursday.
constexpr int64_t kDay = int64_t{86'400} * 1'000'000;

int64_t FloorOf(int64_t number, int64_t by) { return number / by - (number % by < 0 ? 1 : 0); }

std::string WriteEdge(EngineTime at) {
  return at == Clamp(at) ? '"' + WritePlainTimestamp(at) + '"' : "null";
}

}  // namespace

bool RollupLinesModel::AddLine(std::string_view line, std::string& out) {
  if (line.find_first_not_of(" \t\r\n") == std::string_view::npos) return true;
  ++counts_["lines"];
  const std::optional<PlainJson> json = ParseLoosePlainJson(line);
  std::vector<PlainPath> paths = {options_.time, options_.id, options_.value};
  for (const PlainField& field : options_.key) paths.push_back(field.path);
  const bool object = json && json->kind == Kind::kObject && line.size() <= (1 << 20) &&
                      !NameTwiceSpoils(*json, paths, /*whole=*/false);
  std::optional<Event> event = object ? ReadEvent(*json) : std::nullopt;
  if (no_unit_) return false;
  const auto is_future = [&](EngineTime at) {
    return reorder_ ? reorder_->IsTooFarAhead(at) : now_ && at - *now_ > options_.future_limit;
  };
  if (!event || is_future(event->at)) {
    ++counts_["invalid"];
    return true;
  }
  ++counts_["events"];
  if (!reorder_) {
    Take(*event, out);
  } else {
    TakeInTurn(reorder_->Arrive(event->at, *event), out);
  }
  return true;
}

void RollupLinesModel::EndLines(std::string& out) {
  if (reorder_) TakeInTurn(reorder_->End(), out);
}

void RollupLinesModel::TakeInTurn(std::vector<Event> events, std::string& out) {
  for (Event& event : events) Take(std::move(event), out);
  MoveTo(reorder_->watermark(), out);
}

void RollupLinesModel::MoveTo(EngineTime now, std::string& out) {
  now_ = now_ ? std::max(*now_, now) : now;
  CloseDue(out);
}

void RollupLinesModel::Take(Event event, std::string& out) {
  MoveTo(event.at, out);
  ++position_;
  const std::string outcome = Judge(event, out);
  ++counts_[outcome];
  const bool taken = outcome == "added" || outcome == "clamped" || outcome == "corrected";
  if (taken && event.mismatched) ++counts_["mismatched"];
}

std::optional<RollupLinesModel::Event> RollupLinesModel::ReadEvent(const PlainJson& json) {
  const std::optional<std::string> key = ReadPlainFields(json, options_.key);
  if (!key) return std::nullopt;
  const std::optional<EngineTime> at =
      ReadPlainTime(json, options_.time, options_.time_unit, no_unit_);
  if (!at) return std::nullopt;
  Event event{.key = *key, .id = "", .at = *at, .value = "", .content = ""};
  if (!options_.id.empty()) {
    const PlainJson* id = FindPlain(json, options_.id);
    if (id == nullptr ? !options_.id.optional : !IsPlainScalar(*id)) return std::nullopt;
    if (id != nullptr && id->kind != Kind::kNull) event.id = WritePlainValue(*id);
    if (event.id.size() > kLongestId) return std::nullopt;
  }
  const PlainJson* value = options_.value.empty() ? nullptr : FindPlain(json, options_.value);
  if (value != nullptr && IsPlainNumber(*value)) event.value = value->text;
  event.mismatched = value != nullptr && !IsPlainNumber(*value) && value->kind != Kind::kNull;
  event.content = ContentOf(event.value);
  return event;
}

// ---

// A window is final once its end is the allowed lateness and the margin before now.
void RollupLinesModel::CloseDue(std::string& out) {
  const EngineTime frontier = Before(options_.allowed_lateness, options_.margin);
  while (!open_.empty() && std::get<EngineTime>(open_.begin()->first) <= frontier) {
    const auto [place, window] = *open_.begin();
    open_.erase(open_.begin());
    const auto& [end, length, first, key] = place;
    places_.erase({key, length, window.start});
    if (length == 0) AddToLonger(place, window, open_);
    ++counts_["final"];
    if (length == 0 && options_.on_late == "correct") {
      emitted_[{key, length, window.start}] = "\"0-" + std::to_string(emissions_) + '"';
    }
    Emit(place, window, "final", out);
  }
  if (options_.max_keys == SIZE_MAX) return;
  const EngineTime kept_from = SaturatingSub(frontier, KeptFor());
  std::erase_if(keys_, [&](const auto& key) { return key.second <= kept_from; });
}

// Returns the column of the ledger.
std::string RollupLinesModel::Judge(Event& event, std::string& out) {
  const EngineTime remembered_from = Before(HorizonOf(options_.allowed_lateness));
  const auto known = ids_.find({event.key, event.id});
  if (!event.id.empty() && known != ids_.end() && known->second.stamp >= remembered_from) {
    return known->second.content == event.content ? "duplicate" : "conflict";
  }
  std::string outcome = "added";
  if (event.at < Before(options_.allowed_lateness)) outcome = JudgeLate(event, out);
  if (outcome == "late" || outcome == "over_limit") return outcome;
  if (outcome != "corrected") {
    if (!HasRoom(event.key)) return "over_limit";
    Add(event);
  }
  if (!event.id.empty()) ids_[{event.key, event.id}] = {event.at, event.content};
  return outcome;
}

std::string RollupLinesModel::JudgeLate(Event& event, std::string& out) {
  const bool unknown = !event.id.empty() && event.at < Before(HorizonOf(options_.allowed_lateness));
  if (unknown || options_.on_late == "reject") return "late";
  if (options_.on_late == "correct") {
    if (!HasRoom(event.key)) return "over_limit";
    return Correct(event, out), "corrected";
  }
  event.at = Before(options_.allowed_lateness);
  return "clamped";
}

bool RollupLinesModel::HasRoom(const std::string& key) const {
  return keys_.contains(key) || keys_.size() < options_.max_keys;
}

// Windows that may be corrected are kept, and with them their keys.
Duration RollupLinesModel::KeptFor() const {
  return options_.on_late == "correct" ? HorizonOf(options_.allowed_lateness) : Duration{0};
}

void RollupLinesModel::Add(const Event& event) {
  for (size_t length = 0; length < options_.windows.size(); ++length) {
    const EngineTime start = StartOf(event.at, length);
    const Place place{EndOf(start, length), length, position_, event.key};
    const auto [name, opened] = places_.try_emplace({event.key, length, start}, place);
    if (opened) {
      open_[place] = {.start = start};
      EngineTime& last_end = keys_.try_emplace(event.key, kBeginningOfTime).first->second;
      last_end = std::max(last_end, std::get<EngineTime>(place));
      ++counts_["windows"];
    }
    Window& window = open_.at(name->second);
    ++window.count;
    if (length == 0 && !event.value.empty()) window.sum.Add(event.value);
  }
}

void RollupLinesModel::AddToLonger(const Place& place, const Window& shortest,
                                   std::map<Place, Window>& to) const {
  const std::string& key = std::get<std::string>(place);
  for (size_t length = 1; length < options_.windows.size(); ++length) {
    const Name name{key, length, StartOf(shortest.start, length)};
    to.at(places_.at(name)).sum.Add(shortest.sum);
  }
}

void RollupLinesModel::Correct(const Event& event, std::string& out) {
  Window window{.start = StartOf(event.at, 0), .count = 1};
  if (!event.value.empty()) window.sum.Add(event.value);
  const EngineTime end = EndOf(window.start, 0);
  const auto emitted = emitted_.find({event.key, 0, window.start});
  const EngineTime frontier = Before(options_.allowed_lateness, options_.margin);
  const bool kept = emitted != emitted_.end() && end > SaturatingSub(frontier, KeptFor());
  std::string line = Line(event.key, window, end, "correction");
  line += ",\"corrects\":" + (kept ? emitted->second : "null");
  if (!options_.value.empty() && window.sum.Total().saturated) line += ",\"saturated\":true";
  out += line + TakeId() + "}\n";
}

// ---

// So much before now.
EngineTime RollupLinesModel::Before(Duration first, Duration second) const {
  return SaturatingSub(SaturatingSub(*now_, first), second);
}

EngineTime RollupLinesModel::StartOf(EngineTime at, size_t length) const {
  const int64_t size = options_.windows[length].count();
  if (size < kDay && kDay % size != 0) {
    const int64_t day = FloorOf(at.time_since_epoch().count(), kDay) * kDay;
    const int64_t into = at.time_since_epoch().count() - day;
    return EngineTime(Duration{day + into / size * size});
  }
  if (size % (7 * kDay) == 0) {
    const int64_t since_monday = at.time_since_epoch().count() - 4 * kDay;
    return EngineTime(Duration{FloorOf(since_monday, size) * size + 4 * kDay});
  }
  const int64_t since = at.time_since_epoch().count();
  int64_t number = since / size;
  if (since % size < 0) --number;
  return EngineTime(Duration{number * size});
}

EngineTime RollupLinesModel::EndOf(EngineTime start, size_t length) const {
  const Duration size = options_.windows[length];
  if (size.count() < kDay && kDay % size.count() != 0) {
    const int64_t day = FloorOf(start.time_since_epoch().count(), kDay) * kDay;
    const EngineTime end = std::min(start + size, EngineTime(Duration{day + kDay}));
    return end > kEndOfTime ? kNever : end;
  }
  return size >= kNever - start ? kNever : start + size;
}

std::string RollupLinesModel::Line(const std::string& key, const Window& window, EngineTime end,
                                   const std::string& reason) const {
  std::string line =
      PlainObject(key + ",\"start\":" + WriteEdge(window.start) + ",\"end\":" + WriteEdge(end) +
                  ",\"count\":" + std::to_string(window.count) +
                  (options_.value.empty() ? "" : ",\"sum\":" + window.sum.Text()) +
                  ",\"reason\":\"" + reason + '"');
  line.pop_back();  // the brace: more members may follow
  return line;
}

void RollupLinesModel::Emit(const Place& place, const Window& window, const std::string& reason,
                            std::string& out) {
  const auto& [end, length, first, key] = place;
  const bool saturated = !options_.value.empty() && window.sum.Total().saturated;
  out +=
      Line(key, window, end, reason) + (saturated ? ",\"saturated\":true" : "") + TakeId() + "}\n";
}

std::string RollupLinesModel::TakeId() {
  const std::string id = ",\"id\":\"0-" + std::to_string(emissions_++) + '"';
  return options_.emission_id ? id : "";
}

std::map<RollupLinesModel::Place, RollupLinesModel::Window> RollupLinesModel::OpenSoFar() const {
  std::map<Place, Window> open = open_;
  for (const auto& [place, window] : open_) {
    if (std::get<1>(place) == 0) AddToLonger(place, window, open);
  }
  return open;
}

std::string RollupLinesModel::Open() const {
  std::string out;
  for (const auto& [place, window] : OpenSoFar()) {
    const auto& [end, length, first, key] = place;
    const bool saturated = !options_.value.empty() && window.sum.Total().saturated;
    out += Line(key, window, end, "open") + (saturated ? ",\"saturated\":true" : "") + "}\n";
  }
  return out;
}

void RollupLinesModel::End(std::string& out) {
  EndLines(out);
  if (options_.drop_at_end) {
    counts_["open"] = open_.size();
    return;
  }
  counts_["ended"] = open_.size();
  for (const auto& [place, window] : OpenSoFar()) Emit(place, window, "end", out);
}

std::string RollupLinesModel::Stats() const {
  std::string out;
  for (const char* name :
       {"lines", "events", "invalid", "added", "late", "duplicate", "conflict", "clamped",
        "corrected", "over_limit", "mismatched", "windows", "final", "ended", "open"}) {
    out +=
        (out.empty() ? "{\"" : ",\"") + std::string(name) + "\":" + std::to_string(counts_[name]);
  }
  if (reorder_) out += ",\"released_early\":0";
  return out + "}\n";
}

}  // namespace pleat::inline v0_1
