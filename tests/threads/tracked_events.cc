#include "tests/threads/tracked_events.h"

namespace pleat::inline v0_1 {

TrackedEvents::~TrackedEvents() {
  if (tracks_ == nullptr || kind_ == Kind::kView) return;
  Tracks::Key& key = tracks_->keys_[key_];
  if (lent_ && key.in_flight && key.lent == generation_) key.in_flight = false;
  ++tracks_->destroyed_;
  if (kind_ == Kind::kCut) return;
  for (const TrackedFold& fold : all_) ++tracks_->ends_[fold.number];
}

void TrackedEvents::Fold(const TrackedEvent& event) noexcept {
  tracks_ = event.tracks;
  key_ = event.key;
  all_.push_back({event.number, tracks_->keys_[key_].folds++});
}

void Tracks::Lent(const ClosedGroup& group, const Delivery& delivery) {
  auto& state = *static_cast<TrackedEvents*>(group.state);
  CheckHandout(group, state);
  if (delivery.deliveries > rules_.max_deliveries && !rules_.tries_on) {
    Fail("delivered too often");
  }
  state.lent_ = true;
  state.generation_ = group.id.generation;
  Key& key = keys_[state.key_];
  key.in_flight = true;
  key.lent = group.id.generation;
  key.lent_may_be_dead = delivery.deliveries >= rules_.max_deliveries;
}

// What is popped ends here, and not where the caller lets go of it.
TrackedEvents Tracks::Popped(const ClosedGroup& group) {
  auto& state = *static_cast<TrackedEvents*>(group.state);
  CheckHandout(group, state);
  Key& key = keys_[state.key_];
  if (key.in_flight && key.lent == group.id.generation) key.in_flight = false;
  if (state.kind_ == TrackedEvents::Kind::kOriginal) {
    for (const TrackedFold& fold : state.all_) ++ends_[fold.number];
  }
  state.kind_ = TrackedEvents::Kind::kView;
  TrackedEvents out(std::move(state));
  state.~TrackedEvents();
  return out;
}

void Tracks::CheckHandout(const ClosedGroup& group, const TrackedEvents& state) {
  if (state.tracks_ != this || state.all_.size() != group.count) {
    Fail("an emission without its events");
    return;
  }
  for (size_t i = 1; i < state.all_.size(); ++i) {
    if (state.all_[i].order != state.all_[i - 1].order + 1 && rules_.keys_in_order) {
      Fail("the events of a group do not follow each other");
    }
  }
  Key& key = keys_[state.key_];
  if (key.in_flight && key.lent != group.id.generation && !key.lent_may_be_dead) {
    Fail("a second emission of a key was handed out before the end of the first");
  }
  if (state.lent_) {
    if (state.generation_ != group.id.generation) Fail("an emission has changed its id");
    return;
  }
  if (group.id.generation < key.next_generation) Fail("the emissions of a key out of order");
  key.next_generation = group.id.generation + 1;
  if (!rules_.keys_in_order || state.kind_ != TrackedEvents::Kind::kOriginal) return;
  if (state.all_.front().order < key.next_order) Fail("the groups of a key out of order");
  key.next_order = state.all_.back().order + 1;
}

}  // namespace pleat::inline v0_1
