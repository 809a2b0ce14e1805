// See the header, and docs/semantics-rollups.md. Read Judge() first: it is the order of all decisions
// about one event.
#include "tests/model/rollup_model.h"

#include <algorithm>
#include <chrono>
#include <utility>

#include <pleat/batch.h>

namespace pleat::inline v0_1 {
namespace {

FolderOptions DeliveryOptions(const RollupOptions& options) {
  FolderOptions out;
  out.limits.max_backlog = options.limits.max_backlog;
  out.leases = options.leases;
  return out;
}

Duration HorizonOf(const RollupOptions& options) {
  if (options.deduplication_window != Duration{0}) return options.deduplication_window;
  return options.allowed_lateness > kForever / 10 ? kForever : 10 * options.allowed_lateness;
}

// For which final windows are kept.
Duration RetentionOf(const RollupOptions& options) {
  return options.on_late == OnLateAdd::kCorrect ? std::max(options.retention, HorizonOf(options))
                                                : options.retention;
}

// The largest multiple of `length` up to `at`, counted from 1970.
EngineTime StartOf(EngineTime at, Duration length) {
  const Duration past = at.time_since_epoch() % length;
  return at - (past < Duration{0} ? past + length : past);
}

}  // namespace

RollupModel::RollupModel(const EngineOptions& engine, const RollupOptions& options,
                         int (*home_of)(std::string_view, int))
    : clock_(engine),
      engine_(engine),
      home_of_(home_of),
      options_(options),
      horizon_(HorizonOf(options)),
      retention_(RetentionOf(options)),
      forget_after_(std::max(options.forget_after, retention_)),
      delivery_(DeliveryOptions(options), engine.partitions) {}

// Instants.

EngineTime RollupModel::Frontier() const {
  return SaturatingSub(SaturatingSub(now(), options_.allowed_lateness), options_.margin);
}

EngineTime RollupModel::RipeOf(EngineTime end) const {
  return DeadlineAfter(DeadlineAfter(end, options_.allowed_lateness), options_.margin);
}

EngineTime RollupModel::EarliestAccepted() const {
  return std::max(SaturatingSub(now(), options_.allowed_lateness), floor_);
}

EngineTime RollupModel::AsOf() const {
  return std::max(kBeginningOfTime, NameOf(0, Frontier()).start);
}

RollupModel::WindowName RollupModel::NameOf(size_t resolution, EngineTime at) const {
  const Duration length = options_.windows[resolution];
  if (options_.calendar) return {resolution, options_.calendar(at, length).first};
  return {resolution, StartOf(at, length)};
}

EngineTime RollupModel::EndOf(const WindowName& name) const {
  const Duration length = options_.windows[name.resolution];
  if (options_.calendar) {
    const EngineTime end = options_.calendar(name.start, length).second;
    return end > kEndOfTime ? kNever : end;
  }
  return name.start > kEndOfTime - length ? kNever : name.start + length;
}

bool RollupModel::IsKept(const WindowName& name) const {
  return EndOf(name) > gone_up_to_ && Frontier() < DeadlineAfter(EndOf(name), retention_);
}

bool RollupModel::IsToBeForgotten(const std::string& key, const Counter& counter) const {
  if (held_.contains(key) || forget_after_ == kForever) return false;
  EngineTime newest = kBeginningOfTime;
  for (const auto& [name, window] : counter.windows) newest = std::max(newest, EndOf(name));
  return counter.windows.empty() || Frontier() >= DeadlineAfter(newest, forget_after_);
}

// Time.

void RollupModel::MoveTime(EngineTime to) {
  clock_.Advance(to);
  for (const Closing& next : OpenWindows()) {
    if (RipeOf(next.end) > now()) continue;
    Counter& counter = counters_.at(next.key);
    Window& window = counter.windows.at(next.name);
    window.stage = Stage::kFinal;
    ++ledger_.made_final;
    window.id = HandOut(next.key, Shown(counter, next.name), Reason::kFinal, RipeOf(next.end));
  }
  Forget();
}

// What is gone stays gone.
void RollupModel::SetOptions(const RollupOptions& options) {
  MoveTime(now());
  gone_up_to_ = std::max(gone_up_to_, SaturatingSub(Frontier(), retention_));
  options_ = options;
  retention_ = RetentionOf(options);
  forget_after_ = std::max(options.forget_after, retention_);
  Forget();
}

void RollupModel::Forget() {
  std::erase_if(ids_, [&](const auto& id) { return id.second.stamp < Horizon(); });
  ledger_.forgotten += std::erase_if(counters_, [&](const auto& counter) {
    return IsToBeForgotten(counter.first, counter.second);
  });
}

std::vector<RollupModel::Closing> RollupModel::OpenWindows() const {
  std::vector<Closing> out;
  for (const auto& [key, counter] : counters_) {
    for (const auto& [name, window] : counter.windows) {
      if (window.stage != Stage::kOpen) continue;
      out.push_back({EndOf(name), name.resolution, window.opened, key, name});
    }
  }
  std::sort(out.begin(), out.end());
  return out;
}

std::optional<EngineTime> RollupModel::FirstDue() const {
  const std::vector<Closing> open = OpenWindows();
  if (open.empty() || RipeOf(open.front().end) == kNever) return std::nullopt;
  return RipeOf(open.front().end);
}

void RollupModel::CloseAll() {
  MoveTime(now());
  for (const Closing& next : OpenWindows()) {
    Counter& counter = counters_.at(next.key);
    Window& window = counter.windows.at(next.name);
    window.stage = Stage::kEnded;
    ++ledger_.ended;
    floor_ = std::max(floor_, next.end);
    window.id = HandOut(next.key, Shown(counter, next.name), Reason::kEnd, now());
  }
}

// Events.

AddOutcome RollupModel::Add(std::string_view key, Delta delta, EngineTime at, std::string_view id) {
  return Answer({.key = std::string(key), .id = std::string(id), .entry = {at, delta}});
}

AddedCount RollupModel::AddAndGet(std::string_view key, Delta delta, EngineTime at,
                                  std::string_view id) {
  const AddOutcome outcome = Add(key, delta, at, id);
  return {outcome, Accurate(key)};
}

AddOutcome RollupModel::Clear(std::string_view key, EngineTime at, std::string_view id) {
  return Answer({.key = std::string(key),
                 .id = std::string(id),
                 .entry = {.at = at, .delta = 0, .is_clear = true}});
}

AddOutcome RollupModel::PassBy(std::string_view key, EngineTime at, std::string_view id) {
  at = Clamp(at);
  const bool usable = !stopped_ && !IsTooLong(key) && !IsTooLong(id) && !clock_.IsFuture(at);
  if (usable && clock_.After(at) > now()) MoveTime(clock_.After(at));
  return AddOutcome::kElsewhere;
}

AddOutcome RollupModel::Answer(Offer offer) {
  if (stopped_) return AddOutcome::kStopped;
  offer.entry.at = Clamp(offer.entry.at);
  offer.entry.position = ++positions_;
  const AddOutcome outcome = Judge(offer);
  ++ledger_.events;
  switch (outcome) {
    case AddOutcome::kAdded: ++ledger_.added; break;
    case AddOutcome::kDuplicate: ++ledger_.duplicate; break;
    case AddOutcome::kConflict: ++ledger_.conflict; break;
    case AddOutcome::kLateUnknown: ++ledger_.late_unknown; [[fallthrough]];
    case AddOutcome::kLate: ++ledger_.late; break;
    case AddOutcome::kClamped: ++ledger_.clamped; break;
    case AddOutcome::kCorrected: ++ledger_.corrected; break;
    case AddOutcome::kFuture: ++ledger_.future; break;
    default: ++ledger_.over_limit;
  }
  return outcome;
}

AddOutcome RollupModel::Judge(Offer& offer) {
  Entry& event = offer.entry;
  // 1
  if (IsTooLong(offer.key) || IsTooLong(offer.id)) return AddOutcome::kOverLimit;
  if (clock_.IsFuture(event.at)) return AddOutcome::kFuture;
  // The backlog counts what has closed before this event; what the event brings due comes on top.
  const bool backlog_was_full = delivery_.BacklogIsFull(HomeOf(offer.key));
  MoveTime(clock_.After(event.at));
  // 2
  const auto known = ids_.find({offer.key, offer.id});
  if (!offer.id.empty() && known != ids_.end()) {
    const Entry& before = known->second.entry;
    const bool same = before.is_clear == event.is_clear && SameDelta(before.delta, event.delta);
    return same ? AddOutcome::kDuplicate : AddOutcome::kConflict;
  }
  // 3
  if (event.at >= EarliestAccepted()) {
    return Count(offer, backlog_was_full, AddOutcome::kAdded);
  }
  const bool rejects = options_.on_late == OnLateAdd::kReject || event.is_clear;
  if (event.at < Horizon() && (rejects || !offer.id.empty())) return AddOutcome::kLateUnknown;
  if (rejects) return AddOutcome::kLate;
  if (options_.on_late == OnLateAdd::kCorrect) return Correct(offer);
  // CloseAll() may have closed the last window there is.
  if (EarliestAccepted() > kEndOfTime) {
    return event.at < Horizon() ? AddOutcome::kLateUnknown : AddOutcome::kLate;
  }
  event.at = EarliestAccepted();
  return Count(offer, backlog_was_full, AddOutcome::kClamped);
}

// 4, 5
AddOutcome RollupModel::Count(const Offer& offer, bool backlog_was_full, AddOutcome outcome) {
  const Entry& event = offer.entry;
  const bool is_new = !counters_.contains(offer.key);
  if (is_new && counters_.size() >= options_.limits.max_keys) return AddOutcome::kOverLimit;
  bool opens = is_new;
  for (size_t r = 0; r < options_.windows.size() && !opens; ++r) {
    opens = !counters_.at(offer.key).windows.contains(NameOf(r, event.at));
  }
  if (opens && backlog_was_full) return AddOutcome::kOverLimit;

  Counter& counter = counters_[offer.key];
  ledger_.keys_opened += is_new;
  for (size_t r = 0; r < options_.windows.size(); ++r) {
    const bool opened =
        counter.windows.try_emplace(NameOf(r, event.at), Window{.opened = event.position}).second;
    ledger_.windows += opened;
  }
  const int64_t before = SumOf(counter, NameOf(0, event.at)).whole();
  counter.entries.push_back(event);
  const int64_t after = SumOf(counter, NameOf(0, event.at)).whole();
  ledger_.delta_added += static_cast<uint64_t>(after) - static_cast<uint64_t>(before);
  ledger_.clears += event.is_clear;
  Remember(offer);
  return outcome;
}

AddOutcome RollupModel::Correct(const Offer& offer) {
  const WindowName name = NameOf(0, offer.entry.at);
  std::optional<EmissionId> corrects;
  if (const auto counter = counters_.find(offer.key); counter != counters_.end()) {
    const auto window = counter->second.windows.find(name);
    const bool is_there = window != counter->second.windows.end() &&
                          window->second.stage != Stage::kOpen && (!IsPassed(name) || IsKept(name));
    if (is_there) corrects = window->second.id;
  }
  const bool is_new = !counters_.contains(offer.key);
  const bool has_room = !is_new || counters_.size() < options_.limits.max_keys;
  if (!has_room || delivery_.BacklogIsFull(HomeOf(offer.key))) return AddOutcome::kOverLimit;
  PlainSum sum;
  sum.Add(offer.entry.delta);
  HandOut(offer.key, {name.start, EndOf(name), sum.amount()}, Reason::kCorrection, now(), corrects);
  Remember(offer);
  return AddOutcome::kCorrected;
}

void RollupModel::Remember(const Offer& offer) {
  if (offer.id.empty() || offer.entry.at < Horizon()) return;
  ids_[{offer.key, offer.id}] = {offer.entry.at, offer.entry};
}

int RollupModel::HomeOf(std::string_view key) const { return home_of_(key, engine_.partitions); }

EmissionId RollupModel::HandOut(const std::string& key, const CountedWindow& state, Reason reason,
                                EngineTime closed, std::optional<EmissionId> corrects) {
  const int home = HomeOf(key);
  const EmissionId id{.partition = static_cast<uint32_t>(home), .generation = generations_[home]++};
  ModelGroup emission;
  emission.key = key;
  emission.first = state.start;
  emission.last = state.end;
  emission.revision = 1;
  emission.closed = closed;
  emission.reason = reason;
  emission.id = id;
  emission.corrects = corrects;
  states_[{id.partition, id.generation}] = state;
  delivery_.Add(std::move(emission));
  return id;
}

// Reads.

// A window of the finest resolution is a sum of events in the order in which they came; a larger
// one is a sum of those windows, in their order.
PlainSum RollupModel::SumOf(const Counter& counter, const WindowName& name) const {
  std::map<EngineTime, PlainSum> finest;
  for (const Entry& entry : counter.entries) {
    if (entry.is_clear || NameOf(name.resolution, entry.at) != name) continue;
    finest[NameOf(0, entry.at).start].Add(entry.delta);
  }
  PlainSum sum;
  for (const auto& [start, part] : finest) sum.Add(part);
  return sum;
}

CountedWindow RollupModel::Shown(const Counter& counter, const WindowName& name) const {
  return {name.start, EndOf(name), SumOf(counter, name).amount()};
}

// Window by window, of the events with stamps before `before` those behind the newest clear.
Amount RollupModel::ValueOf(const Counter& counter, EngineTime before) const {
  using Place = std::pair<EngineTime, uint64_t>;
  Place newest_clear{EngineTime::min(), 0};
  for (const Entry& entry : counter.entries) {
    const Place place{entry.at, entry.position};
    if (entry.is_clear && entry.at < before) newest_clear = std::max(newest_clear, place);
  }
  std::map<EngineTime, PlainSum> windows;
  for (const Entry& entry : counter.entries) {
    const bool counts =
        !entry.is_clear && entry.at < before && Place{entry.at, entry.position} > newest_clear;
    if (counts) windows[NameOf(0, entry.at).start].Add(entry.delta);
  }
  PlainSum value;
  for (const auto& [start, sum] : windows) value.Add(sum);
  return value.amount();
}

std::optional<EventualCount> RollupModel::Eventual(std::string_view key) const {
  const auto counter = counters_.find(key);
  if (counter == counters_.end()) return std::nullopt;
  return EventualCount{ValueOf(counter->second, AsOf()), AsOf(), now() - AsOf()};
}

AccurateCount RollupModel::Accurate(std::string_view key) const {
  const auto counter = counters_.find(key);
  if (counter == counters_.end()) return {};
  return {.amount = ValueOf(counter->second, kNever), .checkpoint = AsOf()};
}

std::optional<size_t> RollupModel::ResolutionOf(Duration window) const {
  if (window == Duration{0}) return 0;
  const auto found = std::find(options_.windows.begin(), options_.windows.end(), window);
  if (found == options_.windows.end()) return std::nullopt;
  return static_cast<size_t>(found - options_.windows.begin());
}

std::vector<CountedWindow> RollupModel::History(std::string_view key, EngineTime from,
                                                EngineTime to, Duration window) const {
  std::vector<CountedWindow> out;
  const auto counter = counters_.find(key);
  const std::optional<size_t> resolution = ResolutionOf(window);
  if (counter == counters_.end() || !resolution) return out;
  for (const auto& [name, unused] : counter->second.windows) {
    if (name.resolution != *resolution || name.start < from || name.start >= to) continue;
    if (IsPassed(name) && IsKept(name)) out.push_back(Shown(counter->second, name));
  }
  return out;
}

std::vector<TopCount> RollupModel::Top(size_t n, EngineTime at, Duration window) const {
  std::vector<TopCount> out;
  const std::optional<size_t> resolution = ResolutionOf(window);
  if (!resolution) return out;
  const WindowName name = NameOf(*resolution, Clamp(at));
  for (const auto& [key, counter] : counters_) {
    if (!counter.windows.contains(name) || (IsPassed(name) && !IsKept(name))) continue;
    out.push_back({key, SumOf(counter, name).amount()});
  }
  std::ranges::sort(out, [](const TopCount& a, const TopCount& b) {
    const auto rank = [](const TopCount& top) {
      return std::pair(top.amount.real, top.amount.sum);
    };
    return rank(a) != rank(b) ? rank(a) > rank(b) : a.key < b.key;
  });
  if (out.size() > n) out.resize(n);
  return out;
}

bool RollupModel::Ref(std::string_view key) {
  if (stopped_ || IsTooLong(key)) return false;
  if (!counters_.contains(key)) {
    if (counters_.size() >= options_.limits.max_keys) return false;
    counters_[std::string(key)];
    ++ledger_.keys_opened;
  }
  held_[std::string(key)] = true;
  return true;
}

void RollupModel::DropRef(std::string_view key) {
  held_.erase(std::string(key));
  Forget();
}

RollupLedger RollupModel::ledger() const {
  RollupLedger out = ledger_;
  for (const auto& [key, counter] : counters_) {
    for (const auto& [name, window] : counter.windows) {
      out.open += window.stage == Stage::kOpen;
      if (name.resolution != 0 || IsPassed(name)) continue;
      const PlainSum sum = SumOf(counter, name);
      out.pending += sum.amount().count;
      out.delta_pending += static_cast<uint64_t>(sum.whole());
    }
  }
  out.checkpointed = out.added + out.clamped - out.clears - out.pending;
  out.delta_checkpointed = out.delta_added - out.delta_pending;
  return out;
}

RollupSizes RollupModel::sizes() const {
  RollupSizes out{.keys = counters_.size(), .ids = ids_.size()};
  for (const auto& [key, counter] : counters_) {
    for (const auto& [name, window] : counter.windows) {
      out.open += window.stage == Stage::kOpen;
      out.retained += window.stage != Stage::kOpen && IsPassed(name) && IsKept(name);
    }
  }
  Ledger of_delivery;
  delivery_.AddTo(of_delivery);
  out.ready = of_delivery.ready;
  return out;
}

}  // namespace pleat::inline v0_1
