#include <pleat/untyped/any_collection.h>

#include <algorithm>
#include <limits>
#include <utility>

#include <pleat/emission.h>

#include "engine/base/inside.h"
#include "engine/core/engine_core.h"
#include "engine/core/outbox_collection.h"

namespace pleat::inline v0_1 {

AnyCollection::AnyCollection(std::shared_ptr<EngineCore> engine,
                             std::shared_ptr<OutboxCollection> collection)
    : engine_(std::move(engine)), collection_(std::move(collection)) {}

// A call from inside a function that the engine calls is refused here.

void AnyCollection::Close() noexcept {
  Guarded([&] { engine_->Remove(*collection_); });
}
size_t AnyCollection::Pop(size_t max, PartitionRange from, Take take) noexcept {
  if (Call::WouldBeNested() || collection_->IsEmpty(*engine_)) return 0;
  return collection_->Pop(max, from, take);
}
size_t AnyCollection::Lease(size_t max, Duration visibility_timeout, LeaseTime now,
                            PartitionRange from, Borrow borrow) noexcept {
  return Guarded([&]() -> size_t {
    MoveLeaseTime(now);
    if (collection_->IsEmpty(*engine_)) return 0;
    return collection_->Lease(max, visibility_timeout, from, borrow);
  });
}
LeaseOutcome AnyCollection::Ack(const LeaseToken& token) noexcept {
  return Guarded([&] { return collection_->Ack(token); });
}
size_t AnyCollection::Ack(std::span<const LeaseToken> tokens,
                          std::span<LeaseOutcome> outcomes) noexcept {
  const Call call;
  if (!call.nested()) return collection_->Ack(tokens, outcomes);
  std::ranges::fill(outcomes, LeaseOutcome::kWouldDeadlock);
  return 0;
}
LeaseOutcome AnyCollection::AckAndTake(const LeaseToken& token, Take take) noexcept {
  return Guarded([&] { return collection_->AckAndTake(token, take); });
}
LeaseOutcome AnyCollection::Nack(const LeaseToken& token) noexcept {
  return Guarded([&] { return collection_->Nack(token, Duration::zero()); });
}
LeaseOutcome AnyCollection::Nack(const LeaseToken& token, Duration delay, LeaseTime now) noexcept {
  return Guarded([&] {
    MoveLeaseTime(now);
    return collection_->Nack(token, delay);
  });
}
Extension AnyCollection::Extend(const LeaseToken& token, Duration visibility_timeout,
                                LeaseTime now) noexcept {
  return Guarded([&] {
    MoveLeaseTime(now);
    return collection_->Extend(token, visibility_timeout);
  });
}
size_t AnyCollection::EndLeases(PartitionRange of) noexcept {
  return Guarded([&] { return collection_->EndLeases(of); });
}
bool AnyCollection::ScanDeadLetters(ScanCursor& cursor, size_t max, SeeDead see) const noexcept {
  if (cursor.partition < 0) cursor = {};
  return Guarded(
      [&] { return collection_->ScanDeadLetters(cursor, std::max<size_t>(max, 1), see); });
}
LeaseOutcome AnyCollection::RetryDeadLetter(const LeaseToken& token) noexcept {
  return Guarded([&] { return collection_->RetryDeadLetter(token); });
}
LeaseOutcome AnyCollection::DropDeadLetter(const LeaseToken& token) noexcept {
  return Guarded([&] { return collection_->DropDeadLetter(token); });
}
uint64_t AnyCollection::deaths() const noexcept {
  return Guarded([&] { return collection_->deaths(); });
}
void AnyCollection::AddListener(EmissionListener& listener, PartitionRange of) noexcept {
  Guarded([&] { collection_->AddListener(listener, of); });
}
void AnyCollection::RemoveListener(EmissionListener& listener) noexcept {
  Guarded([&] { collection_->RemoveListener(listener); });
}
Ledger AnyCollection::ledger() const noexcept {
  return Guarded([&] { return collection_->ledger(); });
}
Sizes AnyCollection::sizes() const noexcept {
  return Guarded([&] { return collection_->sizes(); });
}
size_t AnyCollection::held_bytes() const noexcept {
  return Guarded([&] { return collection_->held_bytes(); });
}
std::string_view AnyCollection::name() const noexcept { return collection_->name(); }
void AnyCollection::CloseAll() noexcept {
  Guarded([&] { collection_->CloseAll(); });
}
bool AnyCollection::closed() const noexcept { return collection_->closed(); }
void AnyCollection::Advance(EngineTime now) noexcept {
  if (Call::WouldBeNested() || engine_->MoveTime(now)) return;
  engine_->CloseDue(std::numeric_limits<size_t>::max());
}
void AnyCollection::MoveLeaseTime(LeaseTime now) noexcept {
  if (!collection_->closed()) engine_->timeline().RaiseLeases(Clamp(now));
}
EngineTime AnyCollection::now() const noexcept { return engine_->timeline().now(); }
int AnyCollection::partitions() const noexcept { return engine_->partition_count(); }

}  // namespace pleat::inline v0_1
