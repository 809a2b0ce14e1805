// See the header. AddLine() is what happens to one line, Write() what a group looks like.
#include "tests/model/ndjson_model.h"

#include <algorithm>
#include <charconv>
#include <map>
#include <memory>
#include <utility>

#include "tests/support/plain_time.h"

namespace pleat::inline v0_1 {
namespace {

using Kind = PlainJson::Kind;

void Join(std::string& list, const std::string& item) {
  if (!list.empty()) list += ',';
  list += item;
}

bool HoldsOfEvent(const PlainCondition& condition, const PlainJson& event) {
  return Holds(condition, [&](const std::string& path) {
    const PlainJson* value = FindPlain(event, ReadPlainPath(path));
    return value == nullptr ? PlainJson{} : *value;
  });
}

bool HoldsOfMerges(const NdjsonOptions& options, const PlainEvents& events) {
  return Holds(options.close_when, [&](const std::string& name) {
    for (const PlainMerge& merge : options.merges) {
      if (merge.name == name) return ParsePlainJson(Merged(merge, events).json).value();
    }
    return PlainJson{};
  });
}

// The names of the output, and the members at the top that some path goes through.
std::set<std::string> NamesThatAreNoRest(const NdjsonOptions& options) {
  std::set<std::string> out = {"_fold", "_raw"};
  const auto add_path = [&out](const PlainPath& path) {
    for (const PlainSteps& steps : path.ways) out.insert(steps.front());
  };
  for (const PlainField& field : options.key) {
    out.insert(field.name);
    add_path(field.path);
  }
  for (const PlainMerge& merge : options.merges) {
    out.insert(merge.name);
    add_path(merge.path);
  }
  add_path(options.time);
  add_path(options.id);
  if (options.raw_last > 0) out.insert("_raw_last");
  return out;
}

std::string WriteId(uint64_t generation) { return "\"0-" + std::to_string(generation) + '"'; }

std::string WriteDouble(double value) {
  char out[64];
  return {out, std::to_chars(out, out + sizeof out, value).ptr};
}

std::string WriteRatio(uint64_t part, uint64_t whole) {
  return WriteDouble(whole == 0 ? 0 : static_cast<double>(part) / static_cast<double>(whole));
}

// With a bound of disorder the future limit is judged before the engine.
EngineOptions EngineBehind(const NdjsonOptions& options) {
  EngineOptions engine = options.engine;
  if (options.reorder > Duration{0}) engine.future_limit = kForever;
  return engine;
}

// How many stamps come after a later one, and by how much at most.
std::pair<uint64_t, Duration> Disorder(const std::vector<EngineTime>& stamps) {
  std::pair<uint64_t, Duration> out = {0, Duration(0)};
  EngineTime latest = kBeginningOfTime;
  for (const EngineTime stamp : stamps) {
    latest = std::max(latest, stamp);
    if (stamp < latest) ++out.first;
    out.second = std::max(out.second, latest - stamp);
  }
  return out;
}

}  // namespace

NdjsonModel::NdjsonModel(const NdjsonOptions& options)
    : options_(options),
      folder_(EngineBehind(options), options.folder,
              [this](const PlainEvents& events) { return HoldsOfMerges(options_, events); }),
      no_rest_(NamesThatAreNoRest(options)) {
  if (options.reorder == Duration{0}) return;
  reorder_.emplace(options.reorder, options.engine.future_limit.value_or(kForever));
}

bool NdjsonModel::AddLine(std::string_view line, std::string& out) {
  if (line.find_first_not_of(" \t\r\n") == std::string_view::npos) return true;
  ++lines_;
  ++invalid_;  // until it turns out to be usable
  std::optional<PlainEvent> event = ReadEvent(line);
  if (is_excluded_) --invalid_, ++excluded_;
  if (!event) return !no_unit_;

  // An event that flushes or cancels needs no more than a key and a time.
  const bool cancels = HoldsOfEvent(options_.cancel_when, *event->json);
  const bool flushes = HoldsOfEvent(options_.flush_when, *event->json);
  if (!cancels && !flushes && !ReadMarks(*event)) return true;
  const EngineTime at = event->at;
  const Usable usable{*std::move(event), cancels, flushes};
  if (reorder_ ? reorder_->IsTooFarAhead(at) : !Take(usable)) return true;
  --invalid_;
  stamps_.push_back(at);
  if (reorder_) TakeInTurn(reorder_->Arrive(at, usable));
  for (const PlainEmission& emission : folder_.Take()) Write(emission, out);
  return true;
}

bool NdjsonModel::Take(const Usable& line) {
  const PlainEvent& event = line.event;
  const bool taken = line.cancels   ? folder_.Cancel(event.key, event.at)
                     : line.flushes ? folder_.Flush(event.key, event.at)
                                    : Fold(event);
  if (taken && (line.cancels || line.flushes)) ++control_;
  return taken;
}

void NdjsonModel::TakeInTurn(const std::vector<Usable>& lines) {
  for (const Usable& line : lines) Take(line);
  folder_.Advance(reorder_->watermark());
}

// Whether it lies within the future limit.
bool NdjsonModel::Fold(const PlainEvent& event) {
  const FoldOutcome outcome = folder_.Fold(event);
  if (outcome == FoldOutcome::kOpened || outcome == FoldOutcome::kFolded ||
      outcome == FoldOutcome::kCorrected) {
    for (auto merge = options_.merges.begin(); merge != options_.merges.end(); ++merge) {
      const bool counted = std::any_of(
          options_.merges.begin(), merge,
          [&](const PlainMerge& before) { return ArePercentilesOfOne(before, *merge); });
      if (!counted) mismatched_ += Mismatches(*merge, *event.json);
    }
  }
  return outcome != FoldOutcome::kFuture;
}

void NdjsonModel::End(std::string& out) {
  if (reorder_) TakeInTurn(reorder_->End());
  if (!options_.drop_at_end) folder_.CloseAll();
  for (const PlainEmission& emission : folder_.Take()) Write(emission, out);
  ledger_ = folder_.ledger();
}

bool NdjsonModel::selects() const {
  return !options_.where.op.empty() || options_.from != kBeginningOfTime || options_.to != kNever;
}

bool NdjsonModel::IsSpoiled(const PlainJson& event) const {
  std::vector<PlainPath> paths = {options_.time, options_.quiet, options_.close_at,
                                  options_.key_class, options_.id};
  for (const PlainField& field : options_.key) paths.push_back(field.path);
  bool whole = options_.raw > 0 || options_.raw_last > 0 || options_.rest != "drop";
  for (const PlainMerge& merge : options_.merges) {
    paths.push_back(merge.path);
    const bool by_path = merge.reducer != "count" && merge.reducer != "duration";
    whole = whole || (merge.path.empty() && by_path);
  }
  for (const PlainCondition* condition : {&options_.where, &options_.start_when, &options_.end_when,
                                          &options_.flush_when, &options_.cancel_when}) {
    AddPlainPaths(*condition, paths);
  }
  return NameTwiceSpoils(event, paths, whole);
}

std::optional<PlainEvent> NdjsonModel::ReadEvent(std::string_view line) {
  is_excluded_ = false;
  std::optional<PlainJson> object = ParseLoosePlainJson(line);
  if (line.size() > (1 << 20) || !object || object->kind != Kind::kObject) return std::nullopt;
  if (IsSpoiled(*object)) return std::nullopt;
  PlainEvent event{.json = std::make_shared<const PlainJson>(*std::move(object)),
                   .bytes = line.size()};

  is_excluded_ = !options_.where.op.empty() && !HoldsOfEvent(options_.where, *event.json);
  if (is_excluded_) return std::nullopt;
  const bool has_range = options_.from != kBeginningOfTime || options_.to != kNever;
  if (has_range) {
    const auto at = ReadPlainTime(*event.json, options_.time, options_.time_unit, no_unit_);
    is_excluded_ = at && !(options_.from <= *at && *at < options_.to);
    if (!at || is_excluded_) return std::nullopt;
  }

  // The members to write are also the key.
  const auto key = ReadPlainFields(*event.json, options_.key, /*by_value=*/true);
  if (!key) return std::nullopt;
  event.key = *key;
  event.shown = *ReadPlainFields(*event.json, options_.key);
  const auto at = ReadPlainTime(*event.json, options_.time, options_.time_unit, no_unit_);
  if (!at) return std::nullopt;
  event.at = *at;
  return event;
}

bool NdjsonModel::ReadMarks(PlainEvent& event) {
  const PlainJson& object = *event.json;
  if (!options_.quiet.empty()) {
    const PlainJson* quiet = FindPlain(object, options_.quiet);
    if (quiet != nullptr && quiet->kind != Kind::kNull) {
      if (quiet->kind != Kind::kString) return false;
      event.own_quiet = ReadPlainDuration(quiet->text);
      if (!event.own_quiet || *event.own_quiet <= Duration{0}) return false;
    }
  }
  if (!options_.key_class.empty()) {
    const PlainJson* key_class = FindPlain(object, options_.key_class);
    if (key_class != nullptr && !IsPlainScalar(*key_class)) return false;
    event.key_class = key_class == nullptr ? "null" : WritePlainValue(*key_class);
  }
  if (!options_.id.empty()) {
    const PlainJson* id = FindPlain(object, options_.id);
    if (id == nullptr ? !options_.id.optional : !IsPlainScalar(*id)) return false;
    if (id != nullptr && id->kind != Kind::kNull) event.id = WritePlainValue(*id);
    event.content = WritePlainValue(object);
  }
  if (!options_.close_at.empty()) {
    const PlainJson* close_at = FindPlain(object, options_.close_at);
    if (close_at != nullptr && close_at->kind != Kind::kNull) {
      event.close_at = ReadPlainTime(object, options_.close_at, options_.time_unit, no_unit_);
      if (!event.close_at) return false;
    }
  }
  event.starts = HoldsOfEvent(options_.start_when, object);
  event.ends = HoldsOfEvent(options_.end_when, object);
  return true;
}

void NdjsonModel::Write(const PlainEmission& emission, std::string& out) const {
  std::string saturated;
  std::string cut;
  std::string line = emission.events.front().shown;  // that of the event that came first
  const auto write_value = [&](const std::string& name, const PlainMerged& merged) {
    const std::string quoted = QuotePlainJson(name);
    line += ',' + quoted + ':' + merged.json;
    if (merged.saturated) Join(saturated, quoted);
    if (merged.cut) Join(cut, quoted);
  };
  const auto write = [&](const PlainMerge& merge) {
    write_value(merge.name, Merged(merge, emission.events));
  };
  for (const PlainMerge& merge : options_.merges) write(merge);
  if (options_.rest != "drop") {
    const PlainRest rest = RestOf(emission.events, options_.rest, no_rest_);
    for (const PlainMerge& merge : rest.merges) write(merge);
    if (rest.cut) Join(cut, "\"_rest\"");
  }
  if (options_.raw > 0) {
    write({.name = "_raw", .reducer = "array", .path = {}, .bound = options_.raw});
  }
  if (options_.raw_last > 0) {
    write_value("_raw_last", NewestOf(options_.raw_last, emission.events));
  }
  if (options_.meta) line += ",\"_fold\":{" + MetaOf(emission, saturated, cut) + '}';
  if (!options_.meta && !saturated.empty())
    line += ",\"_fold\":{\"saturated\":[" + saturated + "]}";
  out += PlainObject(line) + '\n';
}

std::string NdjsonModel::MetaOf(const PlainEmission& emission, const std::string& saturated,
                                const std::string& cut) const {
  const FolderOptions& folder = options_.folder;
  std::string out;
  out += "\"count\":" + std::to_string(emission.events.size());
  out += ",\"first\":\"" + WritePlainTimestamp(emission.first);
  out += "\",\"last\":\"" + WritePlainTimestamp(emission.last);
  out += "\",\"closed\":\"" + WritePlainTimestamp(emission.closed);
  out += "\",\"reason\":\"" + std::string(ReasonName(emission.reason)) + '"';
  if (folder.edge != Edge::kTrailing || folder.partial_every != kForever) {
    out += std::string(",\"partial\":") + (emission.partial ? "true" : "false");
    out += ",\"revision\":" + std::to_string(emission.revision);
  }
  if (emission.reason == Reason::kCorrection) {
    out += ",\"corrects\":" + (emission.corrects ? WriteId(*emission.corrects) : "null");
  }
  if (options_.emission_id) out += ",\"id\":" + WriteId(emission.generation);
  if (!saturated.empty()) out += ",\"saturated\":[" + saturated + ']';
  if (!cut.empty()) out += ",\"cut\":[" + cut + ']';
  return out;
}

std::string NdjsonModel::Stats() const {
  const uint64_t events = lines_ - invalid_ - excluded_;
  std::string out;
  const auto add = [&out](const std::string& name, const std::string& value) {
    Join(out, '"' + name + "\":" + value);
  };
  const auto count = [&add](const std::string& name, uint64_t n) { add(name, std::to_string(n)); };
  count("lines", lines_);
  count("events", events);
  count("invalid", invalid_);
  count("late", ledger_.late);
  count("over_limit", ledger_.over_limit);
  count("opened", ledger_.opened);
  count("folded", ledger_.folded);
  count("emissions", ledger_.popped);
  count("open", ledger_.open);
  count("mismatched", mismatched_);
  add("folding_ratio", WriteRatio(ledger_.folded, events));
  count("duplicate", ledger_.duplicate);
  count("conflict", ledger_.conflict);
  count("corrected", ledger_.corrected);
  count("control", control_);
  count("cancelled", ledger_.cancelled);
  count("silent", ledger_.silent);
  count("partial", ledger_.partial);
  count("late_folded", ledger_.late_folded);
  const auto [out_of_order, behind] = Disorder(stamps_);
  count("out_of_order", out_of_order);
  add("most_behind_s", WriteDouble(static_cast<double>(behind.count()) / 1e6));
  const auto stamp = [&](const std::string& name, auto chosen) {
    const bool any = chosen != stamps_.end();
    add(name, any ? '"' + WritePlainTimestamp(*chosen) + '"' : "null");
  };
  stamp("first_stamp", std::ranges::min_element(stamps_));
  stamp("last_stamp", std::ranges::max_element(stamps_));
  if (reorder_) count("released_early", 0);
  if (selects()) count("excluded", excluded_);
  return '{' + out + "}\n";
}

}  // namespace pleat::inline v0_1
