// See the header. AddLine() is what happens to one line, Judge() what to one event.
#include "tests/model/live_set_lines_model.h"

#include <algorithm>
#include <charconv>
#include <map>
#include <set>
#include <tuple>
#include <utility>

#include "tests/support/plain_time.h"

namespace pleat::inline v0_1 {
namespace {

using Kind = PlainJson::Kind;

EngineTime EndOf(EngineTime stamp, Duration ttl) {
  return ttl > kEndOfTime - stamp ? kNever : SaturatingAdd(stamp, ttl);
}

bool Holds(const PlainCondition& condition, const PlainJson& event) {
  return Holds(condition, [&](const std::string& path) {
    const PlainJson* value = FindPlain(event, ReadPlainPath(path));
    return value == nullptr ? PlainJson{} : *value;
  });
}

// The value that is there, or null.
const PlainJson* FindValue(const PlainJson& event, const PlainPath& path) {
  const PlainJson* value = path.empty() ? nullptr : FindPlain(event, path);
  return value == nullptr || value->kind == Kind::kNull ? nullptr : value;
}

std::string WriteTime(EngineTime at) {
  return at == kNever ? "null" : '"' + WritePlainTimestamp(at) + '"';
}

}  // namespace

bool LiveSetLinesModel::AddLine(std::string_view line, std::string& out) {
  ++given_;
  if (line.find_first_not_of(" \t\r\n") == std::string_view::npos) return true;
  ++counts_["lines"];
  const std::optional<PlainJson> json = ParseLoosePlainJson(line);
  std::vector<PlainPath> paths = {options_.time, options_.ttl_path, options_.version,
                                  options_.payload};
  for (const PlainField& field : options_.key) paths.push_back(field.path);
  for (const PlainField& field : options_.member) paths.push_back(field.path);
  AddPlainPaths(options_.remove_when, paths);
  const bool object = json && json->kind == Kind::kObject && line.size() <= (1 << 20) &&
                      !NameTwiceSpoils(*json, paths, /*whole=*/false);
  const bool removes = object && Holds(options_.remove_when, *json);
  const std::optional<Member> event = object ? ReadEvent(*json, removes) : std::nullopt;
  if (no_unit_) return false;
  if (!event || IsFuture(event->stamp)) {
    ++counts_["invalid"];
    return true;
  }
  ++counts_["events"];
  const Line usable{*event, removes, given_};
  if (!reorder_) {
    Take(usable, out);
  } else {
    TakeInTurn(reorder_->Arrive(event->stamp, usable), out);
  }
  return true;
}

void LiveSetLinesModel::End(std::string& out) {
  if (reorder_) TakeInTurn(reorder_->End(), out);
}

void LiveSetLinesModel::TakeInTurn(std::vector<Line> lines, std::string& out) {
  for (Line& line : lines) Take(std::move(line), out);
  const EngineTime now = reorder_->watermark();
  if (!now_ || now > *now_) MoveTo(now, given_, out);
}

void LiveSetLinesModel::Take(Line line, std::string& out) {
  const EngineTime at = line.event.stamp;
  MoveTo(now_ ? std::max(*now_, at) : at, line.number, out);
  line.event.position = ++position_;
  if (line.removes) {
    Remove(line.event, out);
  } else {
    ++counts_[Judge(line.event, out)];
  }
}

std::optional<LiveSetLinesModel::Member> LiveSetLinesModel::ReadEvent(const PlainJson& json,
                                                                      bool removes) {
  // Numbers that are equal are one, and shown as they came first.
  const auto read = [&](const std::vector<PlainField>& fields) -> std::optional<std::string> {
    const std::optional<std::string> identity = ReadPlainFields(json, fields, /*by_value=*/true);
    if (!identity) return std::nullopt;
    return first_seen_.try_emplace(*identity, *ReadPlainFields(json, fields)).first->second;
  };
  const std::optional<std::string> key = read(options_.key);
  const std::optional<std::string> id = read(options_.member);
  if (!key || !id) return std::nullopt;
  const std::optional<EngineTime> at =
      ReadPlainTime(json, options_.time, options_.time_unit, no_unit_);
  if (!at) return std::nullopt;
  Member event{.series = *key, .id = *id, .stamp = *at, .version = {}};
  if (removes) return event;
  if (const PlainJson* ttl = FindValue(json, options_.ttl_path)) {
    const std::optional<Duration> own =
        ttl->kind == Kind::kString ? ReadPlainDuration(ttl->text) : std::nullopt;
    if (!own || *own <= Duration{0}) return std::nullopt;
    event.own_ttl = *own;
  }
  if (const PlainJson* version = FindValue(json, options_.version)) {
    uint64_t number = 0;
    const char* const end = version->text.data() + version->text.size();
    const auto [stop, error] = std::from_chars(version->text.data(), end, number);
    const bool whole = error == std::errc() && stop == end;
    if (version->kind != Kind::kNumber || !whole) return std::nullopt;
    event.version = number;
  }
  if (const PlainJson* payload = FindValue(json, options_.payload)) {
    event.payload = WritePlainJson(*payload);
  }
  return event;
}

bool LiveSetLinesModel::IsFuture(EngineTime at) const {
  if (reorder_) return reorder_->IsTooFarAhead(at);
  return now_ && at - *now_ > options_.future_limit;
}

// ---

void LiveSetLinesModel::MoveTo(EngineTime now, size_t line, std::string& out) {
  if (options_.every > Duration{0} && now_) {
    const int64_t every = options_.every.count();
    const int64_t past = now_->time_since_epoch().count();
    int64_t multiple = past / every * every;
    while (multiple <= past) multiple += every;
    const EngineTime first(Duration{multiple});
    const EngineTime too_far = first + 1'000'000 * options_.every;
    const bool jumps = too_far <= now && AnyLivesAt(too_far);
    if (jumps) jumps_.push_back(line);
    for (EngineTime at = first; !jumps && at <= now && !members_.empty(); at += options_.every) {
      Expire(at, out);
      WriteCounts(at, out);
    }
  }
  Expire(now, out);
  now_ = now;
}

bool LiveSetLinesModel::AnyLivesAt(EngineTime at) const {
  return std::ranges::any_of(members_,
                             [&](const Member& member) { return DeadlineOf(member) > at; });
}

void LiveSetLinesModel::Expire(EngineTime now, std::string& out) {
  for (size_t next = Next(); next < members_.size(); next = Next()) {
    const EngineTime deadline = DeadlineOf(members_[next]);
    if (deadline > now) break;
    ++counts_["expired"];
    End(next, "expired", deadline, out);
  }
}

void LiveSetLinesModel::WriteCounts(EngineTime at, std::string& out) const {
  std::vector<std::string> series = Series();
  if (options_.top < SIZE_MAX) {
    std::map<std::string, size_t> places;
    for (const std::string& name : series) places.try_emplace(name, places.size());
    std::ranges::sort(series, [&](const std::string& a, const std::string& b) {
      return std::pair(CountOf(b), places[a]) < std::pair(CountOf(a), places[b]);
    });
  }
  if (series.size() > options_.top) series.resize(options_.top);
  for (const std::string& name : series) {
    std::string line =
        name + ",\"at\":" + WriteTime(at) + ",\"count\":" + std::to_string(CountOf(name));
    for (const auto& [text, length] : options_.within) {
      const bool first = text == options_.within.front().first;
      const auto is_within = [&, ttl = length](const Member& member) {
        return member.series == name && EndOf(member.stamp, ttl) > at;
      };
      line += (first ? ",\"within\":{\"" : ",\"") + text +
              "\":" + std::to_string(std::ranges::count_if(members_, is_within));
    }
    if (!options_.within.empty()) line += '}';
    out += PlainObject(line) + '\n';
  }
}

// ---

void LiveSetLinesModel::Remove(const Member& event, std::string& out) {
  ++counts_["control"];
  Duration longest = options_.ttl;
  if (const size_t live = Find(event.series, event.id); live < members_.size()) {
    longest = std::max(longest, members_[live].own_ttl);
    if (members_[live].stamp <= event.stamp) {
      ++counts_["removed"];
      End(live, "unpublished", *now_, out);
    }
  }
  // Of equal stamps the later line counts.
  const EngineTime stamp = SaturatingSub(event.stamp, Duration{1});
  Tombstone& tombstone = tombstones_[{event.series, event.id}];
  const bool forgotten = tombstone.until <= *now_;
  if (!forgotten && tombstone.stamp >= stamp) return;
  tombstone = {stamp, EndOf(stamp, longest)};
}

// Returns the column of the ledger.
std::string LiveSetLinesModel::Judge(const Member& event, std::string& out) {
  const Duration ttl = event.own_ttl > Duration{0} ? event.own_ttl : options_.ttl;
  if (EndOf(event.stamp, ttl) <= *now_) return "late";
  const auto tombstone = tombstones_.find({event.series, event.id});
  if (tombstone != tombstones_.end() && *now_ < tombstone->second.until &&
      event.stamp <= tombstone->second.stamp) {
    return "tombstoned";
  }
  const size_t live = Find(event.series, event.id);
  return live < members_.size() ? JudgeLive(live, event, out) : Add(event, out);
}

std::string LiveSetLinesModel::JudgeLive(size_t live, const Member& event, std::string& out) {
  Member& member = members_[live];
  const bool same = event.payload == member.payload && event.version == member.version;
  if (event.stamp == member.stamp) {
    if (same) return "duplicate";
    if (event.version && event.version == member.version) return "conflict";
    if (event.version < member.version) return "unchanged";
  }
  if (event.stamp < member.stamp || options_.refresh == "first") return "unchanged";
  Member renewed = event;
  if (event.own_ttl == Duration{0}) renewed.own_ttl = member.own_ttl;
  if (options_.refresh == "replace") {
    ++counts_["replaced"];
    End(live, "replaced", *now_, out);
    return Add(renewed, out);
  }
  member = renewed;
  if (!same || options_.refreshes) Write(member, same ? "refreshed" : "updated", *now_, out);
  ++counts_["changes"];
  return same ? "refreshed" : "updated";
}

std::string LiveSetLinesModel::Add(const Member& event, std::string& out) {
  if (!MakeRoom(event, out)) return "over_limit";
  if (CountOf(event.series) == 0) since_[event.series] = position_;
  members_.push_back(event);
  ++counts_["changes"];
  Write(event, "added", *now_, out);
  return "added";
}

bool LiveSetLinesModel::MakeRoom(const Member& event, std::string& out) {
  const bool new_series = CountOf(event.series) == 0;
  const auto drop = [&](const std::string& whole) {
    const size_t next = whole.empty() ? NextToDrop() : OldestOf(whole);
    ++counts_["dropped"];
    End(next, "dropped", *now_, out);
  };
  const auto may_drop = [&] {
    const size_t next = NextToDrop();
    return options_.drops && next < members_.size() &&
           DeadlineOf(members_[next]) <= DeadlineOf(event);
  };
  if (new_series && Series().size() >= options_.max_series) {
    if (!may_drop()) return false;
    const std::string whole = members_[NextToDrop()].series;
    while (CountOf(whole) > 0) drop(whole);
  }
  while (members_.size() >= options_.max_members) {
    if (!may_drop()) return false;
    drop("");
  }
  return true;
}

// The member of a series with the oldest stamp.
size_t LiveSetLinesModel::OldestOf(const std::string& series) const {
  size_t oldest = members_.size();
  const auto order = [&](size_t i) { return std::pair(members_[i].stamp, members_[i].position); };
  for (size_t i = 0; i < members_.size(); ++i) {
    if (members_[i].series != series) continue;
    if (oldest == members_.size() || order(i) < order(oldest)) oldest = i;
  }
  return oldest;
}

// The member that would expire next. Of those of a series that never do, the oldest one.
size_t LiveSetLinesModel::NextToDrop() const {
  size_t next = members_.size();
  const auto order = [&](size_t i) {
    return std::pair(DeadlineOf(members_[i]), members_[i].position);
  };
  const auto stands_behind = [&](const Member& a) {
    return std::ranges::any_of(members_, [&](const Member& b) {
      return a.series == b.series && a.own_ttl == Duration{0} && b.own_ttl == Duration{0} &&
             std::pair(b.stamp, b.position) < std::pair(a.stamp, a.position);
    });
  };
  for (size_t i = 0; i < members_.size(); ++i) {
    if (stands_behind(members_[i])) continue;
    if (next == members_.size() || order(i) < order(next)) next = i;
  }
  return next;
}

// ---

size_t LiveSetLinesModel::Find(const std::string& series, const std::string& id) const {
  const auto found = std::ranges::find_if(
      members_, [&](const Member& member) { return member.series == series && member.id == id; });
  return static_cast<size_t>(found - members_.begin());
}

size_t LiveSetLinesModel::Next() const {
  size_t next = members_.size();
  const auto order = [&](size_t i) {
    return std::tuple(DeadlineOf(members_[i]), members_[i].position);
  };
  for (size_t i = 0; i < members_.size(); ++i) {
    if (DeadlineOf(members_[i]) == kNever) continue;
    if (next == members_.size() || order(i) < order(next)) next = i;
  }
  return next;
}

EngineTime LiveSetLinesModel::DeadlineOf(const Member& member) const {
  return EndOf(member.stamp, member.own_ttl > Duration{0} ? member.own_ttl : options_.ttl);
}

size_t LiveSetLinesModel::CountOf(const std::string& series) const {
  return static_cast<size_t>(std::ranges::count(members_, series, &Member::series));
}

std::vector<std::string> LiveSetLinesModel::Series() const {
  std::set<std::string> names;
  for (const Member& member : members_) names.insert(member.series);
  std::vector<std::string> series(names.begin(), names.end());
  std::ranges::sort(series, {}, [&](const std::string& name) { return since_.at(name); });
  return series;
}

void LiveSetLinesModel::End(size_t member, const std::string& cause, EngineTime at,
                            std::string& out) {
  const Member ended = members_[member];
  members_.erase(members_.begin() + static_cast<std::ptrdiff_t>(member));
  ++counts_["changes"];
  Write(ended, cause, at, out);
}

void LiveSetLinesModel::Write(const Member& member, const std::string& cause, EngineTime at,
                              std::string& out) {
  if (options_.every > Duration{0}) return;
  const bool lives = cause == "added" || cause == "refreshed" || cause == "updated";
  out +=
      PlainObject(member.series + ',' + member.id + ",\"at\":" + WriteTime(at) + ",\"cause\":\"" +
                  cause + "\",\"count\":" + std::to_string(CountOf(member.series)) +
                  (lives ? Life(member) : "") + Payload(member)) +
      '\n';
}

std::string LiveSetLinesModel::Life(const Member& member) const {
  return ",\"stamp\":" + WriteTime(member.stamp) + ",\"until\":" + WriteTime(DeadlineOf(member));
}

std::string LiveSetLinesModel::Payload(const Member& member) const {
  if (options_.payload.empty()) return "";
  return ",\"payload\":" + (member.payload.empty() ? "null" : member.payload);
}

std::string LiveSetLinesModel::Open() const {
  std::string out;
  for (const std::string& series : Series()) {
    std::vector<Member> members;
    std::ranges::copy_if(members_, std::back_inserter(members),
                         [&](const Member& member) { return member.series == series; });
    std::ranges::sort(members, {}, [](const Member& member) {
      return std::tuple(member.stamp, member.position);
    });
    for (const Member& member : members) {
      out += PlainObject(member.series + ',' + member.id + Life(member) + Payload(member)) + '\n';
    }
  }
  return out;
}

std::string LiveSetLinesModel::Stats() const {
  counts_["live"] = members_.size();
  std::string out;
  for (const char* name :
       {"lines", "events", "invalid", "added", "refreshed", "updated", "unchanged", "duplicate",
        "conflict", "late", "tombstoned", "over_limit", "control", "expired", "removed", "replaced",
        "dropped", "live", "changes"}) {
    out +=
        (out.empty() ? "{\"" : ",\"") + std::string(name) + "\":" + std::to_string(counts_[name]);
  }
  if (reorder_) out += ",\"released_early\":0";
  return out + "}\n";
}

}  // namespace pleat::inline v0_1
