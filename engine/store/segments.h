// Segments: the files of the log that count, for reading. Of each the first offsets of partitions are
// in memory, and where it begins and ends; tables of blocks only of the segment under way, and of the
// few that were read last.
//
// Thread safety: any thread; the lock is held for looking up, not for reading.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include <absl/base/thread_annotations.h>
#include <absl/status/status.h>
#include <absl/status/statusor.h>
#include <pleat/untyped/storage.h>

#include "engine/base/hash.h"
#include "engine/base/lock.h"
#include "engine/store/block_table.h"
#include "engine/store/store_files.h"

namespace pleat::inline v0_1 {

struct Segment {
  uint64_t number = 0;
  uint64_t begin = 0;  // of the first block
  uint64_t end = 0;    // of the last one that counts
  std::vector<uint64_t> first_offsets;
  EngineTime latest_before{};  // `appended` of all records in older ones is at most that

  // The one of that head, with blocks up to `end`.
  static Segment Of(const SegmentHead& head, uint64_t end);
};

// Sections that lie in one file.
struct FoundSections {
  uint64_t segment = 0;
  std::shared_ptr<StorageReader> reader;
  std::vector<SectionPlace> sections;
};

class Segments {
 public:
  // REQUIRES: `directory` outlives this.
  Segments(StorageDirectory& directory, uint64_t identity, size_t partitions)
      : directory_(directory),
        identity_(identity),
        partitions_(partitions),
        opening_(RandomHashKey()[0]) {}

  // One that ended before this life. In the order of the log.
  void AddOld(Segment segment);

  // The segment under way: a new one, whose head and reader are given, and the table of the durable
  // blocks that it has at once, which end there. What older segments have behind the cut that it goes
  // on from does not count any more.
  void Begin(const SegmentHead& head, std::shared_ptr<StorageReader> reader, BlockTable table,
             uint64_t end);
  // A block of it that is durable now.
  void Add(const std::vector<SectionEntry>& sections, uint64_t place, uint64_t bytes);

  // For readers, in one step: several segments, each going on behind the one before; all but the last
  // end there. `anew`: in place of all that there are.
  struct Newer {
    SegmentHead head;
    uint64_t end = 0;
  };
  void GoOn(std::span<const Newer> newer, std::shared_ptr<StorageReader> reader, BlockTable table,
            bool anew);
  // What is to be written behind its last block, at `end`.
  std::string IndexAt(uint64_t end) const;

  // The sections of a partition from the one on that has the offset, until they have `bytes`. All of
  // one file, and one at least. REQUIRES: the offset is durable.
  // Errors: kOutOfRange: it is durable no more; kNotFound: the file has gone; those of reading.
  absl::Status Find(size_t partition, uint64_t offset, uint64_t bytes, FoundSections& found) const;

  // The offset of the first record that is there, or that is to come.
  uint64_t First(size_t partition) const;

  // How many of the oldest ones may go by what is asked for: of those before `certain`, which is the
  // number of one. `needed`: of each partition, the first offset that has to stay.
  struct Oldest {
    std::vector<uint64_t> numbers;
    uint64_t bytes = 0;
    // What is left begins with that segment, and with these offsets.
    uint64_t first = 0;
    std::vector<uint64_t> first_offsets;
  };
  Oldest OldestToGo(const RetentionOptions& keep, std::span<const uint64_t> needed,
                    uint64_t certain) const;
  // Those before that number are not there any more.
  void Drop(uint64_t before);

  bool Counts(uint64_t segment) const;
  // All of them, in the order of the log.
  std::vector<Segment> List() const;
  size_t size() const;
  uint64_t bytes() const;
  uint64_t identity() const noexcept { return identity_; }
  // Tells this one from those before it of the same store; another one when blocks stop counting, and
  // with them what was known of positions.
  uint64_t opening() const noexcept { return opening_.load(std::memory_order_acquire); }
  const std::string& path() const noexcept { return directory_.path(); }

 private:
  static constexpr size_t kOpenMax = 8;

  struct Open {
    uint64_t segment = 0;
    std::shared_ptr<StorageReader> reader;
    std::shared_ptr<const BlockTable> table;
  };

  // Null: none.
  const Segment* Holding(size_t partition, uint64_t offset) const ABSL_SHARED_LOCKS_REQUIRED(lock_);
  void GoOnBehind(StoreCut cut) ABSL_EXCLUSIVE_LOCKS_REQUIRED(lock_);
  void Put(const SegmentHead& head, uint64_t end) ABSL_EXCLUSIVE_LOCKS_REQUIRED(lock_);
  // Nothing in it: not among those that are open.
  Open Opened(uint64_t segment) const ABSL_EXCLUSIVE_LOCKS_REQUIRED(lock_);
  void Keep(Open open) const ABSL_EXCLUSIVE_LOCKS_REQUIRED(lock_);
  uint64_t BytesLocked() const ABSL_SHARED_LOCKS_REQUIRED(lock_);
  absl::StatusOr<Open> Load(const Segment& segment) const;

  StorageDirectory& directory_;
  const uint64_t identity_;
  const size_t partitions_;
  std::atomic<uint64_t> opening_;
  mutable Lock lock_;
  std::vector<Segment> segments_ ABSL_GUARDED_BY(lock_);
  mutable std::vector<Open> open_ ABSL_GUARDED_BY(lock_);  // the one read last at the end
  // Of the last segment, if it is one of this life.
  std::shared_ptr<StorageReader> reader_ ABSL_GUARDED_BY(lock_);
  std::shared_ptr<BlockTable> table_ ABSL_GUARDED_BY(lock_);
};

}  // namespace pleat::inline v0_1
