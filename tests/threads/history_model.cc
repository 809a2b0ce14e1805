#include "tests/threads/history_model.h"

#include <algorithm>
#include <tuple>
#include <utility>

namespace pleat::inline v0_1 {

bool HistoryModel::Apply(const HistoryCall& call) {
  using Kind = HistoryCall::Kind;
  Expire();
  switch (call.kind) {
    case Kind::kFold: {
      auto& group = open_[call.key];
      const bool opens = group.empty();
      group.push_back(call.event);
      if (group.size() == rules_.max_events) Close(call.key);
      return call.yes == opens;
    }
    case Kind::kPeek: return call.events == open_[call.key];
    case Kind::kFlush: {
      const bool was_open = !open_[call.key].empty();
      if (was_open) Close(call.key);
      return call.yes == was_open;
    }
    case Kind::kCancel: {
      const bool was_open = !open_[call.key].empty();
      open_[call.key].clear();
      return call.yes == was_open;
    }
    case Kind::kPop: return call.emissions == HandOut(call.max, /*lends=*/false);
    case Kind::kLease: return call.emissions == HandOut(call.max, /*lends=*/true);
    case Kind::kAck: return call.outcome == Ack(call.lease);
    case Kind::kNack: return call.outcome == Nack(call.lease);
    case Kind::kAdvance: now_ = std::max(now_, call.now); return true;
  }
  return false;
}

void HistoryModel::Close(size_t key) {
  ready_.push_back(
      {.generation = generations_++, .key = key, .events = std::exchange(open_[key], {})});
}

// What ran out comes back at the instant at which it did, in the order in which it was lent.
void HistoryModel::Expire() {
  std::erase_if(lent_, [this](const Waiting& lent) {
    if (lent.at > now_) return false;
    if (lent.deliveries < rules_.max_deliveries) Return(lent, lent.at, /*by_call=*/false);
    return true;
  });
}

void HistoryModel::Return(Waiting waiting, int64_t at, bool by_call) {
  waiting.at = at;
  waiting.by_call = by_call;
  waiting.order = by_call ? returns_++ : waiting.lease;
  const auto key = [](const Waiting& w) { return std::tuple(w.at, w.by_call, w.order); };
  const auto place = std::ranges::upper_bound(returned_, key(waiting), {}, key);
  returned_.insert(place, std::move(waiting));
}

bool HistoryModel::Holds(size_t key) const {
  const auto of_key = [key](const Waiting& waiting) { return waiting.key == key; };
  return std::ranges::any_of(lent_, of_key) || std::ranges::any_of(returned_, of_key);
}

std::vector<SeenEmission> HistoryModel::HandOut(size_t max, bool lends) {
  std::vector<SeenEmission> out;
  while (out.size() < max) {
    auto& from = returned_.empty() ? ready_ : returned_;
    const auto next =
        returned_.empty()
            ? std::ranges::find_if(ready_, [this](const Waiting& w) { return !Holds(w.key); })
            : returned_.begin();
    if (next == from.end()) break;
    Waiting waiting = std::move(*next);
    from.erase(next);
    if (lends) {
      waiting.lease = ++leases_;
      ++waiting.deliveries;
      waiting.at = now_ + rules_.ttl;
      lent_.push_back(waiting);
    }
    out.push_back({.generation = waiting.generation,
                   .events = waiting.events,
                   .lease = lends ? waiting.lease : 0,
                   .deliveries = lends ? waiting.deliveries : 0});
  }
  return out;
}

LeaseOutcome HistoryModel::Ack(uint64_t lease) {
  const auto lent = std::ranges::find(lent_, lease, &Waiting::lease);
  if (lent != lent_.end()) {
    lent_.erase(lent);
    acked_.push_back(lease);
    return LeaseOutcome::kDone;
  }
  return std::ranges::count(acked_, lease) > 0 ? LeaseOutcome::kDone : LeaseOutcome::kStale;
}

LeaseOutcome HistoryModel::Nack(uint64_t lease) {
  const auto lent = std::ranges::find(lent_, lease, &Waiting::lease);
  if (lent == lent_.end()) return LeaseOutcome::kStale;
  const Waiting waiting = *lent;
  lent_.erase(lent);
  if (waiting.deliveries < rules_.max_deliveries) Return(waiting, now_, /*by_call=*/true);
  return LeaseOutcome::kDone;
}

void HistoryModel::AppendTo(std::string& out) const {
  const auto put = [&out](uint64_t number) {
    out.append(reinterpret_cast<const char*>(&number), 4);  // none is larger in a history
  };
  const auto put_all = [&](const std::vector<Waiting>& all) {
    put(all.size());
    for (const Waiting& w : all) {
      put(w.generation);
      put(w.events.size());
      for (const uint16_t event : w.events) put(event);
      put(w.lease);
      put(w.deliveries);
      put(static_cast<uint64_t>(w.at));
    }
  };
  put(static_cast<uint64_t>(now_));
  put(generations_);
  put(leases_);
  for (const auto& group : open_) {
    put(group.size());
    for (const uint16_t event : group) put(event);
  }
  put_all(ready_);
  put_all(lent_);
  put_all(returned_);
  std::vector<uint64_t> acked = acked_;
  std::ranges::sort(acked);
  for (const uint64_t lease : acked) put(lease);
}

}  // namespace pleat::inline v0_1
