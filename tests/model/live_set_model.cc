// See the header, and docs/semantics-live-sets.md.
#include "tests/model/live_set_model.h"

#include <algorithm>
#include <iterator>
#include <set>
#include <tuple>

namespace pleat::inline v0_1 {
namespace {

template <class Members>
auto FindId(Members& members, std::string_view id) {
  return std::find_if(members.begin(), members.end(),
                      [&](const auto& member) { return member.second.id == id; });
}

}  // namespace

// Time.

void LiveSetModel::MoveTime(EngineTime to) {
  clock_.Advance(to);
  if (FirstDeadline() <= now()) {
    for (const Victim& next : LiveByDeadline()) {
      if (next.ends > now()) break;
      End(next.series, series_[next.series].live.find(next.place), Cause::kExpired, next.ends);
    }
  }
  ForgetWhatIsOver();
}

void LiveSetModel::ForgetWhatIsOver() {
  for (auto& [name, series] : series_) {
    std::erase_if(series.retained, [&](const auto& member) {
      return DeadlineAfter(member.first.first, options_.retention) <= now();
    });
  }
  std::erase_if(tombstones_, [&](const auto& entry) { return entry.second.until <= now(); });
  std::erase_if(series_, [](const auto& entry) {
    const Series& series = entry.second;
    return series.live.empty() && series.retained.empty() && !series.ttl;
  });
}

EngineTime LiveSetModel::FirstDeadline() const {
  EngineTime first = kNever;
  for (const auto& [name, series] : series_) {
    for (const auto& member : series.live) first = std::min(first, DeadlineOf(series, member));
  }
  return first;
}

Duration LiveSetModel::TtlOf(std::string_view series) const {
  const auto found = series_.find(std::string(series));
  return found == series_.end() ? options_.ttl : found->second.ttl.value_or(options_.ttl);
}

Duration LiveSetModel::TtlOf(const Series& series, const Kept& member) const {
  return member.own_ttl != Duration{0} ? member.own_ttl : series.ttl.value_or(options_.ttl);
}

EngineTime LiveSetModel::DeadlineOf(const Series& series, const Members::value_type& member) const {
  return DeadlineAfter(member.first.first, TtlOf(series, member.second));
}

// Events.

LiveSetOutcome LiveSetModel::Add(std::string_view series, const Event& event, EngineTime at) {
  return Answer({.series = std::string(series),
                 .member = {.id = std::string(event.id),
                            .payload = event.payload,
                            .version = event.version,
                            .own_ttl = event.ttl},
                 .at = at,
                 .refresh = options_.refresh});
}

LiveSetOutcome LiveSetModel::PassBy(std::string_view series, std::string_view id, EngineTime at) {
  at = Clamp(at);
  if (stopped_ || IsTooLong(series) || IsTooLong(id) || clock_.IsFuture(at))
    return LiveSetOutcome::kElsewhere;
  MoveWatermark(at);
  return LiveSetOutcome::kElsewhere;
}

LiveSetOutcome LiveSetModel::Touch(std::string_view series, std::string_view id, EngineTime at) {
  return Answer({.series = std::string(series),
                 .member = {.id = std::string(id)},
                 .at = at,
                 .refresh = options_.refresh,
                 .is_touch = true});
}

LiveSetCounts LiveSetModel::Import(std::string_view series, std::span<const Row> rows) {
  LiveSetCounts counts;
  for (const Row& row : rows) {
    counts.Add(Answer({.series = std::string(series),
                       .member = {.id = std::string(row.event.id),
                                  .payload = row.event.payload,
                                  .version = row.event.version,
                                  .own_ttl = row.event.ttl},
                       .at = row.at,
                       .is_row = true}));
  }
  const bool changed = counts[LiveSetOutcome::kAdded] + counts[LiveSetOutcome::kRefreshed] +
                           counts[LiveSetOutcome::kUpdated] >
                       0;
  if (changed) {
    changes_.push_back({.cause = Cause::kImported,
                        .series = std::string(series),
                        .at = now(),
                        .count = Count(series)});
  }
  return counts;
}

LiveSetOutcome LiveSetModel::Answer(Offer offer) {
  if (stopped_) return LiveSetOutcome::kStopped;
  offer.at = Clamp(offer.at);
  offer.position = ++positions_;
  const LiveSetOutcome outcome = Judge(offer);
  ForgetWhatIsOver();
  ++ledger_.events;
  switch (outcome) {
    case LiveSetOutcome::kAdded: ++ledger_.added; break;
    case LiveSetOutcome::kRefreshed: ++ledger_.refreshed; break;
    case LiveSetOutcome::kUpdated: ++ledger_.updated; break;
    case LiveSetOutcome::kUnchanged: ++ledger_.unchanged; break;
    case LiveSetOutcome::kDuplicate: ++ledger_.duplicate; break;
    case LiveSetOutcome::kConflict: ++ledger_.conflict; break;
    case LiveSetOutcome::kLate: ++ledger_.late; break;
    case LiveSetOutcome::kFuture: ++ledger_.future; break;
    case LiveSetOutcome::kTombstoned: ++ledger_.tombstoned; break;
    default: ++ledger_.over_limit;
  }
  return outcome;
}

LiveSetOutcome LiveSetModel::Judge(const Offer& offer) {
  const Kept& event = offer.member;
  // 1, 2
  if (IsTooLong(offer.series) || IsTooLong(event.id)) return LiveSetOutcome::kOverLimit;
  if (clock_.IsFuture(offer.at)) return LiveSetOutcome::kFuture;
  // 3
  if (!offer.is_row) MoveWatermark(offer.at);
  // 4
  const Duration ttl = event.own_ttl != Duration{0} ? event.own_ttl : TtlOf(offer.series);
  if (ttl < Duration{0} || DeadlineAfter(offer.at, ttl) <= now()) return LiveSetOutcome::kLate;
  // 5
  const auto tombstone = tombstones_.find({offer.series, event.id});
  if (tombstone != tombstones_.end() && offer.at <= tombstone->second.stamp) {
    return LiveSetOutcome::kTombstoned;
  }
  // 6
  if (const auto series = series_.find(offer.series); series != series_.end()) {
    const auto live = FindId(series->second.live, event.id);
    if (live != series->second.live.end()) return Meet(offer, live);
  }
  // 7
  return offer.is_touch ? LiveSetOutcome::kUnchanged : AddNew(offer);
}

// The table of what the live member decides, row by row.
LiveSetOutcome LiveSetModel::Meet(const Offer& offer, Members::iterator live) {
  const Place place = live->first;
  const Kept before = live->second;
  Kept after = offer.is_touch ? before : offer.member;
  if (after.own_ttl == Duration{0}) after.own_ttl = before.own_ttl;
  const bool same_stamp = offer.at == place.first;
  const bool same_version = after.version == before.version;
  const bool same_payload = after.payload == before.payload;

  if (same_stamp && same_version && same_payload) return LiveSetOutcome::kDuplicate;
  if (same_stamp && same_version && after.version) return LiveSetOutcome::kConflict;
  if (offer.at < place.first) return LiveSetOutcome::kUnchanged;
  if (same_stamp && after.version < before.version) return LiveSetOutcome::kUnchanged;
  if (offer.refresh == Refresh::kFirst) return LiveSetOutcome::kUnchanged;

  if (offer.refresh == Refresh::kReplace && !offer.is_touch) {
    End(offer.series, live, Cause::kReplaced, now());
    Begin(offer.series, {offer.at, offer.position}, after);
    Tell(Cause::kAdded, offer.series, *FindId(series_[offer.series].live, after.id), now());
    return LiveSetOutcome::kAdded;
  }
  const bool updated = !same_version || !same_payload;
  Members& members = series_[offer.series].live;
  members.erase(live);
  const auto member = members.emplace(Place{offer.at, offer.position}, after).first;
  if (!offer.is_row) {
    Tell(updated ? Cause::kUpdated : Cause::kRefreshed, offer.series, *member, now());
  }
  return updated ? LiveSetOutcome::kUpdated : LiveSetOutcome::kRefreshed;
}

LiveSetOutcome LiveSetModel::AddNew(const Offer& offer) {
  const Kept& event = offer.member;
  const Duration ttl = event.own_ttl != Duration{0} ? event.own_ttl : TtlOf(offer.series);
  const LiveSetOutcome room = MakeRoom(offer, DeadlineAfter(offer.at, ttl));
  if (room != LiveSetOutcome::kAdded) return room;
  std::erase_if(series_[offer.series].retained,
                [&](const auto& member) { return member.second.id == event.id; });
  Begin(offer.series, {offer.at, offer.position}, event);
  if (!offer.is_row) {
    Tell(Cause::kAdded, offer.series, *FindId(series_[offer.series].live, event.id), now());
  }
  return LiveSetOutcome::kAdded;
}

// Limits.

// kAdded: there is room now. Else the answer, and nothing has changed.
LiveSetOutcome LiveSetModel::MakeRoom(const Offer& offer, EngineTime deadline) {
  const LiveSetLimits& limits = options_.limits;
  const bool drops = limits.on_limit == OnLiveSetLimit::kDropOldest;
  const auto found = series_.find(offer.series);
  const bool is_new_series = found == series_.end();

  if (!is_new_series && found->second.live.size() >= limits.max_per_series) {
    const auto oldest = found->second.live.begin();
    if (!drops || offer.at < oldest->first.first) return LiveSetOutcome::kFull;
    End(offer.series, oldest, Cause::kCap, now());
    return LiveSetOutcome::kAdded;  // one for one
  }
  const bool is_retained = !is_new_series && FindId(found->second.retained, offer.member.id) !=
                                                 found->second.retained.end();
  if (is_retained) return LiveSetOutcome::kAdded;  // one for one
  const bool series_full = is_new_series && series_.size() >= limits.max_series;
  const bool members_full = sizes().members >= limits.max_members;
  if (!series_full && !members_full) return LiveSetOutcome::kAdded;
  if (!drops) return LiveSetOutcome::kOverLimit;
  if (!is_new_series && !found->second.retained.empty()) {
    found->second.retained.erase(found->second.retained.begin());
    return LiveSetOutcome::kAdded;  // one for one
  }
  return DropNext(series_full, deadline);
}

// Drops the live member that ends next, or its whole series; or none, if that would outlive the
// event. What is retained is forgotten instead, as far as it ends before.
LiveSetOutcome LiveSetModel::DropNext(bool whole_series, EngineTime deadline) {
  while (const std::optional<Victim> victim = NextVictim()) {
    Series& series = series_[victim->series];
    if (!victim->is_live) {
      series.retained.erase(victim->place);
      const size_t before = series_.size();
      ForgetWhatIsOver();
      if (!whole_series || series_.size() < before) return LiveSetOutcome::kAdded;
      continue;
    }
    if (victim->ends > deadline) return LiveSetOutcome::kOverLimit;
    if (whole_series) {
      series.retained.clear();
      while (!series.live.empty()) {
        End(victim->series, series.live.begin(), Cause::kDropped, now());
      }
      series.ttl.reset();
    } else {
      End(victim->series, series.live.find(victim->place), Cause::kDropped, now());
    }
    ForgetWhatIsOver();
    return LiveSetOutcome::kAdded;
  }
  return LiveSetOutcome::kOverLimit;
}

std::vector<LiveSetModel::Victim> LiveSetModel::LiveByDeadline() const {
  std::vector<Victim> all;
  for (const auto& [name, series] : series_) {
    for (const auto& member : series.live) {
      all.push_back({DeadlineOf(series, member), name, member.first, true});
    }
  }
  std::sort(all.begin(), all.end(), [](const Victim& a, const Victim& b) {
    return std::tie(a.ends, a.place.second) < std::tie(b.ends, b.place.second);
  });
  return all;
}

// The member that time would end or forget next. Of those that never end, a series has the one with
// the oldest stamp to offer.
std::optional<LiveSetModel::Victim> LiveSetModel::NextVictim() const {
  std::optional<Victim> next;
  const auto consider = [&](EngineTime ends, const std::string& name, Place place, bool is_live) {
    if (!next || std::pair(ends, place.second) < std::pair(next->ends, next->place.second)) {
      next = Victim{ends, name, place, is_live};
    }
  };
  for (const auto& [name, series] : series_) {
    for (const auto& member : series.retained) {
      consider(DeadlineAfter(member.first.first, options_.retention), name, member.first, false);
    }
    bool has_plain = false;
    for (const auto& member : series.live) {
      const bool is_plain = member.second.own_ttl == Duration::zero();
      if (is_plain && std::exchange(has_plain, true)) continue;
      consider(DeadlineOf(series, member), name, member.first, true);
    }
  }
  return next;
}

// Calls that are no events.

LiveSetControl LiveSetModel::Remove(std::string_view series, std::string_view id,
                                    const RemoveOptions& options) {
  if (IsTooLong(series) || IsTooLong(id)) return LiveSetControl::kOverLimit;
  const EngineTime at = Clamp(options.at.value_or(now()));
  if (options.at) {
    if (clock_.IsFuture(at)) return LiveSetControl::kFuture;
    MoveWatermark(at);
  }
  const std::string name(series);
  const auto found = series_.find(name);
  // With later_wins only events before the removal are stopped, not those of the same stamp.
  const auto stopped = [&](EngineTime t) {
    return options.later_wins ? SaturatingSub(t, Duration{1}) : t;
  };
  if (found == series_.end()) {
    LeaveTombstone(name, std::string(id), stopped(at), Duration{0});
    return LiveSetControl::kNothing;
  }
  // One that is retained must not come back either.
  Members& live = found->second.live;
  Members& retained = found->second.retained;
  const auto member = FindId(live, id);
  const auto unseen = FindId(retained, id);
  const bool is_live = member != live.end();
  const bool is_there = is_live || unseen != retained.end();
  const EngineTime stamp = is_live    ? member->first.first
                           : is_there ? unseen->first.first
                                      : kBeginningOfTime;
  const Duration own_ttl = is_live ? member->second.own_ttl : Duration{0};
  if (options.only_if_not_newer && stamp > at) {
    LeaveTombstone(name, std::string(id), stopped(at), own_ttl);
    return is_live ? LiveSetControl::kNewer : LiveSetControl::kNothing;
  }
  LeaveTombstone(name, std::string(id), stopped(std::max(at, stamp)), own_ttl);
  if (is_live) {
    End(name, member, Cause::kUnpublished, now());
  } else if (is_there) {
    retained.erase(unseen);
  }
  ForgetWhatIsOver();
  return is_live ? LiveSetControl::kDone : LiveSetControl::kNothing;
}

size_t LiveSetModel::Remove(std::string_view series, EngineTime from, EngineTime to) {
  const std::string name(series);
  const auto found = series_.find(name);
  if (found == series_.end()) return 0;
  const auto is_meant = [&](const Place& place) { return from <= place.first && place.first < to; };
  size_t removed = 0;
  std::erase_if(found->second.retained, [&](const auto& member) { return is_meant(member.first); });
  Members& live = found->second.live;
  for (auto member = live.begin(); member != live.end();) {
    const auto next = std::next(member);
    if (is_meant(member->first)) {
      LeaveTombstone(name, member->second.id, member->first.first, member->second.own_ttl);
      End(name, member, Cause::kUnpublished, now());
      ++removed;
    }
    member = next;
  }
  ForgetWhatIsOver();
  return removed;
}

// The longer of two lives, if there is one already.
void LiveSetModel::LeaveTombstone(const std::string& series, const std::string& id,
                                  EngineTime stamp, Duration own_ttl) {
  const Duration longest = std::max({TtlOf(series), options_.retention, own_ttl});
  Tombstone& tombstone =
      tombstones_.try_emplace({series, id}, Tombstone{kBeginningOfTime, kBeginningOfTime})
          .first->second;
  tombstone.stamp = std::max(tombstone.stamp, stamp);
  tombstone.until = std::max(tombstone.until, DeadlineAfter(stamp, longest));
  ForgetWhatIsOver();
}

LiveSetControl LiveSetModel::SetTtl(std::string_view series, Duration ttl) {
  if (IsTooLong(series)) return LiveSetControl::kOverLimit;
  if (ttl <= Duration{0}) return LiveSetControl::kOutOfRange;
  const std::string name(series);
  const bool is_own = series_.contains(name) && series_[name].ttl;
  if (ttl == TtlOf(series) && !(is_own && ttl == options_.ttl)) return LiveSetControl::kNothing;
  if (!series_.contains(name) && series_.size() >= options_.limits.max_series) {
    return LiveSetControl::kOverLimit;
  }
  Series& changed = series_[name];
  changed.ttl = ttl == options_.ttl ? std::nullopt : std::optional(ttl);
  for (auto member = changed.live.begin(); member != changed.live.end();) {
    const auto next = std::next(member);
    if (DeadlineOf(changed, *member) <= now()) End(name, member, Cause::kTtlChanged, now());
    member = next;
  }
  for (auto member = changed.retained.begin(); member != changed.retained.end();) {
    const auto next = std::next(member);
    if (DeadlineOf(changed, *member) > now()) {
      Begin(name, member->first, member->second);
      Tell(Cause::kRestored, name, *member, now());
      --ledger_.expired;
      changed.retained.erase(member);
    }
    member = next;
  }
  ForgetWhatIsOver();
  return LiveSetControl::kDone;
}

// Members end and come back in the order of their stamps. Of several series that are no longer empty,
// the first by name has its turn first.
void LiveSetModel::SetOptions(const LiveSetOptions& options) {
  options_ = options;
  std::vector<std::pair<Place, std::string>> back, over;
  std::set<std::string> were_empty;
  for (const auto& [name, series] : series_) {
    for (const auto& member : series.live)
      if (DeadlineOf(series, member) <= now()) over.emplace_back(member.first, name);
    for (const auto& member : series.retained) {
      if (DeadlineOf(series, member) <= now()) continue;
      back.emplace_back(member.first, name);
      if (series.live.empty()) were_empty.insert(name);
    }
  }
  std::sort(back.begin(), back.end());
  std::sort(over.begin(), over.end());
  for (const auto& [place, name] : back) {
    const auto member = series_[name].retained.find(place);
    Begin(name, place, member->second);
    Tell(Cause::kRestored, name, *member, now());
    --ledger_.expired;
    series_[name].retained.erase(member);
  }
  for (const std::string& name : were_empty) series_[name].turn = ++turns_;
  for (const auto& [place, name] : over) {
    End(name, series_[name].live.find(place), Cause::kTtlChanged, now());
  }
  ForgetWhatIsOver();
}

size_t LiveSetModel::Clear(std::string_view series) {
  const std::string name(series);
  const auto found = series_.find(name);
  if (found == series_.end()) return 0;
  const size_t cleared = found->second.live.size();
  while (!found->second.live.empty()) {
    End(name, found->second.live.begin(), Cause::kCleared, now());
  }
  found->second.retained.clear();
  ForgetWhatIsOver();
  return cleared;
}

// Members begin and end.

void LiveSetModel::Begin(const std::string& series, Place place, const Kept& member) {
  Series& grown = series_[series];
  if (grown.live.empty()) grown.turn = ++turns_;
  grown.live.emplace(place, member);
}

void LiveSetModel::End(const std::string& series, Members::iterator member, Cause cause,
                       EngineTime at) {
  Series& shrunk = series_[series];
  const Members::value_type ended = *member;
  shrunk.live.erase(member);
  Tell(cause, series, ended, at);
  const bool by_time = cause == Cause::kExpired || cause == Cause::kTtlChanged;
  if (by_time && ended.second.own_ttl == Duration{0}) shrunk.retained.insert(ended);
  switch (cause) {
    case Cause::kExpired:
    case Cause::kTtlChanged: ++ledger_.expired; break;
    case Cause::kUnpublished: ++ledger_.removed; break;
    case Cause::kReplaced: ++ledger_.replaced; break;
    case Cause::kCleared: ++ledger_.cleared; break;
    default: ++ledger_.dropped;
  }
}

void LiveSetModel::Tell(Cause cause, const std::string& series, const Members::value_type& member,
                        EngineTime at) {
  const Series& of = series_[series];
  changes_.push_back({.cause = cause,
                      .series = series,
                      .id = member.second.id,
                      .payload = member.second.payload,
                      .at = at,
                      .count = of.live.size(),
                      .stamp = member.first.first,
                      .deadline = DeadlineOf(of, member)});
}

// Reads.

LiveSetModel::Member LiveSetModel::Shown(const Series& series,
                                         const Members::value_type& member) const {
  return {.id = member.second.id,
          .payload = member.second.payload,
          .stamp = member.first.first,
          .deadline = DeadlineOf(series, member),
          .version = member.second.version};
}

// The oldest first.
std::vector<LiveSetModel::Member> LiveSetModel::LiveAt(std::string_view series,
                                                       EngineTime now) const {
  std::vector<Member> out;
  const auto found = series_.find(std::string(series));
  if (found == series_.end()) return out;
  for (const auto& member : found->second.live) {
    if (std::max(now, clock_.now()) < DeadlineOf(found->second, member)) {
      out.push_back(Shown(found->second, member));
    }
  }
  return out;
}

size_t LiveSetModel::Count(std::string_view series, EngineTime now) const {
  return LiveAt(series, now).size();
}

size_t LiveSetModel::CountSince(std::string_view series, EngineTime since, EngineTime now) const {
  const std::vector<Member> live = LiveAt(series, now);
  return static_cast<size_t>(std::count_if(
      live.begin(), live.end(), [&](const Member& member) { return member.stamp > since; }));
}

size_t LiveSetModel::CountBetween(std::string_view series, EngineTime from, EngineTime to,
                                  EngineTime now) const {
  const std::vector<Member> live = LiveAt(series, now);
  return static_cast<size_t>(std::count_if(live.begin(), live.end(), [&](const Member& member) {
    return from <= member.stamp && member.stamp < to;
  }));
}

std::vector<LiveSetModel::Member> LiveSetModel::List(std::string_view series,
                                                     const ListOptions& options) const {
  std::vector<Member> out = LiveAt(series, options.now);
  std::erase_if(out, [&](const Member& m) { return options.since && m.stamp <= *options.since; });
  if (options.newest_first) std::reverse(out.begin(), out.end());
  return out;
}

std::optional<LiveSetModel::Member> LiveSetModel::Find(std::string_view series, std::string_view id,
                                                       EngineTime now) const {
  for (const Member& member : LiveAt(series, now)) {
    if (member.id == id) return member;
  }
  return std::nullopt;
}

std::optional<size_t> LiveSetModel::Rank(std::string_view series, std::string_view id,
                                         EngineTime now) const {
  const std::vector<Member> live = LiveAt(series, now);
  for (size_t rank = 0; rank < live.size(); ++rank) {
    if (live[rank].id == id) return rank;
  }
  return std::nullopt;
}

std::vector<SeriesCount> LiveSetModel::TopSeries(size_t n, EngineTime now) const {
  std::vector<std::pair<uint64_t, SeriesCount>> all;
  for (const auto& [name, series] : series_) {
    const size_t count = Count(name, now);
    if (count > 0) all.push_back({series.turn, {name, count}});
  }
  std::sort(all.begin(), all.end(), [](const auto& a, const auto& b) {
    return a.second.count != b.second.count ? a.second.count > b.second.count : a.first < b.first;
  });
  std::vector<SeriesCount> out;
  for (size_t i = 0; i < std::min(n, all.size()); ++i) out.push_back(all[i].second);
  return out;
}

std::vector<SeriesCount> LiveSetModel::Scan() const {
  std::vector<SeriesCount> out;
  for (const auto& [name, series] : series_) {
    if (!series.live.empty()) out.push_back({name, series.live.size()});
  }
  return out;
}

LiveSetLedger LiveSetModel::ledger() const {
  LiveSetLedger ledger = ledger_;
  for (const auto& [name, series] : series_) ledger.live += series.live.size();
  ledger.changes = changes_.size();
  for (const ModelChange& change : changes_) ++ledger.causes.at(IndexOf(change.cause));
  return ledger;
}

LiveSetSizes LiveSetModel::sizes() const {
  LiveSetSizes sizes{.series = series_.size(), .tombstones = tombstones_.size()};
  for (const auto& [name, series] : series_) {
    sizes.members += series.live.size() + series.retained.size();
  }
  return sizes;
}

}  // namespace pleat::inline v0_1
