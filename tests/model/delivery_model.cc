// See the header, and "Popping and leasing" and "Backlog" in semantics.md.
#include "tests/model/delivery_model.h"

#include <algorithm>
#include <utility>

namespace pleat::inline v0_1 {

// Emissions come in.

void DeliveryModel::Add(ModelGroup emission) {
  const std::string key = emission.key;
  const int partition = HomeOf(emission);
  const Number number = next_number_++;
  parcels_[number].emission = std::move(emission);
  new_.insert(number);
  if (options_.limits.on_backlog != OnBacklog::kDropOldest) return;
  if (Backlog(partition) <= Share(options_.limits.max_backlog)) return;

  // It is itself among those of which one is found.
  auto oldest = std::find_if(new_.begin(), new_.end(), [&](Number candidate) {
    return PartitionOf(candidate) == partition && !IsInFlight(candidate);
  });
  if (oldest == new_.end()) {
    oldest = std::find_if(new_.begin(), new_.end(), [&](Number candidate) {
      return parcels_[candidate].emission.key == key;
    });
  }
  Drop(*oldest);
  new_.erase(oldest);
}

size_t DeliveryModel::Backlog(int partition) const {
  return static_cast<size_t>(
      std::count_if(parcels_.begin(), parcels_.end(),
                    [&](const auto& entry) { return PartitionOf(entry.first) == partition; }));
}

bool DeliveryModel::BacklogIsFull(int partition) const {
  const size_t limit = Share(options_.limits.max_backlog);
  return parcels_.size() >= limit && Backlog(partition) >= limit;
}

void DeliveryModel::AddTo(Ledger& ledger) const {
  ledger += ledger_;
  ledger.ready += new_.size();
  ledger.dead += dead_.size();
  ledger.unacked += parcels_.size() - new_.size() - dead_.size();
}

// Of steps that are not about a lease no engine time is known.
void DeliveryModel::Note(TraceStep step, const Parcel& parcel, LeaseTime at) {
  const ModelGroup& emission = parcel.emission;
  TraceRecord record = StepOf(step, emission, EngineTime{});
  record.emission = emission.id;
  record.reason = emission.reason;
  record.revision = emission.revision;
  record.lease_at = at;
  record.deliveries = parcel.deliveries;
  steps_.push_back(std::move(record));
}

void DeliveryModel::Drop(Number number) {
  Note(TraceStep::kDropped, parcels_.at(number), now_);
  parcels_.erase(number);
  ++ledger_.dropped;
}

// Time.

void DeliveryModel::MoveTime(LeaseTime to) {
  to = std::max(now_, Clamp(to));
  while (!timers_.empty() && std::get<LeaseTime>(*timers_.begin()) <= to) {
    const auto [at, delivery, number] = *timers_.begin();
    timers_.erase(timers_.begin());
    now_ = std::max(now_, at);
    const Return by_time{.at = at, .by_call = false, .turn = delivery};
    if (parcels_[number].stage == Stage::kDelayed) {
      ComeBack(number, by_time);
    } else {
      ++ledger_.ran_out;
      Note(TraceStep::kRanOut, parcels_[number], at);
      if (!Bury(number, DeadReason::kRanOut, by_time)) ComeBack(number, by_time);
    }
  }
  now_ = to;
}

std::optional<LeaseTime> DeliveryModel::FirstDue() const {
  if (timers_.empty()) return std::nullopt;
  return std::get<LeaseTime>(*timers_.begin());
}

// Emissions go out.

std::optional<DeliveryModel::Number> DeliveryModel::Next(PartitionRange from, bool to_lend) const {
  for (const auto& [came_back, number] : back_) {
    if (from.Contains(PartitionOf(number))) return number;
  }
  for (const Number number : new_) {
    const int partition = PartitionOf(number);
    const auto keys = keys_in_flight_.find(partition);
    const bool full =
        keys != keys_in_flight_.end() && keys->second >= Share(options_.leases.max_leased);
    if (from.Contains(partition) && !IsInFlight(number) && !(to_lend && full)) return number;
  }
  return std::nullopt;
}

void DeliveryModel::TakeOut(Number number) {
  Parcel& parcel = parcels_[number];
  if (parcel.stage == Stage::kBack) {
    back_.erase(parcel.came_back);
  } else {
    new_.erase(number);
  }
}

// Removes an emission for good, and the key goes on.
ModelGroup DeliveryModel::Finish(Number number) {
  Parcel parcel = std::move(parcels_[number]);
  parcels_.erase(number);
  if (parcel.stage != Stage::kNew) FreeKey(parcel.emission, ByCall());
  return std::move(parcel.emission);
}

std::vector<ModelGroup> DeliveryModel::Pop(size_t max, PartitionRange from) {
  std::vector<ModelGroup> out;
  while (out.size() < max) {
    const std::optional<Number> next = Next(from, /*to_lend=*/false);
    if (!next) break;
    TakeOut(*next);
    ++ledger_.popped;
    Note(TraceStep::kPopped, parcels_[*next], now_);
    out.push_back(Finish(*next));
  }
  return out;
}

std::vector<ModelLease> DeliveryModel::Lease(size_t max, Duration ttl, PartitionRange from) {
  std::vector<ModelLease> out;
  while (out.size() < max) {
    const std::optional<Number> next = Next(from, /*to_lend=*/true);
    if (!next) break;
    TakeOut(*next);
    out.push_back(Lend(*next, std::clamp(ttl, Duration{0}, options_.leases.max_age)));
  }
  MoveTime(now_);  // at the end of time they are over at once
  return out;
}

ModelLease DeliveryModel::Lend(Number number, Duration ttl) {
  Parcel& parcel = parcels_[number];
  PutInFlight(parcel.emission);
  if (parcel.deliveries++ == 0) parcel.first_leased = now_;
  parcel.leased = now_;
  const int partition = HomeOf(parcel.emission);
  const uint64_t of_partition = ++deliveries_of_[partition];
  deliveries_.push_back({.partition = partition, .of_partition = of_partition, .number = number});
  ++ledger_.deliveries;
  parcel.delivery = deliveries_.size();
  Note(TraceStep::kLent, parcel, now_);
  WaitForTime(number, Stage::kLent, SaturatingAdd(now_, ttl));
  return {.emission = parcel.emission,
          .delivery = parcel.delivery,
          .of_partition = of_partition,
          .deliveries = parcel.deliveries,
          .until = parcel.ends};
}

// Leases end.

DeliveryModel::Parcel* DeliveryModel::Find(uint64_t delivery, Stage stage) {
  if (delivery == 0) return nullptr;
  const auto parcel = parcels_.find(NumberOf(delivery));
  const bool found = parcel != parcels_.end() && parcel->second.delivery == delivery &&
                     parcel->second.stage == stage;
  return found ? &parcel->second : nullptr;
}

std::optional<ModelGroup> DeliveryModel::LentBy(uint64_t name) {
  const Parcel* const lent = Find(name, Stage::kLent);
  return lent == nullptr ? std::nullopt : std::optional(lent->emission);
}

LeaseOutcome DeliveryModel::Ack(uint64_t name) {
  if (Parcel* const lent = Find(name, Stage::kLent)) {
    Delivery& delivery = deliveries_[name - 1];
    timers_.erase({lent->ends, name, delivery.number});
    Note(TraceStep::kAcked, *lent, now_);
    Finish(delivery.number);
    delivery.acked = true;
    ++ledger_.acked;
    return LeaseOutcome::kDone;
  }
  return AckAgain(name);
}

LeaseOutcome DeliveryModel::AckAgain(uint64_t name) const {
  if (name == 0) return LeaseOutcome::kStale;
  const Delivery& delivery = deliveries_[name - 1];
  const bool remembered =
      deliveries_of_.at(delivery.partition) - delivery.of_partition < kRemembered;
  return delivery.acked && remembered ? LeaseOutcome::kDone : LeaseOutcome::kStale;
}

LeaseOutcome DeliveryModel::Nack(uint64_t name, Duration delay) {
  Parcel* const lent = Find(name, Stage::kLent);
  if (lent == nullptr) return LeaseOutcome::kStale;
  const Number number = NumberOf(name);
  timers_.erase({lent->ends, name, number});
  ++ledger_.nacked;
  Note(TraceStep::kNacked, *lent, now_);
  const Duration allowed = std::min(delay, options_.leases.max_nack_delay);
  const Return by_call = ByCall();
  if (!Bury(number, DeadReason::kNacked, by_call)) {
    if (allowed > Duration{0}) {
      WaitForTime(number, Stage::kDelayed, SaturatingAdd(now_, allowed));
    } else {
      ComeBack(number, by_call);
    }
  }
  MoveTime(now_);
  return allowed < delay ? LeaseOutcome::kClamped : LeaseOutcome::kDone;
}

Extension DeliveryModel::Extend(uint64_t name, Duration ttl) {
  Parcel* const lent = Find(name, Stage::kLent);
  if (lent == nullptr) return {.outcome = LeaseOutcome::kStale};
  const Number number = NumberOf(name);
  timers_.erase({lent->ends, name, number});
  const LeaseTime wanted = SaturatingAdd(now_, ttl);
  const LeaseTime latest = SaturatingAdd(lent->leased, options_.leases.max_age);
  WaitForTime(number, Stage::kLent, std::max(lent->ends, std::min(wanted, latest)));
  return {.outcome = wanted > latest ? LeaseOutcome::kClamped : LeaseOutcome::kDone,
          .until = lent->ends};
}

// Dead letters.

std::vector<ModelLetter> DeliveryModel::DeadLetters() const {
  std::vector<ModelLetter> out;
  for (const Number number : dead_) {
    const Parcel& parcel = parcels_.at(number);
    out.push_back({.emission = parcel.emission,
                   .delivery = parcel.delivery,
                   .deliveries = parcel.deliveries,
                   .first_leased = parcel.first_leased,
                   .died = parcel.ends,
                   .why = parcel.why});
  }
  return out;
}

LeaseOutcome DeliveryModel::RetryDeadLetter(uint64_t name) {
  Parcel* const dead = Find(name, Stage::kDead);
  if (dead == nullptr) return LeaseOutcome::kStale;
  const Number number = NumberOf(name);
  dead_.remove(number);
  Note(TraceStep::kRetried, *dead, now_);
  dead->deliveries = 0;
  if (const auto holder = holders_.find(dead->emission.key);
      holder != holders_.end() && holder->second == number) {
    holders_.erase(holder);
    ++keys_in_flight_[HomeOf(dead->emission)];
    ComeBack(number, ByCall());
  } else if (const auto line = in_flight_.find(dead->emission.key); line != in_flight_.end()) {
    dead->stage = Stage::kInLine;
    line->second.push_back(number);
  } else {
    PutInFlight(dead->emission);
    ComeBack(number, ByCall());
  }
  return LeaseOutcome::kDone;
}

LeaseOutcome DeliveryModel::DropDeadLetter(uint64_t name) {
  if (Find(name, Stage::kDead) == nullptr) return LeaseOutcome::kStale;
  const Number number = NumberOf(name);
  dead_.remove(number);
  LetGo(number, ByCall());
  Drop(number);
  return LeaseOutcome::kDone;
}

// Whether its last delivery has made a dead letter of it.
bool DeliveryModel::Bury(Number number, DeadReason why, Return died) {
  Parcel& parcel = parcels_[number];
  if (parcel.deliveries < options_.leases.max_deliveries) return false;
  const int partition = HomeOf(parcel.emission);
  const auto here = [&](Number dead) { return PartitionOf(dead) == partition; };
  const auto dead_here = std::count_if(dead_.begin(), dead_.end(), here);
  if (static_cast<size_t>(dead_here) >= Share(options_.leases.max_dead_letters)) {
    if (options_.leases.on_dead_limit == OnDeadLimit::kKeepTrying) return false;
    const auto oldest = std::find_if(dead_.begin(), dead_.end(), here);
    LetGo(*oldest, died);
    Drop(*oldest);
    dead_.erase(oldest);
  }
  parcel.stage = Stage::kDead;
  parcel.why = why;
  parcel.ends = died.at;
  Note(TraceStep::kDead, parcel, died.at);
  dead_.push_back(number);
  ++deaths_;
  if (options_.leases.wait_behind_dead) {
    holders_.emplace(parcel.emission.key, number);
    --keys_in_flight_[partition];
  } else {
    FreeKey(parcel.emission, died);
  }
  return true;
}

// The key waits for this letter no more, if it did.
void DeliveryModel::LetGo(Number letter, Return how) {
  const ModelGroup& emission = parcels_.at(letter).emission;
  const auto holder = holders_.find(emission.key);
  if (holder == holders_.end() || holder->second != letter) return;
  holders_.erase(holder);
  ++keys_in_flight_[HomeOf(emission)];
  FreeKey(emission, how);
}

// What waited for letters comes back as if by time.
void DeliveryModel::SetOptions(const FolderOptions& options) {
  options_ = options;
  if (options_.leases.wait_behind_dead) return;
  for (const Number letter : dead_) LetGo(letter, {.at = now_, .by_call = false, .turn = 0});
}

size_t DeliveryModel::behind_dead() const {
  return static_cast<size_t>(std::count_if(parcels_.begin(), parcels_.end(), [&](const auto& each) {
    const Stage stage = each.second.stage;
    return (stage == Stage::kNew || stage == Stage::kInLine) &&
           holders_.contains(each.second.emission.key);
  }));
}

// Keys.

void DeliveryModel::PutInFlight(const ModelGroup& emission) {
  if (in_flight_.try_emplace(emission.key).second) ++keys_in_flight_[HomeOf(emission)];
}

// The emission in flight is finished: the next letter in the line of its key comes back, or the key is free.
void DeliveryModel::FreeKey(const ModelGroup& emission, Return how) {
  const auto line = in_flight_.find(emission.key);
  if (line->second.empty()) {
    in_flight_.erase(line);
    --keys_in_flight_[HomeOf(emission)];
    return;
  }
  const Number next = line->second.front();
  line->second.pop_front();
  if (!how.by_call) how.turn = parcels_[next].delivery;
  ComeBack(next, how);
}

void DeliveryModel::ComeBack(Number number, Return how) {
  Parcel& parcel = parcels_[number];
  parcel.stage = Stage::kBack;
  parcel.came_back = how;
  back_.emplace(how, number);
}

void DeliveryModel::WaitForTime(Number number, Stage stage, LeaseTime until) {
  Parcel& parcel = parcels_[number];
  parcel.stage = stage;
  parcel.ends = until;
  timers_.insert({until, parcel.delivery, number});
}

}  // namespace pleat::inline v0_1
