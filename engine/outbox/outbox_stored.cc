// An outbox as bytes: the emissions that wait in order, and what was lent.
#include <pleat/outcome.h>

#include "engine/base/read_fields.h"
#include "engine/outbox/outbox.h"

namespace pleat::inline v0_1 {

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

void Outbox::Save(FieldWriter& out) const {
  out(next_generation_, popped_, acked_, dropped_);
  out.PutNumber(queue_.size());
  queue_.ForEach([&](const Ready& ready) { entries_.Save(out, ready); });
  out(leases_ != nullptr);
  if (leases_ != nullptr) {
    leases_->Save(out, entries_);
  } else {
    out(leases_before_);
  }
}

void Outbox::Load(FieldReader& in, const Instant&) {
  PLEAT_DCHECK(queue_.empty() && leases_ == nullptr);
  in(next_generation_, popped_, acked_, dropped_);
  Ready last{};
  for (size_t i = 0, count = in.Count(); i < count; ++i) {
    const Ready ready = entries_.Load(in);
    if (!in.ok()) return;
    const bool in_order = i == 0 || !Before(ready, entries_, last);
    if (!in.Expect(in_order && ready.generation < next_generation_)) return;
    queue_.Insert(ready, [](const Ready&, const Ready&) { return false; });
    last = ready;
  }
  bool any_lent = false;
  in(any_lent);
  if (any_lent) {
    leases_ = Leases::Load(in, pool_, options_.leases, partition_, entries_);
  } else {
    in(leases_before_);
    in.Expect(leases_before_ % Leases::kRemembered == 0);
  }
  if (in.ok() && leases_ != nullptr) in.Expect(leases_->GenerationsAreBelow(next_generation_));
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
