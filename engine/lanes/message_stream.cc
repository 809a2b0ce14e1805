#include "engine/lanes/message_stream.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "engine/base/check.h"
#include "engine/base/hash.h"

namespace pleat::inline v0_1 {
namespace {

uint64_t DigestWith(uint64_t digest, std::string_view key, std::string_view payload) {
  return StableHashOfWords(digest, StablePartitionHash(key), StablePartitionHash(payload), 23);
}

}  // namespace

void MessageStream::StartAt(uint64_t made, uint64_t digest, const StreamCheckpoint& last) {
  PLEAT_CHECK(made_ == 0 && made <= last.confirmed);
  made_ = made;
  digest_ = digest;
  decided_ = last.decided;
  confirmed_before_ = last.confirmed;
  for (const NumberRange& range : last.ranges) confirmed_above_.emplace(range.begin, range.end);
}

void MessageStream::CountConfirmed(uint64_t number) {
  if (!WasConfirmed(number)) AddConfirmed(number);
}

bool MessageStream::WasConfirmed(uint64_t number) const {
  if (number < confirmed_before_) return true;
  const auto behind = confirmed_above_.upper_bound(number);
  return behind != confirmed_above_.begin() && number < std::prev(behind)->second;
}

void MessageStream::Add(std::string_view key, std::string payload) {
  digest_ = DigestWith(digest_, key, payload);
  const uint64_t number = made_;
  if (WasConfirmed(number)) {
    if (!entries_.empty()) entries_.push_back(nullptr);
    ++made_;
    return;
  }
  const size_t hash = absl::Hash<absl::string_view>()({key.data(), key.size()});
  const auto last = last_of_keys_.find(Key{key, hash});
  const uint64_t before = last == last_of_keys_.end() ? kNone : *last;
  if (before != kNone) {
    at(before).behind = number;
    last_of_keys_.erase(last);
  }
  entries_.push_back(std::make_unique<Entry>(Entry{
      .key = std::string(key), .payload = std::move(payload), .key_hash = hash, .before = before}));
  ++made_;
  ++waiting_;
  bytes_ += BytesIn(*entries_.back());
  last_of_keys_.insert(number);
}

StreamCheckpoint MessageStream::Checkpoint() const {
  StreamCheckpoint checkpoint{.name = name_hash_,
                              .decided = made_,
                              .digest = digest_,
                              .confirmed = confirmed(),
                              .ranges = {}};
  for (const auto& [begin, end] : confirmed_above_) {
    if (checkpoint.ranges.size() == kConfirmedRangesMax) break;
    if (begin < checkpoint.confirmed) continue;  // all before it is confirmed as well
    checkpoint.ranges.push_back({.begin = begin, .end = end});
  }
  return checkpoint;
}

// --- Leases

// While EndLeases() has not looked at it. A message may have had another lease since.
bool MessageStream::IsCurrent(const LeaseEnd& lease) const {
  const Entry* const entry = Find(lease.number);
  return entry != nullptr && entry->is_lent && entry->lent_until == lease.until;
}

void MessageStream::SetLease(uint64_t number, EngineTime until) {
  constexpr size_t kFew = 64;
  Entry& entry = at(number);
  if (entry.is_lent && entry.lent_until == until) return;
  if (!std::exchange(entry.is_lent, true)) ++lent_;
  entry.lent_until = until;
  // Leases that ended by a confirmation are at most as many as those that are left.
  if (leases_.size() >= 2 * lent_ + kFew) {
    std::erase_if(leases_, [this](const LeaseEnd& each) { return !IsCurrent(each); });
    std::make_heap(leases_.begin(), leases_.end());
  }
  leases_.push_back({.until = until, .number = number});
  std::push_heap(leases_.begin(), leases_.end());
}

void MessageStream::EndLeases(EngineTime now) {
  while (!leases_.empty() && leases_.front().until <= now) {
    const LeaseEnd lease = leases_.front();
    std::pop_heap(leases_.begin(), leases_.end());
    leases_.pop_back();
    if (!IsCurrent(lease)) continue;
    at(lease.number).is_lent = false;
    --lent_;
    if (at(lease.number).before == kNone) MakeReady(lease.number);
  }
}

bool MessageStream::CanBeLent(uint64_t number, LeaseKeys keys) const {
  const Entry* const entry = Find(number);
  if (entry == nullptr || entry->is_lent) return false;
  return entry->before == kNone ||
         (keys == LeaseKeys::kTogether && at(entry->before).lent_by == lend_calls_);
}

size_t MessageStream::Lend(size_t max, EngineTime now, EngineTime until, LeaseKeys keys,
                           Take take) {
  EndLeases(now);
  ++lend_calls_;
  size_t lent = 0;
  const auto lend = [&](uint64_t number) {
    SetLease(number, until);
    Entry& entry = at(number);
    entry.lent_by = lend_calls_;
    take(number, entry);
    ++lent;
    return entry.behind;
  };
  std::vector<uint64_t> behind;
  while (lent < max && !ready_.empty()) {
    const uint64_t number = *ready_.begin();
    ready_.erase(ready_.begin());
    const uint64_t next = lend(number);
    if (keys == LeaseKeys::kTogether && MakeReady(next)) behind.push_back(next);
  }
  // Those that had no room in this call wait for the ones before them.
  for (const uint64_t number : behind) {
    if (!at(number).is_lent) ready_.erase(number);
  }
  looked_at_ = std::max(looked_at_, confirmed());
  for (; lent < max && looked_at_ < std::min(decided_, made_); ++looked_at_) {
    if (CanBeLent(looked_at_, keys)) lend(looked_at_);
  }
  return lent;
}

// If there is one that was looked at and can be lent. The first of its line, or the next one.
bool MessageStream::MakeReady(uint64_t number) {
  return number < looked_at_ && !at(number).is_lent && ready_.insert(number).second;
}

// --- Confirming

// Its range grows, or is a new one; those below the first message that is not confirmed go.
void MessageStream::AddConfirmed(uint64_t number) {
  uint64_t end = number + 1;
  const auto behind = confirmed_above_.lower_bound(number);
  auto range = behind;
  const bool joins_before =
      behind != confirmed_above_.begin() && std::prev(behind)->second == number;
  if (behind != confirmed_above_.end() && behind->first == end) {
    end = behind->second;
    range = confirmed_above_.erase(behind);
  }
  if (joins_before) {
    std::prev(range)->second = end;
  } else {
    confirmed_above_.emplace(number, end);
  }
}

// The one behind it is the first of the line now, if there is one and if this was the first.
void MessageStream::LeaveLine(uint64_t number, const Entry& entry) {
  if (entry.is_lent) {
    --lent_;
  } else if (number < looked_at_) {
    ready_.erase(number);
  }
  if (entry.behind != kNone) {
    at(entry.behind).before = entry.before;
  } else {
    last_of_keys_.erase(number);
    if (entry.before != kNone) last_of_keys_.insert(entry.before);
  }
  if (entry.before != kNone) {
    at(entry.before).behind = entry.behind;
  } else {
    MakeReady(entry.behind);
  }
}

bool MessageStream::Confirm(uint64_t number) {
  if (FindDecided(number) == nullptr) return false;
  Entry& entry = at(number);
  LeaveLine(number, entry);
  bytes_ -= BytesIn(entry);
  --waiting_;
  if (number != confirmed()) {
    entries_[number - confirmed()].reset();
    AddConfirmed(number);
    return true;
  }
  do entries_.pop_front();
  while (!entries_.empty() && entries_.front() == nullptr);
  while (!confirmed_above_.empty() && confirmed_above_.begin()->first < confirmed()) {
    confirmed_above_.erase(confirmed_above_.begin());
  }
  return true;
}

bool MessageStream::LendAgain(uint64_t number, EngineTime at) {
  const Entry* const entry = FindDecided(number);
  if (entry == nullptr || (!entry->is_lent && entry->before != kNone)) return false;
  if (number < looked_at_) ready_.erase(number);
  SetLease(number, at);
  return true;
}

}  // namespace pleat::inline v0_1
