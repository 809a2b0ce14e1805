// SectionBuffer: the records of one partition in the block under way, as they will be written.
#pragma once

#include <cstdint>

#include <pleat/event_store.h>

#include "engine/store/record_code.h"
#include "engine/store/store_bytes.h"

namespace pleat::inline v0_1 {

class SectionBuffer {
 public:
  // REQUIRES: `offset` and `appended` are not before those of the last one; the offset is the next.
  void Add(const StoreRecord& record, EngineTime appended, uint64_t offset) {
    if (count_ == 0) {
      first_offset_ = offset;
      first_ = last_ = appended;
    }
    PLEAT_DCHECK(offset == first_offset_ + count_ && appended >= last_);
    char* const to = bytes_.Reserve(kRecordHeadBytesMax + BytesOf(record));
    bytes_.CommitTo(EncodeRecord(to, record, appended, last_));
    last_ = appended;
    ++count_;
  }

  void Clear() noexcept {
    bytes_.Clear();
    count_ = 0;
  }

  bool empty() const noexcept { return count_ == 0; }
  uint32_t count() const noexcept { return count_; }
  uint64_t first_offset() const noexcept { return first_offset_; }
  EngineTime first() const noexcept { return first_; }
  EngineTime last() const noexcept { return last_; }
  std::string_view bytes() const noexcept { return bytes_.bytes(); }

 private:
  StoreBytes bytes_;
  uint32_t count_ = 0;
  uint64_t first_offset_ = 0;
  EngineTime first_{};  // `appended`
  EngineTime last_{};
};

}  // namespace pleat::inline v0_1
