#include "engine/fold/group_table.h"

#include <algorithm>
#include <cstring>
#include <new>
#include <type_traits>
#include <utility>
#include <vector>

#include "engine/outbox/ready.h"

namespace pleat::inline v0_1 {
namespace {

constexpr size_t RoundUp(size_t size, size_t to) { return (size + to - 1) / to * to; }

// The state lies behind Group, Extra and the closing time. A group of up to 64 bytes fills exactly one
// cache line.
size_t StateOffset(const FolderOptions& options, const StateOps& ops) {
  size_t head = sizeof(GroupTable::Group);
  if (GroupClock::NeedsExtra(options, ops)) head += sizeof(GroupTable::Extra);
  if (GroupClock::NeedsClosingTime(options, ops)) head += sizeof(EngineTime);
  return RoundUp(head, ops.align);
}
size_t StrideFor(const FolderOptions& options, const StateOps& ops) {
  const size_t size = StateOffset(options, ops) + ops.size;
  return size <= 64 ? 64 : RoundUp(size, std::max<size_t>(ops.align, 16));
}

// While it is open, a group takes a reference of the deadlines (4 to 5 bytes) and a share of the
// index (9, between splits 7 to 15); while it waits to be popped, a place in the queue. The larger
// of the two is counted from the beginning, so that closing never takes a folder over its limit.
constexpr size_t kPlaceBytes = std::max<size_t>(14, sizeof(Ready));

// Without a long key and the bytes that the state owns.
size_t EntryBytes(const FolderOptions& options, const StateOps& ops, size_t cold) {
  return StrideFor(options, ops) + cold + kPlaceBytes;
}

}  // namespace

void GroupTable::FailHeapBytes() noexcept {
  Fail("HeapBytes() of a state has changed outside of its Fold()");
}

GroupTable::GroupTable(Pages& pool, const FolderOptions& options, const StateOps& ops)
    : ops_(ops),
      state_offset_(StateOffset(options, ops)),
      two_lines_(StrideFor(options, ops) > 64),
      folds_touch_more_(two_lines_),
      clock_(options, ops),
      table_(pool, StrideFor(options, ops), clock_.UsualLife(), Entries{*this}),
      entry_bytes_(EntryBytes(options, ops, sizeof(Cold))),
      keys_(pool) {}

size_t GroupTable::BytesOfNew(const FolderOptions& options, const StateOps& ops,
                              size_t key_bytes) noexcept {
  return EntryBytes(options, ops, sizeof(Cold)) + KeyArena::BytesForLength(key_bytes);
}

GroupTable::~GroupTable() {
  table_.ForEach([this](uint32_t number) {
    ops_.destroy(ops_.context, StateOf(EntryToChange(number)));
    keys_.Release(at(number).key);
  });
}

uint64_t GroupTable::HighCountOf(uint32_t number) const noexcept {
  const auto wraps = wraps_.find(number);
  return wraps == wraps_.end() ? 0 : wraps->second;
}

GroupTable::Entry GroupTable::FindSlowly(const PackedKey& key, uint64_t hash) const {
  return Find(key, hash);
}

GroupTable::Entry GroupTable::FindAmong(const PackedKey& key, uint64_t hash) const {
  const uint32_t number =
      table_.Find(hash, [&](uint32_t candidate) { return at(candidate).key == key; });
  if (number == kNone) return {};
  return {number, &at(number)};
}

// --- The life of an entry

uint32_t GroupTable::Add(const PackedKey& key, uint64_t hash, EngineTime at, uint64_t position,
                         const void* event) {
  return AddInline(key, hash, at, position, event).number;
}

uint32_t GroupTable::AddCopy(uint32_t number) {
  Cold cold{};
  cold.back = table_.cold(number).back;
  cold.set_position(position(number));
  const uint32_t copy = NewEntry(cold);
  Group& group = *::new (table_.hot(copy)) Group(at(number));
  group.key = keys_.Keep(group.key);
  if (cold.back == kFar) early_[copy] = early_.at(number);
  if (const auto wraps = wraps_.find(number); wraps != wraps_.end()) {
    wraps_[copy] = wraps->second;
    has_notes_ = true;
  }
  ops_.copy(ops_.context, StateOf(group), state(number));
  bytes_ += BytesOfNew(group.key);
  CountHeap(copy, HeapBytesOf(copy));
  return copy;
}

void GroupTable::SetExtra(uint32_t number, const Extra& extra) noexcept {
  Group& group = ChangeKept(number);
  ::new (&ExtraOf(group)) Extra(extra);
  if (has_closing_time()) ClosingTimeOf(group) = kNever;
}

void GroupTable::NoteEarlier(uint32_t number, EngineTime at) {
  if (at >= FirstOf(number)) return;
  KeepImage(number);
  Cold& cold = table_.cold(number);
  const Duration back = this->at(number).opened - at;
  cold.back = back < Duration{kFar} ? static_cast<uint32_t>(back.count()) : kFar;
  if (cold.back == kFar) early_[number] = at;
}

void GroupTable::Index(uint32_t number, uint64_t hash) {
  PLEAT_DCHECK(Find(at(number).key, hash).number == kNone);
  table_.Index(hash, number);
}

void GroupTable::Arm(uint32_t number) {
  PLEAT_DCHECK(IsKept(number));
  table_.Arm(number, DueOf(number), position(number));
}

void GroupTable::Unindex(uint32_t number) {
  PLEAT_DCHECK(IsKept(number));
  ++unindexed_;
  table_.Unindex(number);
}

// The bytes that the entry counts for go along.
void GroupTable::ArmEarlier(uint32_t number, uint64_t hash, EngineTime now) {
  PLEAT_DCHECK(indexed(number) && IsGroup(number));
  Group& group = Change(number);
  Cold cold{};
  cold.back = table_.cold(number).back;
  cold.set_position(position(number));
  const uint32_t moved = NewEntry(cold);
  static_assert(std::is_trivially_copyable_v<Group> && std::is_trivially_copyable_v<Extra>);
  std::memcpy(table_.hot(moved), &group, state_offset_);
  ops_.relocate(ops_.context, StateOf(ChangeKept(moved)), StateOf(group));
  const auto move_in = [&](auto& map) {
    if (auto node = map.extract(number)) {
      node.key() = moved;
      map.insert(std::move(node));
    }
  };
  move_in(wraps_);
  move_in(early_);
#ifndef NDEBUG
  move_in(heap_counted_);
#endif
  End(number);
  table_.Free(number);
  IndexAndArm(moved, hash, now);
}

void GroupTable::CallForPartial(uint32_t number, EngineTime now) {
  if (!clock_.IsCalled(at(number), now) || table_.cold(number).called) return;
  table_.Call(number);
}

void GroupTable::CallAll(EngineTime now) {
  if (!clock_.CallAll(now)) return;
  uint32_t place = 0;
  ForEachIndexedFrom(place, [&](uint32_t number) {
    CallForPartial(number, now);
    return true;
  });
}

void GroupTable::End(uint32_t number) {
  KeepImage(number);
  if (indexed(number)) Unindex(number);
  table_.Disarm(number);
}

void GroupTable::DestroyState(uint32_t number) noexcept {
  UncountHeap(number);
  ops_.destroy(ops_.context, StateOf(ChangeKept(number)));
}

size_t GroupTable::UncountHeap(uint32_t number) noexcept {
  const size_t heap = HeapBytesOf(number);
#ifndef NDEBUG
  if (ops_.heap_bytes != nullptr && heap != heap_counted_.extract(number).mapped()) FailHeapBytes();
#endif
  if (heap > heap_bytes_) [[unlikely]]
    FailHeapBytes();
  heap_bytes_ -= heap;
  return heap;
}

void GroupTable::FreeRare(uint32_t number) noexcept {
  const PackedKey& key = at(number).key;
  bytes_ -= KeyArena::BytesFor(key);
  keys_.Release(key);
  if (!early_.empty()) early_.erase(number);
  if (!has_notes_) return;
  wraps_.erase(number);
  decided_.erase(number);
  has_notes_ = !wraps_.empty() || !decided_.empty();
}

// --- Deadlines

Deadlines::Found GroupTable::Peek(EngineTime now, uint64_t version, Budget& budget, Due& due) {
  clock_.Look(now, version);
  return table_.Peek(now, budget, due);
}

// --- Other periods

void GroupTable::DecideOvertaken() {
  std::vector<uint32_t> overtaken;
  ForEachArmed([&](uint32_t number) {
    if (!indexed(number)) overtaken.push_back(number);
  });
  ForEachFiled([this](const Due& due) { Decide(due.number); });
  for (const uint32_t number : overtaken) {
    KeepImage(number);
    Decide(number);
    const Due due{.ripe = DueOf(number),
                  .order = position(number),
                  .number = number,
                  .by_event = false,
                  .tag = static_cast<uint8_t>(ReasonByTime(number))};
    table_.Disarm(due.number);
    table_.File(due);
  }
}

// Where the quiet deadline of a group with Extra is that of its latest stamp by the quiet period so
// far, it follows. Else an event has brought a quiet period of its own, or an older event came last.
void GroupTable::SetPeriods(const GroupClock::Periods& periods) {
  const Duration before = clock_.quiet_period();
  clock_.SetPeriods(periods);
  if (!has_extra() || before == periods.quiet) return;
  uint32_t place = 0;
  ForEachIndexedFrom(place, [&](uint32_t number) {
    const Group& group = at(number);
    if (ExtraOf(group).quiet_due == GroupClock::After(group.last, before)) {
      ExtraOf(Change(number)).quiet_due = GroupClock::After(group.last, clock_.quiet_period());
    }
    return true;
  });
}

void GroupTable::ArmByPeriods(const GroupClock::Periods& before, EngineTime now) {
  const bool earlier = clock_.quiet_period() < before.quiet || clock_.max_wait() < before.hold;
  const Duration usual_life = clock_.UsualLife();
  if (earlier || !table_.Suits(usual_life)) table_.ArmAllAnew(usual_life);
  if (!clock_.has_partials()) return;
  uint32_t place = 0;
  ForEachIndexedFrom(place, [&](uint32_t number) {
    CallForPartial(number, now);  // the deadline may lie behind the next instant now
    return true;
  });
}

void GroupTable::CheckWhole() const {
  table_.CheckWhole();
  size_t bytes = 0;
  table_.ForEach([&](uint32_t number) {
    const Group& group = at(number);
    bytes += BytesOf(number);
    PLEAT_CHECK(group.opened <= group.last && FirstOf(number) <= group.opened);
    PLEAT_CHECK(!indexed(number) || table_.cold(number).armed);
    PLEAT_CHECK(!indexed(number) || IsGroup(number));
    const bool cuts = has_extra() && indexed(number) && extra(number).changed &&
                      extra(number).next_partial < DueOf(number);
    PLEAT_CHECK(!cuts || table_.cold(number).called);
  });
  PLEAT_CHECK(bytes == this->bytes());
  for (const auto& [number, due] : decided_) {
    PLEAT_CHECK(table_.Holds(number) && !table_.cold(number).armed);
  }
}

}  // namespace pleat::inline v0_1
