// An outbox as bytes: the leases, with all that they hold, and then the queue, in its order.
#include <array>

#include <pleat/outcome.h>

#include "engine/base/read_fields.h"
#include "engine/outbox/outbox.h"

namespace pleat::inline v0_1 {
namespace {

// How many emissions of the queue are written for one turn at the lock.
constexpr size_t kSavedAtOnce = 64;

}  // namespace

void OutboxEntries::Save(FieldWriter& out, const Ready& ready) const {
  out(ready.ripe, ready.order, ready.generation, ready.by_event, ready.tag);
  SaveEntry(out, ready.entry);
}

Ready OutboxEntries::Load(FieldReader& in) {
  Ready ready{};
  ready.ripe = ReadTime(in);
  in(ready.order, ready.generation, ready.by_event, ready.tag);
  in.Expect(ready.tag >= 1 && ready.tag <= kReasons);
  ready.entry = LoadEntry(in);
  return ready;
}

void Outbox::BeginSave(FieldWriter& out, Copies& copies) {
  out(next_generation_, popped_, acked_, dropped_);
  out(leases_ != nullptr);
  if (leases_ != nullptr) {
    leases_->Save(out, entries_);
  } else {
    out(leases_before_);
  }
  out.PutNumber(queue_.size());
  saving_ = std::make_unique<Saving>(copies, next_generation_, queue_.size());
}

bool Outbox::Saving::Put(FieldWriter& out) {
  LockGuard guard(lock());
  if (next_piece == pieces.size()) {
    pieces = kept.TakePieces();
    next_piece = 0;
  }
  if (next_piece == pieces.size()) return false;
  FieldWriter::Piece& piece = pieces[next_piece++];
  out.PutFields(piece.bytes());
  piece.data = nullptr;
  LetGo(piece.size);
  return true;
}

// Those that have left come first: they were at the front.
bool Outbox::SaveNext(FieldWriter& out) {
  if (saving_ == nullptr) return false;
  Saving& saving = *saving_;
  if (saving.Put(out)) return true;
  if (saving.left == 0) {
    EndSave();
    return false;
  }
  std::array<Ready, kSavedAtOnce> strip;
  size_t size = 0;
  saving.passed += queue_.ForSome(saving.passed, kSavedAtOnce, [&](const Ready& ready) {
    if (ready.generation >= saving.end) return;
    entries_.Prefetch(ready.entry);
    strip[size++] = ready;
  });
  for (size_t i = 0; i < size; ++i) entries_.Save(out, strip[i]);
  PLEAT_DCHECK(size <= saving.left);
  saving.left -= size;
  return true;
}

void Outbox::SaveAsItLeaves(const Ready& ready) {
  if (saving_->passed > 0) {
    --saving_->passed;
  } else if (ready.generation < saving_->end) {
    saving_->Keep([&](FieldWriter& out) { entries_.Save(out, ready); });
    --saving_->left;
  }
}

void Outbox::Load(FieldReader& in, const Instant& at) {
  PLEAT_DCHECK(queue_.empty() && leases_ == nullptr);
  in(next_generation_, popped_, acked_, dropped_);
  bool any_lent = false;
  in(any_lent);
  if (any_lent) {
    leases_ = Leases::Load(in, pool_, options_.leases, partition_, entries_);
    leases_->SetTrace(trace_);
  } else {
    in(leases_before_);
    in.Expect(leases_before_ % AckedDeliveries::kRemembered == 0);
  }
  if (!in.ok()) return;
  if (leases_ != nullptr) {
    in.Expect(leases_->GenerationsAreBelow(next_generation_));
    leases_->SetOptions(options_.leases, at.leases);  // which may be others than before
  }
  Ready last{};
  for (uint64_t i = 0, count = in.Number(); i < count; ++i) {
    const Ready ready = entries_.Load(in);
    if (!in.ok()) return;
    const bool in_order = i == 0 || !IsBefore(ready, *this, last);
    if (!in.Expect(in_order && ready.generation < next_generation_)) return;
    queue_.Insert(ready, [](const Ready&, const Ready&) { return false; });
    last = ready;
  }
  if (undelivered() > 0) listeners_.NoteFilled();
}

void Outbox::SkipAhead(uint64_t by, const Instant&) {
  next_generation_ += by;
  if (leases_ != nullptr) {
    leases_->SkipAhead(by);
  } else {
    leases_before_ += by;
  }
}

}  // namespace pleat::inline v0_1
