#include "engine/outbox/acked_deliveries.h"

#include "engine/base/check.h"
#include "engine/base/read_fields.h"

namespace pleat::inline v0_1 {
namespace {

// Restarts whose skipped numbers are remembered, as long as their deliveries may be.
constexpr size_t kSkipsMax = 16;

}  // namespace

void AckedDeliveries::SkipAhead(uint64_t by) {
  PLEAT_CHECK(by % kRemembered == 0);
  if (skips_.size() == kSkipsMax) {
    acked_.clear();  // of deliveries as long ago as that many restarts
    skips_.clear();
    last_ = (last_ + kRemembered - 1) / kRemembered * kRemembered;
  }
  if (last_ > 0 && !acked_.empty()) skips_.push_back({.after = last_, .by = by});
  last_ += by;
}

uint64_t AckedDeliveries::DeliveriesSince(uint64_t delivery) const noexcept {
  if (delivery > last_) return UINT64_MAX;
  uint64_t since = last_ - delivery;
  for (const Skip& skip : skips_) {
    if (delivery <= skip.after) {
      since -= skip.by;
    } else if (delivery - skip.after <= skip.by) {
      return UINT64_MAX;
    }
  }
  return since;
}

void AckedDeliveries::Save(FieldWriter& out) const {
  out.PutNumber(acked_.size());
  for (const uint64_t generation : acked_) out.PutNumber(generation + 1);  // kNotAcked: 0
  out.PutNumber(skips_.size());
  for (const Skip& skip : skips_) out(skip.after, skip.by);
}

void AckedDeliveries::Load(FieldReader& in) {
  const size_t remembered = in.Count();
  if (!in.Expect(remembered <= last_ &&
                 (remembered == kRemembered || remembered == last_ % kRemembered))) {
    return;
  }
  acked_.reserve(remembered);
  for (size_t i = 0; i < remembered; ++i) acked_.push_back(in.Number() - 1);
  const size_t skips = in.Count();
  if (!in.Expect(skips <= kSkipsMax)) return;
  uint64_t from = 0;
  for (size_t i = 0; i < skips; ++i) {
    Skip skip{};
    in(skip.after, skip.by);
    if (!in.Expect(skip.after >= from && skip.by <= last_ && skip.after <= last_ - skip.by &&
                   skip.by % kRemembered == 0)) {
      return;
    }
    from = skip.after + skip.by;
    skips_.push_back(skip);
  }
}

}  // namespace pleat::inline v0_1
