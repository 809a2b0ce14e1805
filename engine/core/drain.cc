#include <pleat/drain.h>

#include <memory>

#include "engine/base/inside.h"
#include "engine/core/engine_core.h"
#include "engine/core/outbox_collection.h"

namespace pleat::inline v0_1 {

Drain::Drain(Engine& engine, LeaseTime now, const DrainOptions& options) noexcept
    : engine_(EngineAccess::CoreOf(engine)), deadline_(SaturatingAdd(now, options.timeout)) {
  const Call call;
  if (call.nested() || engine_->closed()) {
    state_ = DrainState::kClosed;
    return;
  }
  engine_->Stop();
  engine_->WithCollections([&](const EngineCore::Collections& all) {
    for (const auto& [name, collection] : all) {
      if (!collection->emits()) continue;
      collections_.emplace_back(engine_, std::static_pointer_cast<OutboxCollection>(collection));
    }
  });
  Begin(options);
}

Drain::Drain(const AnyCollection& collection, LeaseTime now, const DrainOptions& options) noexcept
    : engine_(collection.engine_),
      collections_{collection},
      deadline_(SaturatingAdd(now, options.timeout)) {
  const Call call;
  if (call.nested()) {
    state_ = DrainState::kClosed;
    return;
  }
  Begin(options);
}

void Drain::Begin(const DrainOptions& options) {
  drained_.resize(collections_.size());
  if (options.keep_open) return;
  for (const AnyCollection& each : collections_) each.collection().CloseAll();
}

// Partitions are looked at one by one. That is enough: without events, one that is drained stays so,
// unless a kept group closes or somebody retries a dead letter.
DrainState Drain::Look(LeaseTime now) noexcept {
  const Call call;
  if (call.nested() || state_ != DrainState::kWaiting) return state_;
  engine_->AdvanceLeases(now, SIZE_MAX);
  bool waits = false;
  bool lost = false;
  for (size_t i = 0; i < collections_.size(); ++i) {
    OutboxCollection& collection = collections_[i].collection();
    const bool is_drained = collection.IsDrained();
    if (!collection.closed()) {
      drained_[i] = is_drained;
      waits |= !is_drained;
    } else if (!drained_[i]) {
      lost = true;
    }
  }
  if (waits && now < deadline_) return state_;
  state_ = lost ? DrainState::kClosed : waits ? DrainState::kTimedOut : DrainState::kDrained;
  return state_;
}

Drained Drain::left() const {
  Drained out;
  out.state = state_;
  for (const AnyCollection& each : collections_) {
    const Sizes sizes = each.sizes();
    out.left += sizes;
    const bool has_any =
        sizes.open_groups + sizes.ready_emissions + sizes.unacked_emissions + sizes.dead_letters >
        0;
    if (has_any) out.collections.push_back({std::string(each.name()), sizes});
  }
  return out;
}

void Drain::AddListener(EmissionListener& listener) noexcept {
  for (AnyCollection& each : collections_) each.AddListener(listener, {});
}

void Drain::RemoveListener(EmissionListener& listener) noexcept {
  for (AnyCollection& each : collections_) each.RemoveListener(listener);
}

}  // namespace pleat::inline v0_1
