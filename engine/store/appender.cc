#include "engine/store/appender.h"

#include "engine/base/check.h"

namespace pleat::inline v0_1 {

AppendOutcome Appender::Append(std::span<const StoreRecord> piece, EngineTime appended,
                               const AppendWhere& to, std::span<AppendPlace> places,
                               AppendPlace& first) noexcept {
  const PieceOrder order(piece, to.partition, static_cast<int>(partitions_.size()) - 1);
  if (!to.confirm_time && IsTooFarAhead(order, appended, to.note.has_value(), first)) {
    return AppendOutcome::kTooFarAhead;
  }
  const Gate::Pass pass(gate_);
  if (!taking_) return AppendOutcome::kStoreFailed;
  return AppendInOrder(piece, order, appended, to, places, first);
}

bool Appender::IsTooFarAhead(const PieceOrder& order, EngineTime appended, bool has_note,
                             AppendPlace& first) const {
  for (const uint16_t number : order.partitions()) {
    const StorePartition& partition = partitions_[number];
    if (!IsBeyondFuture(appended, partition.latest(), max_forward_jump_)) continue;
    first = {number, partition.next()};
    return true;
  }
  return has_note && IsBeyondFuture(appended, partitions_.back().latest(), max_forward_jump_);
}

AppendOutcome Appender::AppendInOrder(std::span<const StoreRecord> piece, const PieceOrder& order,
                                      EngineTime appended, const AppendWhere& to,
                                      std::span<AppendPlace> places, AppendPlace& first) {
  uint64_t bytes = piece.size() * kRecordBytesBeside;
  for (const uint16_t number : order.partitions()) {
    StorePartition& partition = partitions_[number];
    LockGuard guard(partition.lock());
    if (to.expected && *to.expected != partition.next()) {
      PLEAT_DCHECK(order.partitions().size() == 1);
      first = {number, partition.next()};
      return AppendOutcome::kConflict;
    }
    for (uint16_t i = order.First(number); i != PieceOrder::kNone; i = order.Behind(i)) {
      const uint64_t offset = partition.Add(piece[i], appended, side_);
      if (i == 0) first = {number, offset};
      if (!places.empty()) places[i] = {number, offset};
      bytes += BytesOf(piece[i]);
    }
  }
  // Inside the gate: so a cut takes exactly what it finds.
  bytes_.fetch_add(bytes, std::memory_order_relaxed);
  if (to.note) AddNote(*to.note, appended);
  return AppendOutcome::kAppended;
}

// Inside the gate as well.
void Appender::AddNote(const StoreNote& note, EngineTime appended) {
  StorePartition& partition = partitions_.back();
  LockGuard guard(partition.lock());
  AddNoteLocked(partition, note, appended);
}

bool Appender::AddNotes(const StoreNotes& notes, uint64_t expected) {
  const Gate::Pass pass(gate_);
  StorePartition& partition = partitions_.back();
  LockGuard guard(partition.lock());
  if (!taking_ || partition.next() != expected) return false;
  for (const auto& [name, value] : notes) {
    AddNoteLocked(partition, {.name = name, .value = value}, partition.latest());
  }
  return true;
}

void Appender::AddNoteLocked(StorePartition& partition, const StoreNote& note,
                             EngineTime appended) {
  const StoreRecord record{.key = note.name, .stamp = appended, .id = {}, .payload = note.value};
  partition.Add(record, appended, side_);
  bytes_.fetch_add(kRecordBytesBeside + BytesOf(record), std::memory_order_relaxed);
}

std::span<SectionBuffer* const> Appender::Cut() {
  const Gate::Closing closing(gate_);
  const auto taken = static_cast<size_t>(side_);
  side_ ^= 1;
  bytes_.store(0, std::memory_order_relaxed);
  return buffers_[taken];
}

void Appender::SetTaking(bool taking) {
  const Gate::Closing closing(gate_);
  taking_ = taking;
}

}  // namespace pleat::inline v0_1
