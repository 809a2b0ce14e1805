#include "engine/lanes/buried_messages.h"

#include <set>
#include <utility>

#include <pleat/batch.h>
#include <pleat/stored.h>

#include "engine/base/check.h"
#include "engine/lanes/lane_checkpoint.h"

namespace pleat::inline v0_1 {
namespace {

constexpr uint64_t kBuriedBookMark = 0x6b6f6f4264616544;  // "DeadBook": no snapshot begins so
constexpr uint64_t kBuriedBookFormat = 2;                 // 1: had no names of streams
constexpr size_t kReasonBytesMax = 1'024;

}  // namespace

uint64_t BuriedMessages::BytesIn(const Entry& entry) {
  return sizeof(std::pair<const Name, Entry>) + entry.key.size() + entry.payload.size() +
         entry.reason.size();
}

BuriedMessages::Entry* BuriedMessages::Find(Name name, bool is_revived) {
  const auto found = entries_.find(name);
  if (found == entries_.end() || found->second.is_revived != is_revived) return nullptr;
  return &found->second;
}

bool BuriedMessages::Bury(Name name, std::string_view stream, std::string_view key,
                          std::string_view payload, std::string_view reason) {
  PLEAT_CHECK(!Has(name));
  Entry entry{.key = std::string(key),
              .payload = std::string(payload),
              .reason = std::string(reason.substr(0, kReasonBytesMax))};
  const uint64_t bytes = BytesIn(entry);
  if (bytes_ + bytes > options_.buried_bytes_max) return false;
  bytes_ += bytes;
  entries_.emplace(name, std::move(entry));
  streams_.emplace(name.first, stream);
  is_changed_ = true;
  return true;
}

bool BuriedMessages::BuryAgain(Name name, std::string_view reason) {
  Entry* const entry = Find(name, /*is_revived=*/true);
  if (entry == nullptr) return false;
  bytes_ -= BytesIn(*entry);
  entry->reason = reason.substr(0, kReasonBytesMax);
  bytes_ += BytesIn(*entry);
  entry->is_revived = false;
  --revived_;
  is_changed_ = true;
  return true;
}

bool BuriedMessages::Revive(Name name) {
  Entry* const entry = Find(name, /*is_revived=*/false);
  if (entry == nullptr) return false;
  entry->is_revived = true;
  entry->lent_until = kBeginningOfTime;
  ++revived_;
  is_changed_ = true;
  return true;
}

bool BuriedMessages::Confirm(Name name) {
  return Find(name, /*is_revived=*/true) != nullptr && Drop(name);
}

bool BuriedMessages::Drop(Name name) {
  const auto found = entries_.find(name);
  if (found == entries_.end()) return false;
  bytes_ -= BytesIn(found->second);
  revived_ -= found->second.is_revived ? 1 : 0;
  entries_.erase(found);
  is_changed_ = true;
  return true;
}

bool BuriedMessages::LendAgain(Name name, EngineTime at) {
  Entry* const entry = Find(name, /*is_revived=*/true);
  if (entry == nullptr) return false;
  entry->lent_until = at;
  return true;
}

size_t BuriedMessages::Lend(size_t max, EngineTime now, EngineTime until, Take take) {
  if (revived_ == 0) return 0;
  std::set<std::pair<uint32_t, std::string_view>> busy;
  for (const auto& [name, entry] : entries_) {
    if (entry.is_revived && entry.lent_until > now) busy.emplace(name.first, entry.key);
  }
  size_t lent = 0;
  for (auto it = entries_.begin(); it != entries_.end() && lent < max; ++it) {
    auto& [name, entry] = *it;
    if (!entry.is_revived || !busy.emplace(name.first, entry.key).second) continue;
    entry.lent_until = until;
    take(name, entry);
    ++lent;
  }
  return lent;
}

// --- The book

void BuriedMessages::SetNumber(std::optional<uint64_t> number) {
  number_ = number;
  is_changed_ = false;
}

std::string BuriedMessages::Book(uint64_t life) const {
  FieldWriter out;
  out.PutWord(kBuriedBookMark);
  out.PutNumber(kBuriedBookFormat);
  out.PutWord(life);
  out(entries_, streams_);
  return WithChecksum(out);
}

bool BuriedMessages::ReadBook(std::string_view bytes, uint64_t life, uint64_t number) {
  PLEAT_CHECK(entries_.empty());
  const std::optional<std::string_view> fields = CheckedFields(bytes);
  if (!fields) return false;
  FieldReader in(*fields);
  if (!in.Expect(in.Word() == kBuriedBookMark)) return false;
  const uint64_t format = in.Number();
  if (!in.Expect(0 < format && format <= kBuriedBookFormat && in.Word() == life)) return false;
  in(entries_);
  if (format > 1) in(streams_);
  for (const auto& [name, entry] : entries_) {
    bytes_ += BytesIn(entry);
    revived_ += entry.is_revived ? 1 : 0;
  }
  number_ = number;
  return in.done();
}

}  // namespace pleat::inline v0_1
