#include "engine/live/live_set_book.h"

#include <algorithm>
#include <vector>

#include "engine/base/check.h"

namespace pleat::inline v0_1 {

LiveSetBook::LiveSetBook(PagePool& pool, const LiveSetOptions& options, const PayloadOps& ops,
                         const HashKey& hash_key, const HashKey& name_key, uint32_t partition)
    : FeedBook(ops, partition, options.max_changes),
      options_(options),
      ops_(ops),
      hash_key_(hash_key),
      name_key_(name_key),
      other_name_key_(MakeHashKey(name_key[1], name_key[2])),
      pages_(pool),
      members_(pages_, ops, hash_key, [this](uint32_t m) { return series_.HashFor(m); }),
      series_(pages_, members_, options.ttl, options.retention),
      tombstones_(pages_, std::max(options.ttl, options.retention)) {}

LiveSetBook::Entry LiveSetBook::Find(const EventRef& event) const {
  const KeyView id = static_cast<const AnyMember*>(event.event)->id;
  const MemberRef ref(id, event.hash, hash_key_);
  const uint32_t series = series_.Find(event.key, event.hash);
  return {.hash = ref.hash,
          .series = series,
          .member = series == kNone ? kNone : members_.Find(ref, series)};
}

// --- An event

// What every change begins with: members that are due end before it. Returns its position.
uint64_t LiveSetBook::Begin(const Instant& at) {
  Budget budget;
  CloseDue(at, budget);
  return last_position_ = std::max(last_position_ + 1, at.position);
}

LiveSetOutcome LiveSetBook::FoldSlowly(const EventRef& event, const Entry& entry,
                                       const Instant& at) {
  const auto& added = *static_cast<const AnyMember*>(event.event);
  Settle(at);
  if (!series_.AllIsPlain(TimeFor(at.now)) && TakeRefresh</*kWithCare=*/true>(event, entry, at)) {
    Settle(at);
    return kPlain;
  }
  const uint64_t position = Begin(at);
  const MemberRef member(added.id, entry.hash);
  Turn turn{.name = {event.key, event.hash},
            .series = series_.Find(event.key, event.hash),
            .member = member,
            .event = added,
            .payload = PayloadIn(event.event),
            .stamp = event.at,
            .position = position,
            .refresh = options_.refresh,
            .announces = true};
  return Take(turn);
}

LiveSetOutcome LiveSetBook::Refuse(Outcome why, const Instant&) noexcept {
  ++ledger_.events;
  ++(why == Outcome::kFuture ? ledger_.future : ledger_.over_limit);
  return why;
}

LiveSetOutcome LiveSetBook::Take(Turn& turn) {
  ++ledger_.events;
  const Outcome outcome = Judge(turn);
  NoteOutcome(outcome);
  PLEAT_DCHECK(ledger_.Balances());
  return outcome;
}

void LiveSetBook::NoteOutcome(Outcome outcome) noexcept {
  switch (outcome) {
    case Outcome::kAdded: ++ledger_.added; break;
    case Outcome::kRefreshed: ++ledger_.refreshed; break;
    case Outcome::kUpdated: ++ledger_.updated; break;
    case Outcome::kUnchanged: ++ledger_.unchanged; break;
    case Outcome::kDuplicate: ++ledger_.duplicate; break;
    case Outcome::kConflict: ++ledger_.conflict; break;
    case Outcome::kLate: ++ledger_.late; break;
    case Outcome::kFuture: ++ledger_.future; break;
    case Outcome::kTombstoned: ++ledger_.tombstoned; break;
    default: ++ledger_.over_limit; break;
  }
}

// The steps 4 to 7 of docs/semantics-live-sets.md.
LiveSetOutcome LiveSetBook::Judge(Turn& turn) {
  const Duration ttl = turn.event.ttl != Duration::zero() ? turn.event.ttl
                       : turn.series != kNone             ? series_.TtlOf(turn.series)
                                                          : options_.ttl;
  turn.deadline = SeriesTable::After(turn.stamp, ttl);
  if (turn.deadline <= seen_ || turn.event.ttl < Duration::zero()) return Outcome::kLate;
  if (tombstones_.size() > 0) {
    const auto* const tombstone = tombstones_.Find(TombstoneOf(turn.name, turn.member.name), seen_);
    if (tombstone != nullptr && turn.stamp <= StampIn(tombstone->word)) return Outcome::kTombstoned;
  }
  if (turn.series == kNone) return AddMember(turn);
  const uint32_t number = members_.Find(turn.member, turn.series);
  if (number == kNone) return AddMember(turn);
  if (!series_.IsRetained(number)) return JudgeLive(turn, number);
  turn.retained = number;
  return AddMember(turn);
}

// The table of step 6.
LiveSetOutcome LiveSetBook::JudgeLive(Turn& turn, uint32_t number) {
  const Member& member = members_.at(number);
  const std::optional<uint64_t> old = members_.version(number);
  const std::optional<uint64_t> version = turn.payload == nullptr ? old : turn.event.version;
  const bool same = turn.payload == nullptr || members_.PayloadIs(number, turn.payload);
  if (turn.stamp == member.stamp) {
    if (same && version == old) return Outcome::kDuplicate;
    if (version && version == old) return Outcome::kConflict;
    if (version < old) return Outcome::kUnchanged;
  }
  if (turn.stamp < member.stamp || turn.refresh == Refresh::kFirst) return Outcome::kUnchanged;
  if (const std::optional<Outcome> refused = MakeRoomToGrow(turn, number)) return *refused;
  if (number == kNone) return AddMember(turn);  // it was dropped itself
  if (turn.refresh == Refresh::kReplace) {
    turn.own_ttl = members_.ttl(number);
    turn.replaces = true;
    End(number, Cause::kReplaced, {seen_, /*by_event=*/true, turn.position});
    turn.series = series_.Find(turn.name.name, turn.name.hash);
    return AddMember(turn);
  }
  const bool refreshed = same && version == old;
  Renew(turn, number, version);
  const Cause cause = refreshed ? Cause::kRefreshed : Cause::kUpdated;
  if (turn.announces) Announce(cause, number, {seen_, /*by_event=*/true, turn.position});
  return refreshed ? Outcome::kRefreshed : Outcome::kUpdated;
}

// Gives a live member the event's stamp, payload, version, and TTL, if it has one.
void LiveSetBook::Renew(const Turn& turn, uint32_t number, std::optional<uint64_t> version) {
  const Duration ttl = members_.ttl(number);
  const Duration new_ttl = turn.event.ttl != Duration::zero() ? turn.event.ttl : ttl;
  series_.Erase(number);
  members_.SetStamp(number, turn.stamp, turn.position);
  members_.SetExtra(number, new_ttl, version);
  if (turn.payload != nullptr) members_.SetPayload(number, turn.payload);
  series_.Insert(number);
  series_.Arm(members_.at(number).series);
}

LiveSetOutcome LiveSetBook::AddMember(Turn& turn) {
  if (turn.payload == nullptr) return Outcome::kUnchanged;  // a touch
  if (!turn.replaces) {
    if (const std::optional<Outcome> refused = MakeRoom(turn)) return *refused;
  }
  if (turn.series == kNone) turn.series = series_.Open(turn.name.name, turn.name.hash);
  const uint32_t series = turn.series;
  if (series_.Live(series) == 0) series_.SetSince(series, turn.position);
  const uint32_t number =
      members_.Add(turn.member, series, turn.stamp, turn.position, turn.payload);
  const Duration ttl = turn.event.ttl != Duration::zero() ? turn.event.ttl : turn.own_ttl;
  members_.SetExtra(number, ttl, turn.event.version);
  series_.Insert(number);
  series_.Arm(series);
  ++ledger_.live;
  if (turn.announces) Announce(Cause::kAdded, number, {seen_, /*by_event=*/true, turn.position});
  return Outcome::kAdded;
}

LiveSetOutcome LiveSetBook::Touch(const SeriesRef& series, std::string_view id, EngineTime stamp,
                                  const Instant& at) {
  const uint64_t position = Begin(at);
  const MemberRef member(id, series.hash, hash_key_);
  const AnyMember event{.id = KeyView(id.data(), id.size()), .ttl = {}, .version = {}};
  Turn turn{.name = series,
            .series = series_.Find(series.name, series.hash),
            .member = member,
            .event = event,
            .payload = nullptr,
            .stamp = stamp,
            .position = position,
            .refresh = options_.refresh == Refresh::kFirst ? Refresh::kFirst : Refresh::kLatest,
            .announces = true};
  return Take(turn);
}

LiveSetCounts LiveSetBook::Import(const SeriesRef& series, const AnyBatch& rows, IsFuture is_future,
                                  const Instant& at) {
  LiveSetCounts counts;
  const uint64_t first = Begin(at);
  for (size_t i = 0; i < rows.size; ++i) {
    const auto& row = *static_cast<const AnyMember*>(rows.EventOf(i));
    const bool too_long = row.id.size() > kKeyBytesMax;
    if (too_long || is_future(rows.AtOf(i))) {
      counts.Add(Refuse(too_long ? Outcome::kOverLimit : Outcome::kFuture, at));
      continue;
    }
    const MemberRef member(row.id, series.hash, hash_key_);
    last_position_ = first + i;
    Turn turn{.name = series,
              .series = series_.Find(series.name, series.hash),
              .member = member,
              .event = row,
              .payload = PayloadIn(rows.EventOf(i)),
              .stamp = Clamp(rows.AtOf(i)),
              .position = first + i,
              .refresh = Refresh::kLatest,
              .announces = false};
    counts.Add(Take(turn));
  }
  const uint32_t number = series_.Find(series.name, series.hash);
  const bool changed =
      counts[Outcome::kAdded] + counts[Outcome::kRefreshed] + counts[Outcome::kUpdated] > 0;
  if (changed && number != kNone) {
    AnnounceSeries(Cause::kImported, number, {seen_, /*by_event=*/true, last_position_});
  }
  return counts;
}

// --- Limits

size_t LiveSetBook::MemberBytesFor(const Turn& turn) const {
  const bool has_extra = turn.event.ttl != Duration::zero() || turn.event.version;
  return members_.BytesFor(turn.member.name, turn.payload, has_extra);
}

// What is left of a series if all its members end: it stays if it has a TTL of its own.
size_t LiveSetBook::KeptBytes(uint32_t series) const {
  const Series& s = series_.at(series);
  return s.ttl == Duration::zero() ? 0 : SeriesTable::BytesFor(s.name);
}

// Whether there would be room for the event if no series had any member.
bool LiveSetBook::FitsAlone(const Turn& turn) const {
  const bool is_kept = turn.series != kNone && KeptBytes(turn.series) > 0;
  const size_t series = is_kept ? 0 : SeriesTable::BytesFor(turn.name.name);
  const size_t order = series_.BytesToInsert(kNone, turn.event.ttl != Duration::zero());
  return tombstones_.bytes() + kept_bytes_ + series + order + MemberBytesFor(turn) <=
         options_.limits.max_bytes;
}

bool LiveSetBook::Fits(const Turn& turn) const {
  const bool new_series = turn.series == kNone;
  const size_t extra = series_.BytesToInsert(turn.series, turn.event.ttl != Duration::zero()) +
                       MemberBytesFor(turn) +
                       (new_series ? SeriesTable::BytesFor(turn.name.name) : 0);
  return members_.size() < options_.limits.max_members &&
         (!new_series || series_.size() < options_.limits.max_series) &&
         bytes() + extra <= options_.limits.max_bytes;
}

// Why the event may not come in, if so; if the limits say that others make room, they have. Once one
// has ended for the event, that comes in: there is room for it alone, and nothing else is asked.
std::optional<LiveSetOutcome> LiveSetBook::MakeRoom(Turn& turn) {
  const bool drops = options_.limits.on_limit == OnLiveSetLimit::kDropOldest;
  const LogOrder now{seen_, /*by_event=*/true, turn.position};
  if (drops && !FitsAlone(turn)) return Outcome::kOverLimit;  // so nobody has to make room
  if (turn.series != kNone && series_.Live(turn.series) >= options_.limits.max_per_series) {
    const uint32_t oldest = series_.OldestLive(turn.series);
    if (!drops || turn.stamp < members_.at(oldest).stamp) return Outcome::kFull;
    turn.has_dropped = true;
    End(oldest, Cause::kCap, now);
  }
  if (turn.retained != kNone) Forget(turn.retained);
  turn.series = series_.Find(turn.name.name, turn.name.hash);
  if (turn.series == kNone && series_.size() >= options_.limits.max_series &&
      (!drops || !DropNext(turn, /*whole_series=*/true))) {
    return Outcome::kOverLimit;
  }
  while (!Fits(turn)) {
    if (!drops || !DropNext(turn, /*whole_series=*/false)) return Outcome::kOverLimit;
    turn.series = series_.Find(turn.name.name, turn.name.hash);
  }
  return std::nullopt;
}

// By how many bytes a live member is larger once it has taken the event.
size_t LiveSetBook::GrowthOf(const Turn& turn, uint32_t number) const {
  if (turn.payload == nullptr) return 0;
  const std::string_view id = turn.member.name;
  const bool had_extra = members_.at(number).has_extra != 0;
  const bool has_extra = had_extra || turn.event.ttl != Duration::zero() || turn.event.version;
  const size_t before = members_.BytesFor(id, members_.payload(number), had_extra);
  const size_t after = members_.BytesFor(id, turn.payload, has_extra);
  return after > before ? after - before : 0;
}

// MakeRoom() for a live member. If that is dropped itself, `number` is kNone.
std::optional<LiveSetOutcome> LiveSetBook::MakeRoomToGrow(Turn& turn, uint32_t& number) {
  const bool drops = options_.limits.on_limit == OnLiveSetLimit::kDropOldest;
  for (size_t growth; (growth = GrowthOf(turn, number)) > 0;) {
    if (bytes() + growth <= options_.limits.max_bytes) return std::nullopt;
    if (!drops || !FitsAlone(turn) || !DropNext(turn, /*whole_series=*/false)) {
      return Outcome::kOverLimit;
    }
    turn.series = series_.Find(turn.name.name, turn.name.hash);
    number = turn.series == kNone ? kNone : members_.Find(turn.member, turn.series);
    if (number == kNone) return std::nullopt;
  }
  return std::nullopt;
}

// Ends the member that would expire next in the partition, or its whole series; or none, if it is
// the first and the event would expire before. Retained members are forgotten instead: those of the
// event's series, and others that come first. REQUIRES: the event FitsAlone().
bool LiveSetBook::DropNext(Turn& turn, bool whole_series) {
  uint32_t series;
  SeriesTable::End end;
  Budget budget;
  if (turn.series != kNone && series_.at(turn.series).retained > 0) {
    Forget(series_.FirstRetained(turn.series));
    return true;
  }
  while (series_.Next(kNever, budget, series, end) == Deadlines::Found::kDue) {
    if (end.forgets) {
      Forget(end.member);
      if (!whole_series || series_.size() < options_.limits.max_series) return true;
      continue;
    }
    series_.Arm(series);
    if (end.due > turn.deadline && !turn.has_dropped) return false;
    turn.has_dropped = true;
    const LogOrder now{seen_, /*by_event=*/true, turn.position};
    if (whole_series) {
      kept_bytes_ -= KeptBytes(series);
      EndAll(series, Cause::kDropped, now);
      series_.ForgetTtl(series);
    } else {
      End(end.member, Cause::kDropped, now);
    }
    return true;
  }
  PLEAT_DCHECK(!turn.has_dropped);
  return false;
}

// --- Ending members

bool LiveSetBook::CloseDue(const Instant& at, Budget& budget) {
  const EngineTime now = seen_ = std::max(seen_, at.now);
  for (;;) {
    uint32_t series;
    SeriesTable::End end;
    switch (series_.Next(now, budget, series, end)) {
      case Deadlines::Found::kNothing: return tombstones_.Expire(now, budget);
      case Deadlines::Found::kOutOfBudget: return false;
      case Deadlines::Found::kDue: EndDueOf(series, end, now, budget);
    }
  }
}

// Ends members of one series as long as no other series comes first.
void LiveSetBook::EndDueOf(uint32_t series, SeriesTable::End end, EngineTime now, Budget& budget) {
  for (;;) {
    if (end.forgets) {
      ForgetInOpenSeries(end.member);
    } else {
      EndByTime(end.member, Cause::kExpired, {end.due, /*by_event=*/false, end.position});
    }
    if (series_.CloseIfEmpty(series)) return;
    end = series_.NextEnd(series);
    if (end.due > now || end.due >= series_.NextDue() || budget.spent()) break;
    budget.Take();
  }
  series_.Arm(series);
}

// REQUIRES: the member is the next of its series to end.
void LiveSetBook::EndByTime(uint32_t number, Cause cause, const LogOrder& order) {
  const bool stays = series_.Retains(number);
  --ledger_.live;
  ++ledger_.expired;
  if (stays) {
    series_.Retain(members_.at(number).series);
  } else {
    series_.Erase(number);
  }
  Announce(cause, number, order);
  if (!stays) members_.Remove(number);
}

// Ends a live member on behalf of an event or a call.
void LiveSetBook::End(uint32_t number, Cause cause, const LogOrder& order) {
  const uint32_t series = members_.at(number).series;
  --ledger_.live;
  ++(cause == Cause::kReplaced      ? ledger_.replaced
     : cause == Cause::kUnpublished ? ledger_.removed
     : cause == Cause::kCleared     ? ledger_.cleared
     : cause == Cause::kTtlChanged  ? ledger_.expired
                                    : ledger_.dropped);
  series_.Erase(number);
  Announce(cause, number, order);
  members_.Remove(number);
  if (!series_.CloseIfEmpty(series)) series_.Arm(series);
}

// Takes a retained member out, and its series if that was all.
void LiveSetBook::Forget(uint32_t number) {
  const uint32_t series = members_.at(number).series;
  ForgetInOpenSeries(number);
  if (!series_.CloseIfEmpty(series)) series_.Arm(series);
}

void LiveSetBook::ForgetInOpenSeries(uint32_t retained) {
  series_.EraseRetained(retained);
  members_.Remove(retained);
}

// --- Changes

void LiveSetBook::Announce(Cause cause, uint32_t number, const LogOrder& order, size_t fewer) {
  const Member& member = members_.at(number);
  CountChange(cause);
  if (!changes_.keeps()) return changes_.Skip();
  AnyChange change;
  change.cause = cause;
  change.at = order.at;
  change.count = series_.Live(member.series) - fewer;
  change.stamp = member.stamp;
  change.deadline = series_.DeadlineOf(number);
  change.series = series_.at(member.series).name.view();
  change.id = member.name();
  change.payload = ops_.size > 0 ? members_.payload(number) : nullptr;
  changes_.Note(change, order);
}

void LiveSetBook::AnnounceSeries(Cause cause, uint32_t number, const LogOrder& order) {
  CountChange(cause);
  if (!changes_.keeps()) return changes_.Skip();
  AnyChange change;
  change.cause = cause;
  change.at = order.at;
  change.count = series_.Live(number);
  change.series = series_.at(number).name.view();
  changes_.Note(change, order);
}

// --- Time and counts

EngineTime LiveSetBook::NextDue() const noexcept {
  return std::min(series_.NextDue(), tombstones_.forgets_all_at());
}

LiveSetSizes LiveSetBook::sizes() const noexcept {
  return {.series = series_.size(),
          .members = members_.size(),
          .tombstones = tombstones_.size(),
          .bytes = bytes()};
}

void LiveSetBook::CheckWhole() const {
  members_.CheckWhole();
  PLEAT_CHECK(series_.CheckWhole() == ledger_.live);
  tombstones_.CheckWhole();
  size_t kept = 0;
  uint32_t place = 0;
  series_.ForEachFrom(place, [&](uint32_t series) {
    kept += KeptBytes(series);
    return true;
  });
  PLEAT_CHECK(kept == kept_bytes_);
  PLEAT_CHECK(ledger_.Balances());
}

}  // namespace pleat::inline v0_1
