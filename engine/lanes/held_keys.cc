#include "engine/lanes/held_keys.h"

#include <algorithm>
#include <utility>

#include <pleat/batch.h>
#include <pleat/stored.h>

#include "engine/base/check.h"
#include "engine/lanes/lane_checkpoint.h"

namespace pleat::inline v0_1 {
namespace {

constexpr uint64_t kHeldBookMark = 0x6b6f6f42646c6548;  // "HeldBook": no snapshot begins so
constexpr uint64_t kHeldBookFormat = 2;

void PutOffsets(FieldWriter& out, const absl::btree_set<uint64_t>& offsets) {
  out.PutNumber(offsets.size());
  uint64_t before = 0;
  for (const uint64_t each : offsets) {
    out.PutNumber(each - before);
    before = each;
  }
}

bool GetOffsets(FieldReader& in, absl::btree_set<uint64_t>& offsets) {
  const size_t count = in.Count();
  uint64_t at = 0;
  for (size_t i = 0; i < count; ++i) {
    const uint64_t more = in.Number();
    if (!in.Expect((i == 0 || more > 0) && more <= UINT64_MAX - at)) return false;
    offsets.insert(at += more);
  }
  return in.ok();
}

}  // namespace

// --- Keys

// What the containers take comes on top of the bytes themselves.
uint64_t HeldKeys::BytesIn(const HeldRecord& record) {
  return sizeof(HeldRecord) + sizeof(Line) + 2 * record.key.size() + record.id.size() +
         record.payload.size();
}

HeldKeys::Line& HeldKeys::line(std::string_view key) {
  const auto found = lines_.find(key);
  PLEAT_CHECK(found != lines_.end());
  return found->second;
}

std::string_view HeldKeys::WhyFull() const {
  if (bytes_ >= options_.held_bytes_max) return "the records of held keys take held_bytes_max";
  if (full_lines_ > 0) return "a held key has held_records_max records";
  if (decisions_.size() >= kDecisionsMax)
    return "held records were handled 10'000 times, and no snapshot counts since, as messages "
           "before it wait for acks, or it has failed";
  return {};
}

void HeldKeys::Hold(const LogRecord& record) {
  HeldRecord& held = records_[record.offset];
  held = {.offset = record.offset,
          .logged = record.logged,
          .stamp = record.stamp,
          .key = std::string(record.key),
          .id = std::string(record.id),
          .payload = std::string(record.payload)};
  bytes_ += BytesIn(held);
  Line& line = lines_[held.key];
  line.offsets.insert(record.offset);
  if (line.offsets.size() == options_.held_records_max) ++full_lines_;
  is_changed_ = true;
}

void HeldKeys::SetDue(const std::string& key, Line& line, EngineTime due) {
  due_.erase({line.due, key});
  line.is_parked = false;
  line.due = due;
  due_.emplace(due, key);
}

void HeldKeys::Refuse(std::string_view key, const Handled& answer, EngineTime clock) {
  PLEAT_CHECK(!answer.is_done());
  Line& line = this->line(key);
  ++line.attempts;
  line.reason = answer.reason().substr(0, kReasonBytesMax);
  due_.erase({line.due, std::string(key)});
  if (answer.is_parked()) {
    is_changed_ |= !line.is_parked;
    line.is_parked = true;
    return;
  }
  line.wait = answer.wait();
  SetDue(std::string(key), line, SaturatingAdd(clock, line.wait));
}

void HeldKeys::RetryNow(std::string_view key) {
  Line& line = this->line(key);
  is_changed_ |= line.is_parked;
  SetDue(std::string(key), line, kBeginningOfTime);
}

std::vector<std::string> HeldKeys::Due(EngineTime clock) {
  // A clock that was set back delays nothing by more than its wait.
  if (clock < clock_) {
    for (auto& [key, line] : lines_) {
      if (!line.is_parked) SetDue(key, line, std::min(line.due, SaturatingAdd(clock, line.wait)));
    }
  }
  clock_ = clock;
  std::vector<std::string> keys;
  for (auto it = due_.begin(); it != due_.end() && it->first <= clock; ++it)
    keys.push_back(it->second);
  return keys;
}

const HeldRecord& HeldKeys::First(std::string_view key) const {
  const auto found = lines_.find(key);
  PLEAT_CHECK(found != lines_.end());
  return records_.at(*found->second.offsets.begin());
}

void HeldKeys::RemoveFirst(std::string_view key) {
  const auto found = lines_.find(key);
  PLEAT_CHECK(found != lines_.end());
  Line& line = found->second;
  if (line.offsets.size() == options_.held_records_max) --full_lines_;
  const auto record = records_.find(*line.offsets.begin());
  bytes_ -= BytesIn(record->second);
  line.offsets.erase(line.offsets.begin());
  line.attempts = 0;
  if (line.offsets.empty()) {
    due_.erase({line.due, found->first});
    lines_.erase(found);
  }
  records_.erase(record);
}

void HeldKeys::Decide(std::string_view key, LanePosition at, bool is_dropped) {
  decisions_.push_back({.at = at, .record = First(key).offset, .is_dropped = is_dropped});
  is_changed_ = true;
  RemoveFirst(key);
}

void HeldKeys::DecideToCloseAll(LanePosition at) {
  decisions_.push_back({.at = at, .record = HeldDecision::kNoRecord});
  is_changed_ = true;
}

void HeldKeys::AddTo(int partition, std::vector<HeldKey>& out) const {
  std::map<uint64_t, HeldKey> by_offset;
  for (const auto& [key, line] : lines_) {
    HeldKey& held = by_offset[*line.offsets.begin()];
    held = {.partition = partition,
            .key = key,
            .is_parked = line.is_parked,
            .reason = line.reason,
            .offset = *line.offsets.begin(),
            .records = line.offsets.size(),
            .attempts = line.attempts};
    for (const uint64_t each : line.offsets) held.bytes += BytesIn(records_.at(each));
  }
  for (auto& [offset, held] : by_offset) out.push_back(std::move(held));
}

// --- Snapshots

std::vector<HeldRecord> HeldKeys::Records() const {
  std::vector<HeldRecord> all;
  all.reserve(records_.size());
  for (const auto& [offset, record] : records_) all.push_back(record);
  return all;
}

void HeldKeys::ForgetKept() {
  PLEAT_CHECK(forgotten_ <= kept_ && kept_ <= decided());
  const auto end = decisions_.begin() + static_cast<ptrdiff_t>(kept_ - forgotten_);
  // A book that is older than the snapshot would keep the snapshots before from being removed.
  is_changed_ |= has_book();
  decisions_.erase(decisions_.begin(), end);
  forgotten_ = kept_;
}

bool HeldKeys::has_handled() const {
  return !std::ranges::all_of(decisions_, &HeldDecision::is_dropped);
}

// --- The book

void HeldKeys::SetNumber(std::optional<uint64_t> number) {
  number_ = number;
  is_changed_ = false;
}

std::string HeldKeys::Book(uint64_t life) const {
  FieldWriter out;
  out.PutWord(kHeldBookMark);
  out.PutNumber(kHeldBookFormat);
  out.PutWord(life);
  out.PutNumber(decisions_.size());
  for (const HeldDecision& each : decisions_) {
    out(each.at.next, each.at.tick, each.record, each.is_dropped);
  }
  out.PutNumber(lines_.size());
  for (const auto& [key, line] : lines_) {
    out(key, line.is_parked, line.reason, line.attempts);
    PutOffsets(out, line.offsets);
  }
  return WithChecksum(out);
}

bool HeldKeys::ReadBook(std::string_view bytes, uint64_t life, uint64_t number) {
  PLEAT_CHECK(!has_book());
  const std::optional<std::string_view> fields = CheckedFields(bytes);
  if (!fields) return false;
  FieldReader in(*fields);
  if (!in.Expect(in.Word() == kHeldBookMark)) return false;
  const uint64_t format = in.Number();
  if (!in.Expect(0 < format && format <= kHeldBookFormat && in.Word() == life)) return false;
  decisions_.resize(in.Count());
  for (HeldDecision& each : decisions_) {
    in(each.at.next, each.at.tick, each.record, each.is_dropped);
    if (each.closes_all()) continue;
    if (!in.Expect(replay_.named.insert(each.record).second)) return false;
  }
  for (size_t keys = in.Count(); keys > 0; --keys) {
    std::string key;
    Named named;
    in(key, named.is_parked, named.reason, named.attempts);
    if (!GetOffsets(in, named.offsets) || !in.Expect(!named.offsets.empty())) return false;
    for (const uint64_t each : named.offsets) {
      if (!in.Expect(replay_.named.insert(each).second)) return false;
    }
    if (!in.Expect(replay_.keys.emplace(std::move(key), std::move(named)).second)) return false;
  }
  number_ = number;
  return in.done();
}

void HeldKeys::HoldNamed() {
  for (const auto& [key, named] : replay_.keys) {
    for (const uint64_t each : named.offsets) Hold({.offset = each, .key = key});
  }
  replay_.repeated = decisions_.size();
  PLEAT_CHECK(EndReplay());
}

const HeldDecision* HeldKeys::NextToRepeat(uint64_t next) const {
  if (replay_.repeated == decisions_.size()) return nullptr;
  const HeldDecision& decision = decisions_[replay_.repeated];
  return decision.at.next <= next ? &decision : nullptr;
}

const HeldRecord* HeldKeys::RecordOf(const HeldDecision& decision) const {
  const auto record = records_.find(decision.record);
  if (record == records_.end()) return nullptr;
  const HeldRecord& first = First(record->second.key);
  return first.offset == decision.record ? &first : nullptr;
}

void HeldKeys::Repeat() {
  const HeldDecision& decision = decisions_[replay_.repeated++];
  if (decision.closes_all()) return;
  const HeldRecord* const record = RecordOf(decision);
  PLEAT_CHECK(record != nullptr);
  RemoveFirst(std::string(record->key));
}

bool HeldKeys::EndReplay() {
  const Replay replay = std::exchange(replay_, {});
  if (replay.repeated != decisions_.size() || replay.keys.size() != lines_.size()) return false;
  for (const auto& [key, named] : replay.keys) {
    const auto found = lines_.find(key);
    if (found == lines_.end() || found->second.offsets != named.offsets) return false;
    Line& line = found->second;
    line.reason = named.reason;
    line.attempts = named.attempts;
    if (named.is_parked) {
      line.is_parked = true;
    } else {
      SetDue(key, line, kBeginningOfTime);
    }
  }
  is_changed_ = false;
  return true;
}

}  // namespace pleat::inline v0_1
