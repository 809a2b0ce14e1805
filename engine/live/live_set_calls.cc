// The calls of a LiveSetBook that are no events: removals and their tombstones, Clear(), SetTtl() and
// SetOptions().
#include <algorithm>
#include <string>
#include <unordered_map>
#include <vector>

#include "engine/live/live_set_book.h"

namespace pleat::inline v0_1 {
namespace {

// So that tombstones go as fast as new ones come.
constexpr size_t kForgottenPerTombstone = 4;

}  // namespace

// --- Calls on members and series

LiveSetControl LiveSetBook::Remove(const SeriesRef& series, std::string_view id,
                                   const RemoveOptions& options, const Instant& at) {
  const uint64_t position = Begin(at);
  const bool only_if_not_newer = options.only_if_not_newer;
  EngineTime until = options.at.value_or(seen_);
  uint32_t number = FindMember(series, id);
  if (number != kNone && series_.IsRetained(number)) {
    // SetTtl() does not bring back what was removed.
    const EngineTime retained = members_.at(number).stamp;
    if (!only_if_not_newer || retained <= until) {
      until = std::max(until, retained);
      Forget(number);
    }
    number = kNone;
  }
  const bool newer = number != kNone && members_.at(number).stamp > until;
  const Duration own = number == kNone ? Duration::zero() : members_.ttl(number);
  if (number != kNone && !(newer && only_if_not_newer)) {
    until = std::max(until, members_.at(number).stamp);
    End(number, Cause::kUnpublished, {seen_, /*by_event=*/true, position});
  }
  // Nothing is stamped between two microseconds.
  if (options.later_wins) until = SaturatingSub(until, Duration{1});
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
  // A TTL of its own that the live set has as well, by SetOptions(), is given back.
  const bool gives_back = ttl == options_.ttl && series_.at(number).ttl != Duration::zero();
  if (before == ttl && !gives_back) return LiveSetControl::kNothing;
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

// --- Options

// Members of many series change at once: their changes come in the order of their stamps, which does
// not tell in which partition a series lies.
void LiveSetBook::SetOptions(const LiveSetOptions& options, const Instant& at) {
  const uint64_t position = Begin(at);
  const bool is_longer = options.ttl > options_.ttl;
  const bool same_times = options.ttl == options_.ttl && options.retention == options_.retention;
  options_ = options;
  if (same_times) return;
  series_.SetTimes(options.ttl, options.retention);
  if (is_longer) RestoreAll(position);
  uint32_t place = 0;
  series_.ForEachFrom(place, [this](uint32_t number) {
    series_.Arm(number);
    return true;
  });
  EndAllByTtl(position);
}

LiveSetBook::LogOrder LiveSetBook::OrderOf(uint32_t number, uint64_t position) const noexcept {
  const Member& member = members_.at(number);
  return {seen_, /*by_event=*/true, position, member.stamp, member.position};
}

void LiveSetBook::RestoreAll(uint64_t position) {
  std::vector<uint32_t> all;
  std::unordered_map<uint32_t, size_t> left;  // of each series, that are not announced yet
  uint32_t place = 0;
  series_.ForEachFrom(place, [&](uint32_t number) {
    if (series_.at(number).ttl != Duration::zero()) return true;
    const size_t before = all.size();
    const bool was_empty = series_.Live(number) == 0;
    series_.Restore(number, seen_, all);
    if (all.size() == before) return true;
    left[number] = all.size() - before;
    if (was_empty) series_.SetSince(number, position);
    return true;
  });
  std::ranges::sort(all, {}, [&](uint32_t member) { return OrderOf(member, position); });
  for (const uint32_t member : all) {
    ++ledger_.live;
    --ledger_.expired;
    Announce(Cause::kRestored, member, OrderOf(member, position),
             --left[members_.at(member).series]);
  }
}

// Nothing was due before: so members end in the order of their stamps.
void LiveSetBook::EndAllByTtl(uint64_t position) {
  Budget all;
  uint32_t series = kNone;
  SeriesTable::End end;
  while (series_.Next(seen_, all, series, end) == Deadlines::Found::kDue) {
    if (end.forgets) {
      ForgetInOpenSeries(end.member);
    } else {
      EndByTime(end.member, Cause::kTtlChanged, OrderOf(end.member, position));
    }
    if (!series_.CloseIfEmpty(series)) series_.Arm(series);
  }
}

// --- Tombstones

ExpiringMap::Name LiveSetBook::TombstoneOf(const SeriesRef& series,
                                           std::string_view id) const noexcept {
  const PackedKey packed(id);
  const size_t size = SpelledKey::Of(id).identity.size();
  const auto half = [&](const HashKey& key) {
    return KeyedHash(series.name.HashWith(key), packed.HashWith(key), size, key);
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
