#include "engine/live/series_table.h"

#include <algorithm>
#include <iterator>
#include <new>

#include "engine/base/check.h"

namespace pleat::inline v0_1 {

SeriesTable::SeriesTable(Pages& pool, MemberTable& members, Duration ttl, Duration retention)
    : pool_(pool),
      members_(members),
      ttl_(ttl),
      retention_(retention),
      names_(pool),
      own_(pool, sizeof(OwnOrder)),
      stamps_(pool, by_stamp_),
      table_(pool, sizeof(Series), ttl, Entries{*this}) {}

// The memory of inline forms is the entries' own, that of the others goes with the pools.
SeriesTable::~SeriesTable() {
  table_.ForEach([&](uint32_t number) { names_.Release(at(number).name); });
}

// --- Series

uint32_t SeriesTable::Open(const PackedKey& name, uint64_t hash) {
  const uint32_t number = table_.New();
  KeepNothing(number);
  Series& series = ChangeKept(number);
  series.name = names_.Keep(name);
  series.hash = static_cast<uint32_t>(hash);
  name_bytes_ += KeyArena::BytesFor(name);
  table_.Index(hash, number);
  return number;
}

bool SeriesTable::CloseIfEmpty(uint32_t number) {
  const Series& series = at(number);
  if (!series.plain.empty() || series.own != kNone || series.ttl != Duration::zero()) return false;
  KeepImage(number);
  table_.Unindex(number);
  name_bytes_ -= KeyArena::BytesFor(series.name);
  names_.Release(series.name);
  table_.Free(number);
  ++closed_;
  last_ = kNone;
  return true;
}

uint32_t SeriesTable::PrefetchOther(uint64_t hash) const noexcept {
  const uint32_t number = table_.Guess(hash);
  if (number != kNone) Prefetch(&at(number));
  return number;
}

// --- The order of members

void SeriesTable::Insert(uint32_t member) {
  Series& series = Change(members_.at(member).series);
  if (members_.ttl(member) == Duration::zero()) {
    series.latest = std::max(series.latest, members_.at(member).stamp);
    return stamps_.Insert(series.plain, member);
  }
  if (series.own == kNone) {
    series.own = own_.Allocate();
    ::new (own_.hot(series.own)) OwnOrder{};
    ++own_orders_;
  }
  stamps_.Insert(OwnOf(series).by_stamp, member);
  if (deadlines_ == nullptr) deadlines_ = std::make_unique<Deadlined>(pool_, by_deadline_);
  deadlines_->Insert(OwnOf(series).by_deadline, member);
}

void SeriesTable::Erase(uint32_t member) {
  Series& series = Change(members_.at(member).series);
  if (members_.ttl(member) == Duration::zero()) return stamps_.Erase(series.plain, member);
  OwnOrder& own = OwnOf(series);
  stamps_.Erase(own.by_stamp, member);
  deadlines_->Erase(own.by_deadline, member);
  if (!own.by_stamp.empty()) return;
  own_.Free(series.own);
  series.own = kNone;
  --own_orders_;
}

size_t SeriesTable::BytesToInsert(uint32_t number, bool has_own_ttl) const noexcept {
  if (number == kNone) return has_own_ttl ? sizeof(OwnOrder) : 0;
  const Series& series = at(number);
  if (!has_own_ttl) return stamps_.BytesToInsert(series.plain);
  if (series.own == kNone) return sizeof(OwnOrder);
  const OwnOrder& own = OwnOf(series);
  return stamps_.BytesToInsert(own.by_stamp) + deadlines_->BytesToInsert(own.by_deadline);
}

uint32_t SeriesTable::OldestLive(uint32_t number) const noexcept {
  const Series& series = at(number);
  const bool has_plain = series.plain.size() > series.retained;
  if (series.own == kNone) return stamps_.At(series.plain, series.retained);
  const uint32_t own = stamps_.Front(OwnOf(series).by_stamp);
  if (!has_plain) return own;
  const uint32_t plain = stamps_.At(series.plain, series.retained);
  return by_stamp_.KeyOf(own) < by_stamp_.KeyOf(plain) ? own : plain;
}

void SeriesTable::Restore(uint32_t number, EngineTime now, std::vector<uint32_t>& out) {
  Series& series = Change(number);
  const uint32_t stay =
      std::min(series.retained, stamps_.Rank(series.plain, FirstLiveStamp(TtlOf(number), now)));
  uint32_t left = series.retained - stay;
  series.retained = stay;
  if (left == 0) return;
  stamps_.ForEachFrom(series.plain, stay, [&](uint32_t member) {
    out.push_back(member);
    return --left > 0;
  });
}

// --- Deadlines

SeriesTable::End SeriesTable::NextEnd(uint32_t number) const {
  const Series& series = at(number);
  End end;
  const auto consider = [&](uint32_t member, EngineTime due, bool forgets) {
    const uint64_t position = members_.at(member).position;
    if (end.member != kNone && std::pair(due, position) >= std::pair(end.due, end.position)) return;
    end = {due, position, member, forgets};
  };
  if (series.retained > 0) {
    const uint32_t first = stamps_.Front(series.plain);
    consider(first, After(members_.at(first).stamp, retention_), /*forgets=*/true);
  }
  if (series.plain.size() > series.retained) {
    const uint32_t first = stamps_.At(series.plain, series.retained);
    consider(first, After(members_.at(first).stamp, TtlOf(number)), /*forgets=*/false);
  }
  if (series.own != kNone) {
    const uint32_t first = deadlines_->Front(OwnOf(series).by_deadline);
    consider(first, by_deadline_.KeyOf(first).time, /*forgets=*/false);
  }
  return end;
}

void SeriesTable::Arm(uint32_t number) {
  const End end = NextEnd(number);
  if (end.member == kNone) return table_.Disarm(number);
  Series& series = EntryToChange(number);
  if (series.armed && std::pair(series.armed_due, uint64_t{series.armed_position}) <=
                          std::pair(end.due, end.position)) {
    return;
  }
  series.armed_due = end.due;
  series.armed_position = end.position % Member::kPositions;
  nothing_before_ = std::min(nothing_before_, end.due);
  plain_before_ = std::min(plain_before_, end.due);
  table_.Arm(number);
}

Deadlines::Found SeriesTable::Next(EngineTime now, Budget& budget, uint32_t& number, End& end) {
  for (Due due;;) {
    const Deadlines::Found found = table_.Next(now, budget, due);
    if (found != Deadlines::Found::kDue) return found;
    number = due.number;
    end = NextEnd(number);
    PLEAT_DCHECK(end.member != kNone);
    if (end.due == due.ripe && end.position == due.order) return found;
    Arm(number);
  }
}

bool SeriesTable::MayBeDue(EngineTime now) noexcept {
  if (now < nothing_before_) return false;
  nothing_before_ = NextDue();
  if (!saving()) plain_before_ = nothing_before_;
  return nothing_before_ <= now;
}

// --- Counting

uint32_t SeriesTable::RankBefore(const Sequence& sequence, const SequenceKey& key) const {
  uint32_t rank = stamps_.Rank(sequence, key.time);
  if (key.position == 0 || key.time >= kNever) return rank;
  // Many members may have one stamp.
  uint32_t end = stamps_.Rank(sequence, key.time + Duration{1});
  while (rank < end) {
    const uint32_t middle = rank + (end - rank) / 2;
    const bool before = by_stamp_.KeyOf(stamps_.At(sequence, middle)) < key;
    (before ? rank : end) = before ? middle + 1 : middle;
  }
  return rank;
}

size_t SeriesTable::EndedPlain(uint32_t number, EngineTime now) const {
  const Series& series = at(number);
  if (series.plain.size() == series.retained || NothingEnds(series, now)) return series.retained;
  const EngineTime live_from = FirstLiveStamp(TtlOf(number), now);
  const uint32_t first = stamps_.At(series.plain, series.retained);
  if (members_.at(first).stamp >= live_from) return series.retained;
  return stamps_.Rank(series.plain, live_from);
}

size_t SeriesTable::GonePlain(uint32_t number, EngineTime now) const {
  const Series& series = at(number);
  if (series.plain.empty() || NothingEnds(series, now)) return 0;
  const EngineTime kept_from = FirstLiveStamp(std::max(TtlOf(number), retention_), now);
  if (members_.at(stamps_.Front(series.plain)).stamp >= kept_from) return 0;
  return stamps_.Rank(series.plain, kept_from);
}

uint32_t SeriesTable::EndedOwn(const OwnOrder& own, EngineTime now) const {
  if (by_deadline_.KeyOf(deadlines_->Front(own.by_deadline)).time > now) return 0;
  return deadlines_->Rank(own.by_deadline, now + Duration{1});
}

size_t SeriesTable::LiveAt(uint32_t number, EngineTime now) const {
  const Series& series = at(number);
  size_t live = series.plain.size() - EndedPlain(number, now);
  if (series.own == kNone) return live;
  const OwnOrder& own = OwnOf(series);
  return live + own.by_stamp.size() - EndedOwn(own, now);
}

size_t SeriesTable::HeldAt(uint32_t number, EngineTime now) const {
  const Series& series = at(number);
  const size_t held = series.plain.size() - GonePlain(number, now);
  if (series.own == kNone) return held;
  const OwnOrder& own = OwnOf(series);
  return held + own.by_stamp.size() - EndedOwn(own, now);
}

size_t SeriesTable::LiveBetween(uint32_t number, EngineTime from, EngineTime to,
                                EngineTime now) const {
  const Series& series = at(number);
  const size_t ended = EndedPlain(number, now);
  const auto rank = [&](const Sequence& sequence, EngineTime time) -> size_t {
    return time == kNever ? sequence.size() : stamps_.Rank(sequence, time);
  };
  const size_t begin = std::max(ended, rank(series.plain, from));
  const size_t end = std::max(begin, rank(series.plain, to));
  if (series.own == kNone) return end - begin;
  const OwnOrder& own = OwnOf(series);
  size_t live = rank(own.by_stamp, to) - rank(own.by_stamp, from);
  uint32_t overdue = EndedOwn(own, now);
  if (overdue > 0) {
    deadlines_->ForEachFrom(own.by_deadline, 0, [&](uint32_t member) {
      const EngineTime stamp = members_.at(member).stamp;
      if (from <= stamp && stamp < to) --live;
      return --overdue > 0;
    });
  }
  return end - begin + live;
}

size_t SeriesTable::RankOf(uint32_t number, EngineTime now) const {
  const Series& series = at(members_.at(number).series);
  const SequenceKey key = by_stamp_.KeyOf(number);
  const size_t ended = EndedPlain(members_.at(number).series, now);
  size_t rank = std::max<size_t>(ended, RankBefore(series.plain, key)) - ended;
  if (series.own == kNone) return rank;
  const OwnOrder& own = OwnOf(series);
  rank += RankBefore(own.by_stamp, key);
  uint32_t overdue = EndedOwn(own, now);
  if (overdue > 0) {
    deadlines_->ForEachFrom(own.by_deadline, 0, [&](uint32_t member) {
      if (by_stamp_.KeyOf(member) < key) --rank;
      return --overdue > 0;
    });
  }
  return rank;
}

// Those of one sequence, from the place `begin` on, or before it if the newest come first.
void SeriesTable::ListSequence(const Sequence& sequence, uint32_t begin, const Part& part,
                               EngineTime now, std::vector<uint32_t>& out) const {
  uint32_t first = RankBefore(sequence, {part.from, 0});
  uint32_t end = sequence.size();
  if (part.behind != nullptr) {
    const uint32_t rank = RankBefore(sequence, *part.behind);
    if (part.newest_first) {
      end = rank;
    } else {
      const bool is_there =
          rank < end && by_stamp_.KeyOf(stamps_.At(sequence, rank)) == *part.behind;
      first = std::max(first, rank + (is_there ? 1 : 0));
    }
  }
  first = std::max(first, begin);
  if (first >= end) return;
  const size_t enough = part.max > SIZE_MAX - out.size() ? SIZE_MAX : out.size() + part.max;
  uint32_t left = end - first;
  const auto take = [&](uint32_t member) {
    const bool counts = part.retained && members_.ttl(member) == Duration::zero();
    if (counts || DeadlineOf(member) > now) out.push_back(member);
    return --left > 0 && out.size() < enough;
  };
  if (part.newest_first) {
    stamps_.ForEachBackFrom(sequence, end - 1, take);
  } else {
    stamps_.ForEachFrom(sequence, first, take);
  }
}

void SeriesTable::List(uint32_t number, const Part& part, EngineTime now,
                       std::vector<uint32_t>& out) const {
  const Series& series = at(number);
  const auto old = static_cast<std::ptrdiff_t>(out.size());
  if (part.max == 0) return;
  const size_t begin = part.retained ? GonePlain(number, now) : EndedPlain(number, now);
  ListSequence(series.plain, static_cast<uint32_t>(begin), part, now, out);
  if (series.own == kNone) return;
  ListSequence(OwnOf(series).by_stamp, 0, part, now, out);
  std::sort(out.begin() + old, out.end(), [&](uint32_t a, uint32_t b) {
    return part.newest_first ? by_stamp_.KeyOf(b) < by_stamp_.KeyOf(a)
                             : by_stamp_.KeyOf(a) < by_stamp_.KeyOf(b);
  });
  if (out.size() - static_cast<size_t>(old) > part.max)
    out.resize(static_cast<size_t>(old) + part.max);
}

bool SeriesTable::ListPage(uint32_t series, const ListOptions& options, bool retained,
                           EngineTime now, ListCursor& cursor, std::vector<uint32_t>& out) const {
  const SequenceKey behind{cursor.stamp, cursor.position};
  const size_t limit = std::max<size_t>(options.limit, 1);
  const EngineTime since = options.since.value_or(EngineTime::min());
  List(series,
       {.newest_first = options.newest_first,
        .retained = retained,
        .from = since >= kEndOfTime ? kNever : since + Duration{1},
        .behind = cursor.begun ? &behind : nullptr,
        .max = limit == SIZE_MAX ? limit : limit + 1},
       now, out);
  const bool more = out.size() > limit;
  if (more) out.resize(limit);
  if (!out.empty()) {
    const Member& last = members_.at(out.back());
    cursor = {.begun = true, .stamp = last.stamp, .position = last.position};
  }
  return more;
}

size_t SeriesTable::CheckWhole() const {
  table_.CheckWhole();
  size_t members = 0;
  size_t live = 0;
  table_.ForEach([&](uint32_t number) {
    const Series& series = at(number);
    stamps_.CheckWhole(series.plain);
    members += series.plain.size();
    PLEAT_CHECK(series.retained <= series.plain.size());
    PLEAT_CHECK(series.plain.empty() ||
                members_.at(stamps_.Back(series.plain)).stamp <= series.latest);
    live += Live(number);
    PLEAT_CHECK(!at(number).armed || series.armed_due <= NextEnd(number).due);
    PLEAT_CHECK(!at(number).armed || nothing_before_ <= series.armed_due);
    PLEAT_CHECK(plain_before_ == (saving() ? kBeginningOfTime : nothing_before_));
    PLEAT_CHECK((NextEnd(number).member != kNone) == at(number).armed);
    if (series.own == kNone) return;
    const OwnOrder& own = OwnOf(series);
    stamps_.CheckWhole(own.by_stamp);
    deadlines_->CheckWhole(own.by_deadline);
    PLEAT_CHECK(own.by_stamp.size() == own.by_deadline.size() && !own.by_stamp.empty());
    members += own.by_stamp.size();
  });
  PLEAT_CHECK(members == members_.size());
  return live;
}

}  // namespace pleat::inline v0_1
