#include "engine/store/recovery.h"

#include <algorithm>
#include <utility>

#include "engine/base/check.h"
#include "engine/base/concat.h"
#include "engine/store/block_search.h"

namespace pleat::inline v0_1 {
absl::StatusOr<RecoveredLog> LogRecovery::Run(const std::vector<std::string>& names) {
  log_.durable = log_.end = Beginning();
  known_ = manifest_.durable;
  absl::Status status = ReadFiles(names);
  if (status.ok()) status = ChainBack();
  if (status.ok()) status = Walk();
  if (status.ok()) status = FindDurable();
  if (status.ok()) status = CheckBehind();
  if (!status.ok()) return status;
  SortOut();
  return std::move(log_);
}

absl::Status LogRecovery::ReadFiles(const std::vector<std::string>& names) {
  for (const std::string& name : names) {
    const std::optional<uint64_t> number = SegmentNumberIn(name);
    if (!number) continue;
    if (*number == kSegmentsMax) {
      return absl::DataLossError(
          Concat(directory_.path(), "/", name, ": no store has so many segments: remove it"));
    }
    log_.next_number = std::max(log_.next_number, *number + 1);
    if (name.ends_with(kUnfinishedStoreFile)) {
      log_.useless.push_back(name);
    } else if (name == NameOfSegment(*number)) {
      if (absl::Status read = ReadFile(*number); !read.ok()) return read;
    }
  }
  return absl::OkStatus();
}

absl::StatusOr<StorageReader*> LogRecovery::Opened(uint64_t number) {
  if (number != open_number_ || open_ == nullptr) {
    absl::StatusOr<std::unique_ptr<StorageReader>> reader =
        directory_.OpenFile(NameOfSegment(number));
    if (!reader.ok()) return reader.status();
    open_ = *std::move(reader);
    open_number_ = number;
  }
  return open_.get();
}

absl::Status LogRecovery::ReadFile(uint64_t number) {
  File file;
  const absl::StatusOr<StorageReader*> reader = Opened(number);
  if (!reader.ok()) return reader.status();
  const absl::StatusOr<uint64_t> size = (*reader)->Size();
  if (!size.ok()) return size.status();
  file.size = *size;
  absl::StatusOr<std::optional<SegmentHead>> head = SegmentHead::Read(**reader, number);
  if (!head.ok()) {
    if (!absl::IsUnimplemented(head.status())) return head.status();
    return absl::UnimplementedError(Concat(directory_.path(), "/", NameOfSegment(number), ": ",
                                           std::string(head.status().message())));
  }
  file.head = *std::move(head);
  if (file.head && file.head->identity != manifest_.identity) {
    return absl::FailedPreconditionError(
        Concat(directory_.path(), "/", NameOfSegment(number),
               ": it is of another event store: move it out of the directory"));
  }
  if (file.head && file.head->before.partitions.size() != manifest_.log_partitions()) {
    return Damage(number, 0, "it has another number of partitions than MANIFEST says");
  }
  if (file.head) known_ = std::max(known_, file.head->durable);
  files_.emplace(number, std::move(file));
  return absl::OkStatus();
}

// Fills in the segments up to that of the durable cut, and sets the states to the beginning of that
// one.
absl::Status LogRecovery::ChainBack() {
  if (known_.segment == 0) return absl::OkStatus();
  uint64_t end = known_.end;
  for (uint64_t number = known_.segment; number != 0;) {
    const auto found = files_.find(number);
    if (found == files_.end()) {
      return absl::DataLossError(Concat(directory_.path(), "/", NameOfSegment(number),
                                        ": it is missing: put it back from a backup"));
    }
    const File& file = found->second;
    if (!file.head) return Damage(number, 0, "the checksum of its head is wrong");
    if (file.size < end || end < file.head->head_bytes) {
      return Damage(number, file.size, "the end is missing");
    }
    log_.segments.push_back(Segment::Of(*file.head, end));
    end = file.head->before.cut.end;
    number = number == manifest_.first_segment ? 0 : file.head->before.cut.segment;
  }
  std::ranges::reverse(log_.segments);
  walk_begin_ = log_.segments.size() - 1;
  log_.segments.back().end = log_.segments.back().begin;
  log_.end = log_.durable = files_.at(known_.segment).head->Begin();
  return absl::OkStatus();
}

// The newest segment that goes on behind the one of that number: of the newest life, and in that the
// one of the highest number. One of an older life than the segment before it is what a lost file has
// left; and a name that was given up may come back after numbers as high were given again.
std::optional<uint64_t> LogRecovery::NextOf(uint64_t number) const {
  const uint32_t life = number == 0 ? 0 : files_.at(number).head->life;
  std::optional<uint64_t> next;
  uint32_t newest = life;
  for (auto it = files_.upper_bound(number); it != files_.end(); ++it) {
    const std::optional<SegmentHead>& head = it->second.head;
    if (!head || head->before.cut.segment != number || head->life < newest) continue;
    newest = head->life;
    next = it->first;
  }
  return next;
}

absl::Status LogRecovery::Walk() {
  for (uint64_t number = log_.end.cut.segment;;) {
    const std::optional<uint64_t> next = NextOf(number);
    if (number != 0) {
      const uint64_t limit = next ? files_.at(*next).head->before.cut.end : files_.at(number).size;
      absl::StatusOr<bool> stepped = StepIn(number, limit);
      while (stepped.ok() && *stepped) stepped = StepIn(number, limit);
      if (!stepped.ok()) return stepped.status();
      if (log_.end.cut.end != limit) return absl::OkStatus();
    }
    if (!next || !Enter(*next)) return absl::OkStatus();
    number = *next;
  }
}

// The next block; false: there is none that is whole.
absl::StatusOr<bool> LogRecovery::StepIn(uint64_t number, uint64_t limit) {
  const uint64_t at = log_.end.cut.end;
  if (at >= limit) return false;
  const absl::StatusOr<StorageReader*> reader = Opened(number);
  if (!reader.ok()) return reader.status();
  const Binding place{manifest_.identity, number, at};
  absl::StatusOr<std::optional<BlockHead>> head = ReadBlockHeadAt(**reader, place, buffer_);
  if (!head.ok()) return head.status();
  if (!*head || (*head)->bytes() > limit - at || !log_.end.Fits(**head)) return false;
  const StoreCut behind{number, at + (*head)->bytes()};
  // What is durable for certain is checked when it is read.
  if (behind > known_) {
    if (absl::Status read = ReadInto(**reader, at, (*head)->bytes(), buffer_); !read.ok()) {
      return read;
    }
    if (!IsWholeBlock(**head, buffer_, place)) return false;
  }
  known_ = std::max(known_, (*head)->durable);
  log_.end.Pass((*head)->sections, (*head)->digest, behind);
  log_.segments.back().end = behind.end;
  return true;
}

// Goes from the end of a segment into the next one, if that goes on there.
bool LogRecovery::Enter(uint64_t number) {
  const SegmentHead& head = *files_.at(number).head;
  if (!log_.end.IsSameAs(head.before)) return false;
  log_.end.cut = {number, head.head_bytes};
  log_.segments.push_back(Segment::Of(head, head.head_bytes));
  return true;
}

// Goes from head to head once more, up to the durable cut.
absl::Status LogRecovery::FindDurable() {
  const StoreCut end = log_.end.cut;
  if (end < known_) {
    const uint64_t number = end.segment == 0 ? known_.segment : end.segment;
    return Damage(number, end.end, "what was durable here is damaged");
  }
  LogState& state = log_.durable;
  for (size_t i = walk_begin_; i < log_.segments.size(); ++i) {
    const Segment& segment = log_.segments[i];
    if (segment.number > known_.segment) break;
    state.cut = {segment.number, segment.begin};
    const StoreCut to = std::min(known_, StoreCut{segment.number, segment.end});
    while (state.cut < to) {
      const absl::StatusOr<StorageReader*> reader = Opened(segment.number);
      if (!reader.ok()) return reader.status();
      const Binding place{manifest_.identity, segment.number, state.cut.end};
      const absl::StatusOr<std::optional<BlockHead>> head =
          ReadBlockHeadAt(**reader, place, buffer_);
      if (!head.ok()) return head.status();
      if (!*head || (*head)->bytes() > to.end - state.cut.end) break;
      state.Pass((*head)->sections, (*head)->digest,
                 {segment.number, state.cut.end + (*head)->bytes()});
    }
    if (state.cut != to) break;
  }
  if (state.cut == known_) return absl::OkStatus();
  return Damage(known_.segment, known_.end, "no block ends here, and one should");
}

// Whether what comes behind the end of the walk was never there.
absl::Status LogRecovery::CheckBehind() {
  for (auto it = files_.lower_bound(log_.end.cut.segment); it != files_.end(); ++it) {
    if (absl::Status behind = CheckFileBehind(it->first, it->second); !behind.ok()) return behind;
  }
  return absl::OkStatus();
}

// A file behind the end, or the one in which it lies. One without a head may be one that was never
// synced: its blocks know better.
absl::Status LogRecovery::CheckFileBehind(uint64_t number, File& file) {
  const StoreCut end = log_.end.cut;
  uint64_t from = file.head ? file.head->head_bytes : 0;
  if (number == end.segment) {
    from = end.end;
    if (from < file.head->head_bytes + file.head->copied) {
      return Damage(number, from, "a block that was copied here is damaged");
    }
  }
  const absl::StatusOr<bool> more = NamesACutBehindTheEnd(number, file, from);
  if (!more.ok()) return more.status();
  if (!*more) return absl::OkStatus();
  return file.head ? Damage(end.segment, end.end, "what was durable here is damaged")
                   : Damage(number, 0, "the checksum of its head is wrong");
}

// Whether a block does, of those anywhere behind a place of the file.
absl::StatusOr<bool> LogRecovery::NamesACutBehindTheEnd(uint64_t number, File& file,
                                                        uint64_t from) {
  const absl::StatusOr<StorageReader*> reader = Opened(number);
  if (!reader.ok()) return reader.status();
  if (absl::Status read = ReadInto(**reader, from, kIndexBegin.size(), buffer_); !read.ok()) {
    return read;
  }
  if (!buffer_.empty() && buffer_ != kIndexBegin) log_.bytes_passed_over += file.size - from;
  BlockSearch search(**reader, {manifest_.identity, number, from}, manifest_.log_partitions(),
                     {.least_number = log_.end.blocks, .head_bytes = 2 * file.size});
  for (;;) {
    const absl::StatusOr<std::optional<BlockHead>> head = search.Next();
    if (!head.ok()) return head.status();
    if (!*head) return false;
    if ((*head)->durable > log_.end.cut) return true;
    // A kill may leave a part of one.
    if ((*head)->bytes() <= file.size - search.place()) ++log_.blocks_passed_over;
    file.has_lost_blocks = true;
  }
}

// Tells the tail from what is durable, and files of no use from others.
void LogRecovery::SortOut() {
  const StoreCut durable = log_.durable.cut;
  for (Segment& segment : log_.segments) {
    if (segment.number < durable.segment) continue;
    LogSpan span{segment.number, segment.begin, segment.end,
                 files_.at(segment.number).head->before.digest};
    if (segment.number == durable.segment) {
      span.begin = segment.end = durable.end;
      span.before = log_.durable.digest;
    }
    if (span.begin < span.end) log_.tail.push_back(span);
  }
  std::erase_if(log_.segments,
                [&](const Segment& segment) { return segment.number > durable.segment; });
  for (const auto& [number, file] : files_) {
    if (std::ranges::binary_search(log_.segments, number, {}, &Segment::number)) continue;
    const std::string name = NameOfSegment(number);
    if (file.has_lost_blocks && number > log_.end.cut.segment) {
      if (changes_) directory_.Rename(name, NameOfLost(number)).IgnoreError();
    } else {
      log_.useless.push_back(name);
    }
  }
}

}  // namespace pleat::inline v0_1
