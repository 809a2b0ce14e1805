// The calls of a LiveSetBook that are no events: removals and their tombstones, Clear() and
// SetTtl().
#include <algorithm>
#include <string>
#include <vector>

#include "engine/live/live_set_book.h"

namespace pleat::inline v0_1 {
namespace {

// So that tombstones go as fast as new ones come.
constexpr size_t kForgottenPerTombstone = 4;

}  // namespace

// --- Calls on members and series

LiveSetControl LiveSetBook::Remove(const SeriesRef& series, std::string_view id,
                                   std::optional<EngineTime> stamp, bool only_if_not_newer,
                                   const Instant& at) {
  const uint64_t position = Begin(at);
  EngineTime until = stamp.value_or(seen_);
  uint32_t number = FindMember(series, id);
  if (number != kNone && series_.IsRetained(number)) {
    // SetTtl() does not bring back what was removed.
    if (!only_if_not_newer || members_.at(number).stamp <= until) Forget(number);
    number = kNone;
  }
  const bool newer = number != kNone && members_.at(number).stamp > until;
  const Duration own = number == kNone ? Duration::zero() : members_.ttl(number);
  if (number != kNone && !(newer && only_if_not_newer)) {
    until = std::max(until, members_.at(number).stamp);
    End(number, Cause::kUnpublished, {seen_, /*by_event=*/true, position});
  }
  LeaveTombstone(series, id, until, own);
  if (number == kNone) return LiveSetControl::kNothing;
  return newer && only_if_not_newer ? LiveSetControl::kNewer : LiveSetControl::kDone;
}

size_t LiveSetBook::RemoveBetween(const SeriesRef& series, EngineTime from, EngineTime to,
                                  const Instant& at) {
  const uint64_t position = Begin(at);
  const uint32_t number = series_.Find(series.name, series.hash);
  if (number == kNone) return 0;
  std::vector<uint32_t> members;
  series_.ForgetRetained(number, from, to, [this](uint32_t m) { ForgetInOpenSeries(m); });
  series_.List(number, {.from = from}, seen_, members);
  if (!series_.CloseIfEmpty(number)) series_.Arm(number);
  std::erase_if(members, [&](uint32_t member) { return members_.at(member).stamp >= to; });
  for (const uint32_t member : members) {
    const std::string id(members_.at(member).name());
    const EngineTime stamp = members_.at(member).stamp;
    const Duration own = members_.ttl(member);
    End(member, Cause::kUnpublished, {seen_, /*by_event=*/true, position});
    LeaveTombstone(series, id, stamp, own);
  }
  return members.size();
}

size_t LiveSetBook::Clear(const SeriesRef& series, const Instant& at) {
  const uint64_t position = Begin(at);
  const uint32_t number = series_.Find(series.name, series.hash);
  if (number == kNone) return 0;
  return EndAll(number, Cause::kCleared, {seen_, /*by_event=*/true, position});
}

// Ends the live members of a series, forgets the retained ones, and then the series, unless that has
// a TTL of its own.
size_t LiveSetBook::EndAll(uint32_t series, Cause cause, const LogOrder& order) {
  while (series_.at(series).retained > 0) ForgetInOpenSeries(series_.FirstRetained(series));
  std::vector<uint32_t> members;
  series_.List(series, {}, seen_, members);
  if (members.empty() && !series_.CloseIfEmpty(series)) series_.Arm(series);
  for (const uint32_t member : members) End(member, cause, order);
  return members.size();
}

LiveSetControl LiveSetBook::SetTtl(const SeriesRef& name, Duration ttl, const Instant& at) {
  const uint64_t position = Begin(at);
  uint32_t number = series_.Find(name.name, name.hash);
  if (number == kNone) {
    if (ttl == options_.ttl) return LiveSetControl::kNothing;
    if (series_.size() >= options_.limits.max_series ||
        bytes() + SeriesTable::BytesFor(name.name) > options_.limits.max_bytes) {
      return LiveSetControl::kOverLimit;
    }
    number = series_.Open(name.name, name.hash);
  }
  const Duration before = series_.TtlOf(number);
  if (before == ttl) return LiveSetControl::kNothing;
  kept_bytes_ -= KeptBytes(number);
  series_.SetTtl(number, ttl == options_.ttl ? Duration::zero() : ttl);
  kept_bytes_ += KeptBytes(number);
  const LogOrder order{seen_, /*by_event=*/true, position};
  if (ttl > before) {
    RestoreMembers(number, order);
  } else {
    EndByTtl(number, order);
  }
  if (!series_.CloseIfEmpty(number)) series_.Arm(number);
  return LiveSetControl::kDone;
}

// Members come back one by one, the newest last.
void LiveSetBook::RestoreMembers(uint32_t number, const LogOrder& order) {
  std::vector<uint32_t> members;
  const bool was_empty = series_.Live(number) == 0;
  series_.Restore(number, seen_, members);
  if (was_empty && !members.empty()) series_.SetSince(number, order.position);
  for (size_t i = 0; i < members.size(); ++i) {
    ++ledger_.live;
    --ledger_.expired;
    Announce(Cause::kRestored, members[i], order, members.size() - 1 - i);
  }
}

void LiveSetBook::EndByTtl(uint32_t number, const LogOrder& order) {
  for (SeriesTable::End end = series_.NextEnd(number); end.due <= seen_;
       end = series_.NextEnd(number)) {
    if (end.forgets) {
      ForgetInOpenSeries(end.member);
    } else {
      EndByTime(end.member, Cause::kTtlChanged, order);
    }
  }
}

// --- Tombstones

ExpiringMap::Name LiveSetBook::TombstoneOf(const SeriesRef& series,
                                           std::string_view id) const noexcept {
  const PackedKey packed(id);
  const auto half = [&](const HashKey& key) {
    return KeyedHash(series.name.HashWith(key), packed.HashWith(key), id.size(), key);
  };
  return {half(name_key_), half(other_name_key_)};
}

void LiveSetBook::LeaveTombstone(const SeriesRef& series, std::string_view id, EngineTime stamp,
                                 Duration own_ttl) {
  const uint32_t number = series_.Find(series.name, series.hash);
  const Duration ttl = number == kNone ? options_.ttl : series_.TtlOf(number);
  EngineTime until =
      std::max({SeriesTable::After(stamp, ttl), SeriesTable::After(stamp, options_.retention),
                SeriesTable::After(stamp, own_ttl)});
  Budget budget(kForgottenPerTombstone);
  tombstones_.Expire(seen_, budget);
  const ExpiringMap::Name name = TombstoneOf(series, id);
  const auto* const known = tombstones_.Find(name, seen_);
  // Of two tombstones of one id the later stamp counts, as long as the longer one lives.
  if (known != nullptr) {
    stamp = std::max(stamp, StampIn(known->word));
    until = std::max(until, known->expires + Duration{1});
  }
  if (until <= seen_) return;
  if (known == nullptr && bytes() + ExpiringMap::kNameBytes > options_.limits.max_bytes) {
    ++ledger_.tombstones_refused;
    return;
  }
  tombstones_.Put(name, static_cast<uint64_t>(stamp.time_since_epoch().count()),
                  until - Duration{1});
}

}  // namespace pleat::inline v0_1
