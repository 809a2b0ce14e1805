#include "engine/live/change_log.h"

#include <algorithm>
#include <iterator>
#include <utility>

namespace pleat::inline v0_1 {

ChangeLog::~ChangeLog() {
  for (; first_ < next_; ++first_) Drop(first_);
}

void ChangeLog::Drop(uint64_t number) {
  Entry& entry = EntryAt(number);
  if (entry.has_payload) ops_.destroy(ops_.context, PayloadAt(number));
  entry.has_payload = false;
}

void ChangeLog::Note(const AnyChange& change, const Order& order) {
  PLEAT_DCHECK(keeps_ && change.at == order.at);
  PLEAT_DCHECK(first_ == next_ || this->order(next_ - 1) <= order);
  if (next_ - first_ == max_) {
    for (Prefixed& each : prefixes_) {
      if (SeriesOf(first_).starts_with(each.prefix)) each.gone = first_;
    }
    Drop(first_);
    ++first_;
  }
  const size_t block = SlotOf(next_) / kBlockEntries;
  if (blocks_.size() <= block) blocks_.resize(block + 1);
  if (blocks_[block] == nullptr) {
    blocks_[block] = std::make_unique<Block>();
    if (ops_.size > 0) {
      blocks_[block]->payloads = std::make_unique<std::byte[]>(kBlockEntries * ops_.size);
    }
  }
  Entry& entry = EntryAt(next_);
  entry.order = order;
  entry.stamp = change.stamp;
  entry.deadline = change.deadline;
  entry.count = change.count;
  entry.away = change.away;
  entry.cause = change.cause;
  entry.text.assign(change.series).append(change.id);
  entry.series_size = static_cast<uint32_t>(change.series.size());
  entry.before = entry.behind = kNone;
  if (change.payload != nullptr && ops_.size > 0) {
    ops_.copy(ops_.context, PayloadAt(next_), change.payload);
    entry.has_payload = true;
  }
  LinkAndTell(change.series, next_++);
}

void ChangeLog::LinkAndTell(std::string_view series, uint64_t number) {
  for (Prefixed& each : prefixes_) {
    if (!series.starts_with(each.prefix)) continue;
    each.before = std::exchange(each.last, number);
    each.listener->MayHaveChanges();
  }
  const auto it = watched_.find(series);
  if (it == watched_.end()) return;
  Watched& watched = it->second;
  EntryAt(number).before = watched.last;
  if (watched.last != kNone && watched.last >= first_) EntryAt(watched.last).behind = number;
  watched.last = number;
  for (ChangeListener* listener : watched.listeners) listener->MayHaveChanges();
}

AnyChange ChangeLog::at(uint64_t number) const noexcept {
  PLEAT_DCHECK(number < next_);
  const Entry& entry = EntryAt(number);
  AnyChange change;
  change.change = {partition_, number};
  change.cause = entry.cause;
  change.at = entry.order.at;
  change.count = entry.count;
  change.away = entry.away;
  change.stamp = entry.stamp;
  change.deadline = entry.deadline;
  const std::string_view text = entry.text;
  change.series = text.substr(0, entry.series_size);
  change.id = text.substr(entry.series_size);
  change.payload = entry.has_payload ? PayloadAt(number) : nullptr;
  return change;
}

// --- Readers and listeners

uint64_t ChangeLog::NextOf(const WatchScope& scope, uint64_t number) const {
  PLEAT_DCHECK(first_ <= number && number <= next_);
  if (number == next_ || scope.Covers(SeriesOf(number))) return number;
  if (!scope.is_prefix) {
    const auto it = watched_.find(scope.name);
    if (it != watched_.end() && number >= it->second.since) {
      // A reader stands behind the change that it read last.
      if (number > first_ && number > it->second.since && SeriesOf(number - 1) == scope.name) {
        return std::min(next_, EntryAt(number - 1).behind);
      }
      return FirstLinked(it->second, number);
    }
  } else if (const Prefixed* const prefix = FindPrefix(scope.name, number)) {
    if (prefix->last == kNone || prefix->last < number) return next_;
    if (prefix->before == kNone || prefix->before < number) return prefix->last;
  }
  while (number < next_ && !scope.Covers(SeriesOf(number))) ++number;
  return number;
}

bool ChangeLog::HasAll(const WatchScope& scope, uint64_t number) const {
  if (number >= first_) return number <= next_;
  if (scope.is_prefix) {
    const Prefixed* const prefix = FindPrefix(scope.name, number);
    return prefix != nullptr && (prefix->gone == kNone || prefix->gone < number);
  }
  const auto it = watched_.find(scope.name);
  if (it == watched_.end() || number < it->second.since) return false;
  // The latest change of the series that is not kept any more.
  const uint64_t kept = FirstLinked(it->second, first_);
  const uint64_t gone = kept < next_ ? EntryAt(kept).before : it->second.last;
  return gone == kNone || gone < number;
}

// One that knows the changes from `number` on.
const ChangeLog::Prefixed* ChangeLog::FindPrefix(std::string_view prefix, uint64_t number) const {
  const auto it = std::find_if(prefixes_.begin(), prefixes_.end(), [&](const Prefixed& each) {
    return each.since <= number && each.prefix == prefix;
  });
  return it == prefixes_.end() ? nullptr : &*it;
}

// The first change of a series from `number` on, found from its last one.
uint64_t ChangeLog::FirstLinked(const Watched& watched, uint64_t number) const {
  uint64_t found = next_;
  for (uint64_t at = watched.last; at != kNone && at >= number; at = EntryAt(at).before) {
    found = at;
  }
  return found;
}

void ChangeLog::Listen(const WatchScope& scope, ChangeListener& listener) {
  Keep();
  if (scope.is_prefix) {
    prefixes_.push_back({.prefix = std::string(scope.name), .listener = &listener, .since = next_});
  } else {
    watched_.try_emplace(std::string(scope.name), Watched{.since = next_})
        .first->second.listeners.push_back(&listener);
  }
}

void ChangeLog::Unlisten(ChangeListener& listener) {
  std::erase_if(prefixes_, [&](const auto& each) { return each.listener == &listener; });
  for (auto it = watched_.begin(); it != watched_.end();) {
    std::vector<ChangeListener*>& listeners = it->second.listeners;
    std::erase(listeners, &listener);
    it = listeners.empty() ? watched_.erase(it) : std::next(it);
  }
}

}  // namespace pleat::inline v0_1
