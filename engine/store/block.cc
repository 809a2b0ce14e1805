#include "engine/store/block.h"

#include <algorithm>

#include "engine/base/check.h"
#include "engine/store/record_code.h"

namespace pleat::inline v0_1 {
namespace {

// So that sums of sizes and times do not wrap, whatever bytes say.
constexpr uint64_t kOffsetsMax = uint64_t{1} << 60;
constexpr int64_t kTimesMax = int64_t{1} << 60;

bool IsTime(int64_t time) { return -kTimesMax < time && time < kTimesMax; }

}  // namespace

std::optional<BlockSizes> BlockSizesIn(std::string_view begin) {
  if (begin.size() < kBlockFixedBytes || !begin.starts_with(kBlockLetters)) return std::nullopt;
  const BlockSizes sizes{.head = FixedAt<uint32_t>(&begin[4]),
                         .body = FixedAt<uint64_t>(&begin[8])};
  if (sizes.head < kBlockFixedBytes + 8 || sizes.head > kBlockHeadBytesMax) return std::nullopt;
  if (sizes.body > kBlockBodyBytesMax) return std::nullopt;
  return sizes;
}

void PutSection(FieldWriter& out, const SectionEntry& section, EngineTime& before) {
  out.PutNumber(section.partition);
  out.PutNumber(section.first_offset);
  out.PutNumber(section.count);
  out.PutNumber(section.bytes);
  out.PutNumber(detail::ZigZag((section.first - before).count()));
  out.PutNumber(static_cast<uint64_t>((section.last - section.first).count()));
  out.PutWord(section.checksum);
  before = section.first;
}

bool GetSection(FieldReader& in, SectionEntry& section, EngineTime& before) {
  const uint64_t partition = in.Number();
  section.first_offset = in.Number();
  const uint64_t count = in.Number();
  section.bytes = in.Number();
  const int64_t first = detail::UnZigZag(in.Number());
  const uint64_t later = in.Number();
  section.checksum = in.Word();
  const bool in_range = in.ok() && partition <= UINT32_MAX && count <= UINT32_MAX &&
                        section.first_offset < kOffsetsMax && section.bytes <= kBlockBodyBytesMax &&
                        IsTime(first) && later < uint64_t{1} << 60 &&
                        IsTime(before.time_since_epoch().count() + first);
  if (!in.Expect(in_range)) return false;
  section.partition = static_cast<uint32_t>(partition);
  section.count = static_cast<uint32_t>(count);
  section.first = before + Duration(first);
  section.last = section.first + Duration(static_cast<int64_t>(later));
  before = section.first;
  return true;
}

std::optional<BlockHead> ReadBlockHead(std::string_view bytes, const Binding& binding) {
  const std::optional<BlockSizes> sizes = BlockSizesIn(bytes);
  if (!sizes || bytes.size() < sizes->head) return std::nullopt;
  bytes = bytes.substr(0, sizes->head);
  const std::string_view checked = bytes.substr(0, bytes.size() - 8);
  BlockHead head{.head_bytes = sizes->head,
                 .body_bytes = sizes->body,
                 .number = FixedAt<uint64_t>(&bytes[16]),
                 .before = FixedAt<uint64_t>(&bytes[24]),
                 .durable = {FixedAt<uint64_t>(&bytes[32]), FixedAt<uint64_t>(&bytes[40])},
                 .life = FixedAt<uint32_t>(&bytes[52]),
                 .digest = FixedAt<uint64_t>(&bytes[checked.size()]),
                 .sections = {}};
  if (head.digest != ChecksumOf(checked, binding)) return std::nullopt;
  const uint32_t count = FixedAt<uint32_t>(&bytes[48]);
  FieldReader in(checked.substr(kBlockFixedBytes));
  EngineTime before{};
  uint64_t at = head.head_bytes;
  for (uint32_t i = 0; i < count && in.ok(); ++i) {
    SectionEntry section;
    if (!GetSection(in, section, before)) return std::nullopt;
    section.at = at;
    section.checksum_at = checked.size() - in.at_hand() - 8;
    at += section.bytes;
    head.sections.push_back(section);
  }
  if (!in.done() || at != head.bytes()) return std::nullopt;
  return head;
}

bool IsWhole(const SectionEntry& section, std::string_view bytes,
             const Binding& of_block) noexcept {
  return section.checksum == ChecksumOfSection(bytes, of_block.Behind(section.at),
                                               section.partition, section.first_offset);
}

bool IsWholeBlock(const BlockHead& head, std::string_view bytes, const Binding& binding) noexcept {
  if (bytes.size() < head.bytes()) return false;
  return std::ranges::all_of(head.sections, [&](const SectionEntry& section) {
    return IsWhole(section, bytes.substr(section.at, section.bytes), binding);
  });
}

void PendingBlock::Fill(std::span<SectionBuffer* const> buffers, FieldWriter& scratch) {
  scratch.Clear();
  sections_.clear();
  EngineTime before{};
  uint64_t at = 0;  // behind the head
  for (size_t i = 0; i < buffers.size(); ++i) {
    const SectionBuffer& buffer = *buffers[i];
    if (buffer.empty()) continue;
    SectionEntry section{.partition = static_cast<uint32_t>(i),
                         .count = buffer.count(),
                         .first_offset = buffer.first_offset(),
                         .bytes = buffer.bytes().size(),
                         .first = buffer.first(),
                         .last = buffer.last(),
                         .at = at};
    at += section.bytes;
    PutSection(scratch, section, before);
    section.checksum_at = kBlockFixedBytes + scratch.size() - 8;
    sections_.push_back(section);
  }
  PLEAT_CHECK(!sections_.empty() && at <= kBlockBodyBytesMax);
  head_bytes_ = kBlockFixedBytes + scratch.size() + 8;
  PLEAT_CHECK(head_bytes_ <= kBlockHeadBytesMax);
  image_.Clear();
  char* const head = image_.Reserve(head_bytes_ + at);
  std::memset(head, 0, head_bytes_);
  std::memcpy(head, kBlockLetters.data(), kBlockLetters.size());
  PutFixed(head + 4, static_cast<uint32_t>(head_bytes_));
  PutFixed(head + 8, at);
  PutFixed(head + 48, static_cast<uint32_t>(sections_.size()));
  std::memcpy(head + kBlockFixedBytes, scratch.bytes().data(), scratch.size());
  image_.CommitTo(head + head_bytes_);
  for (SectionEntry& section : sections_) {
    section.at += head_bytes_;
    image_.Append(buffers[section.partition]->bytes());
    buffers[section.partition]->Clear();
  }
}

void PendingBlock::Copy(const BlockHead& head, std::string_view bytes) {
  PLEAT_CHECK(bytes.size() == head.bytes());
  image_.Clear();
  image_.Append(bytes);
  sections_ = head.sections;
  head_bytes_ = head.head_bytes;
}

uint64_t PendingBlock::Seal(const Binding& binding, const Link& link) {
  char* const head = image_.data();
  for (SectionEntry& section : sections_) {
    section.checksum =
        ChecksumOfSection(image_.bytes().substr(section.at, section.bytes),
                          binding.Behind(section.at), section.partition, section.first_offset);
    PutFixed(head + section.checksum_at, section.checksum);
  }
  PutFixed(head + 16, link.number);
  PutFixed(head + 24, link.before);
  PutFixed(head + 32, link.durable.segment);
  PutFixed(head + 40, link.durable.end);
  PutFixed(head + 52, link.life);
  const uint64_t digest = ChecksumOf({head, head_bytes_ - 8}, binding);
  PutFixed(head + head_bytes_ - 8, digest);
  return digest;
}

}  // namespace pleat::inline v0_1
