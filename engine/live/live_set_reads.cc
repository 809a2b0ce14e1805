// The reads of a LiveSetBook: they change nothing, and ask for no Instant.
#include <algorithm>
#include <vector>

#include "engine/live/live_set_book.h"

namespace pleat::inline v0_1 {

uint32_t LiveSetBook::FindMember(const SeriesRef& series, std::string_view id) const {
  const uint32_t number = series_.Find(series.name, series.hash);
  if (number == kNone || id.size() > kKeyBytesMax) return kNone;
  return members_.Find(MemberRef(id, series.hash, hash_key_), number);
}

uint32_t LiveSetBook::FindLive(const SeriesRef& series, std::string_view id, EngineTime now) const {
  const uint32_t number = FindMember(series, id);
  return number == kNone || series_.DeadlineOf(number) <= now ? kNone : number;
}

AnyLive LiveSetBook::Show(uint32_t number) const noexcept {
  const Member& member = members_.at(number);
  return {.id = member.name(),
          .stamp = member.stamp,
          .deadline = series_.DeadlineOf(number),
          .version = members_.version(number),
          .payload = ops_.size > 0 ? members_.payload(number) : nullptr};
}

size_t LiveSetBook::Count(const SeriesRef& series, EngineTime now) const {
  const uint32_t number = series_.Find(series.name, series.hash);
  return number == kNone ? 0 : series_.LiveAt(number, TimeFor(now));
}

size_t LiveSetBook::CountBetween(const SeriesRef& series, EngineTime from, EngineTime to,
                                 EngineTime now) const {
  const uint32_t number = series_.Find(series.name, series.hash);
  return number == kNone ? 0 : series_.LiveBetween(number, from, to, TimeFor(now));
}

bool LiveSetBook::List(const SeriesRef& series, const ListOptions& options, EngineTime now,
                       ListCursor& cursor, AnyLiveSet::See see) const {
  const uint32_t number = series_.Find(series.name, series.hash);
  if (number == kNone) return false;
  std::vector<uint32_t> members;
  const bool more =
      series_.ListPage(number, options, /*retained=*/false, TimeFor(now), cursor, members);
  for (const uint32_t member : members) see(Show(member));
  return more;
}

bool LiveSetBook::Find(const SeriesRef& series, std::string_view id, EngineTime now,
                       AnyLiveSet::See see) const {
  const uint32_t member = FindLive(series, id, TimeFor(now));
  if (member == kNone) return false;
  see(Show(member));
  return true;
}

std::optional<size_t> LiveSetBook::Rank(const SeriesRef& series, std::string_view id,
                                        EngineTime now) const {
  const uint32_t member = FindLive(series, id, TimeFor(now));
  if (member == kNone) return std::nullopt;
  return series_.RankOf(member, TimeFor(now));
}

bool LiveSetBook::ForEachFrom(uint32_t& place, EngineTime now, Visit visit) const {
  return series_.ForEachFrom(place, [&](uint32_t number) {
    const size_t live = series_.LiveAt(number, TimeFor(now));
    const Series& series = series_.at(number);
    return live == 0 || visit(series.name.view(), live, series.since);
  });
}

}  // namespace pleat::inline v0_1
