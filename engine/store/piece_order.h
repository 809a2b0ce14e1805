// PieceOrder: the records of a piece by partition, each partition's in their order. A chain for each
// partition that occurs, linked from the last record to the first; so it costs a few instructions a
// record, and nothing for partitions that do not occur.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include <pleat/event_store.h>

#include "engine/base/check.h"
#include "engine/store/store_files.h"

namespace pleat::inline v0_1 {

class PieceOrder {
 public:
  static constexpr uint16_t kNone = UINT16_MAX;

  // `partition`: of all of them; nothing: that of their keys.
  PieceOrder(std::span<const StoreRecord> piece, std::optional<int> partition, int partitions) {
    PLEAT_DCHECK(piece.size() <= kWholeRecordsMax);
    std::array<uint16_t, kWholeRecordsMax> of;
    for (size_t i = 0; i < piece.size(); ++i) {
      of[i] = static_cast<uint16_t>(partition ? *partition : PartitionOf(piece[i].key, partitions));
      first_[of[i]] = kNone;
    }
    for (size_t i = piece.size(); i-- > 0;) {
      uint16_t& first = first_[of[i]];
      if (first == kNone) occurring_[count_++] = of[i];
      next_[i] = first;
      first = static_cast<uint16_t>(i);
    }
  }

  // In any order.
  std::span<const uint16_t> partitions() const noexcept {
    return std::span(occurring_).first(count_);
  }
  // Of a partition that occurs.
  uint16_t First(uint16_t partition) const noexcept { return first_[partition]; }
  // kNone behind the last one.
  uint16_t Behind(uint16_t record) const noexcept { return next_[record]; }

 private:
  // Of these only the places of partitions that occur are written and read.
  std::array<uint16_t, kStorePartitionsMax> first_;
  std::array<uint16_t, kWholeRecordsMax> next_;
  std::array<uint16_t, kWholeRecordsMax> occurring_;
  size_t count_ = 0;
};

}  // namespace pleat::inline v0_1
