// CounterIds remember the ids of events that were counted, from the first event with an id on: a book
// without ids has no table of them.
#pragma once

#include <cstddef>
#include <memory>

#include <pleat/time.h>

#include "engine/base/hash.h"
#include "engine/base/page_pool.h"
#include "engine/table/event_ids.h"

namespace pleat::inline v0_1 {

class CounterIds {
 public:
  // `pool` and `name_key` outlive the ids.
  CounterIds(Pages& pool, const HashKey& name_key, Duration horizon)
      : pool_(pool), name_key_(name_key), horizon_(horizon) {}

  // Null: there was no id yet.
  const EventIds* get() const noexcept { return ids_.get(); }
  EventIds* get() noexcept { return ids_.get(); }
  EventIds& Make() {
    if (ids_ == nullptr) ids_ = std::make_unique<EventIds>(pool_, name_key_, horizon_);
    return *ids_;
  }
  size_t bytes() const noexcept { return ids_ == nullptr ? 0 : ids_->bytes(); }

 private:
  Pages& pool_;
  const HashKey& name_key_;
  const Duration horizon_;
  std::unique_ptr<EventIds> ids_;
};

}  // namespace pleat::inline v0_1
