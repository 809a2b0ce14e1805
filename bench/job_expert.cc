// What the best C++ engineer would write for the whole job in an afternoon: one thread, no lock, nothing
// that the job does not ask for, as fast as we could make it.
//
// - A group is one cache line, with its key unless that is long, in a pool that uses it again.
// - An index of eight bytes a slot, by linear probing, finds a group's number by 32 bits of hash. So
//   neither doubling the index nor closing the gap that an erased slot leaves reads a group.
// - A group waits in the list of the tick at which it may be due. Only then is it looked at, and moves on if
//   an event has come since; an event itself moves nothing.
// - What a batch of events or a list is about to read is prefetched: first the slots, then the groups.
#include <sys/mman.h>

#include <cstdlib>
#include <new>

#include <absl/hash/hash.h>
#include <absl/strings/string_view.h>

#include "bench/job.h"

namespace pleat::bench {
namespace {

// Of Abseil's view: where that is not the standard's, Abseil hashes the standard's by std::hash.
uint32_t Hash(std::string_view key) {
  return static_cast<uint32_t>(absl::HashOf(absl::string_view(key.data(), key.size())));
}

constexpr size_t kHugePage = size_t{2} << 20;

template <class T>
using Array = std::unique_ptr<T[], decltype(&std::free)>;

// Not initialised; in huge pages if it fills one.
template <class T>
Array<T> MakeArray(size_t count) {
  const size_t align = count * sizeof(T) < kHugePage ? 64 : kHugePage;
  void* const memory = std::aligned_alloc(align, count * sizeof(T));
  if (memory == nullptr) throw std::bad_alloc();
  if (align == kHugePage) madvise(memory, count * sizeof(T), MADV_HUGEPAGE);
  return {static_cast<T*>(memory), &std::free};
}

struct alignas(64) Group {
  Group(std::string_view text, uint32_t hash_of_it)
      : hash(hash_of_it), size(static_cast<uint32_t>(text.size())) {
    if (size > sizeof(near)) far = new char[size];
    std::memcpy(size > sizeof(near) ? far : near, text.data(), size);
  }
  ~Group() {
    if (size > sizeof(near)) delete[] far;
  }
  std::string_view key() const { return {size > sizeof(near) ? far : near, size}; }

  NameSet names;
  int64_t last = 0;
  uint32_t hash;
  uint32_t size;
  union {
    char near[32];
    char* far;
  };
};
static_assert(sizeof(Group) == 64);

// Groups by number, from 1 on.
class Pool {
 public:
  Group& operator[](uint32_t number) { return chunks_[number / kChunk][number % kChunk]; }
  uint32_t Add(std::string_view key, uint32_t hash) {
    uint32_t number = next_;
    if (!free_.empty()) {
      number = free_.back();
      free_.pop_back();
    } else if (next_++ / kChunk == chunks_.size()) {
      chunks_.push_back(MakeArray<Group>(kChunk));
    }
    new (&(*this)[number]) Group(key, hash);
    return number;
  }
  void Remove(uint32_t number) {
    (*this)[number].~Group();
    free_.push_back(number);
  }
  size_t bytes() const { return next_ * sizeof(Group) + free_.capacity() * sizeof(uint32_t); }

 private:
  static constexpr uint32_t kChunk = kHugePage / sizeof(Group);
  std::vector<Array<Group>> chunks_;
  std::vector<uint32_t> free_;
  uint32_t next_ = 1;
};

class Index {
 public:
  struct Slot {
    uint32_t hash;
    uint32_t group;  // 0 if the slot is free
  };

  Index() { Grow(10); }
  size_t size() const { return size_; }
  size_t bytes() const { return (mask_ + 1) * sizeof(Slot); }
  void Prefetch(uint32_t hash) const { __builtin_prefetch(&slots_[hash >> shift_], 1); }

  // The first slot of `hash` that `is_it` agrees to; otherwise a free one.
  template <class Predicate>
  Slot& Find(uint32_t hash, const Predicate& is_it) const {
    size_t i = hash >> shift_;
    while (slots_[i].group != 0 && (slots_[i].hash != hash || !is_it(slots_[i].group))) i = Next(i);
    return slots_[i];
  }
  void Insert(Slot slot) {
    if (++size_ > mask_ / 8 * 5) Grow(33 - shift_);
    FreeOf(slot.hash) = slot;
  }
  void Erase(Slot& slot) {
    size_t gap = static_cast<size_t>(&slot - slots_.get());
    for (size_t i = Next(gap); slots_[i].group != 0; i = Next(i)) {
      if (((i - (slots_[i].hash >> shift_)) & mask_) < ((i - gap) & mask_)) continue;
      slots_[gap] = slots_[i];
      gap = i;
    }
    slots_[gap].group = 0;
    --size_;
  }

 private:
  size_t Next(size_t i) const { return (i + 1) & mask_; }
  Slot& FreeOf(uint32_t hash) const {
    return Find(hash, [](uint32_t) { return false; });
  }
  void Grow(int bits) {
    const size_t old_count = slots_ == nullptr ? 0 : mask_ + 1;
    const Array<Slot> old = std::exchange(slots_, MakeArray<Slot>(size_t{1} << bits));
    std::memset(slots_.get(), 0, sizeof(Slot) << bits);
    shift_ = 32 - bits;
    mask_ = (size_t{1} << bits) - 1;
    for (size_t i = 0; i < old_count; ++i) {
      if (old[i].group != 0) FreeOf(old[i].hash) = old[i];
    }
  }

  Array<Slot> slots_{nullptr, &std::free};
  size_t size_ = 0;
  size_t mask_;
  int shift_;
};

class ExpertStore {
 public:
  explicit ExpertStore(const Job& job)
      : quiet_(job.quiet), polled_(job.ticks[0].at), due_(std::bit_ceil<size_t>(quiet_ + 1)) {}

  void Poll(int64_t tick, Emissions& emissions) {
    const int64_t first = std::max(polled_, tick - static_cast<int64_t>(due_.size())) + 1;
    for (int64_t at = first; at <= tick; ++at) Look(at, tick, emissions);
    polled_ = tick;
  }

  void Fold(const Tick& tick) {
    for (size_t i = 0; i < tick.events.size(); i += kAtOnce) {
      FoldBatch(tick.events.subspan(i, std::min(kAtOnce, tick.events.size() - i)), tick.at);
    }
  }

  double BytesPerGroup() const {
    size_t bytes = pool_.bytes() + index_.bytes();
    for (const auto& list : due_) bytes += list.capacity() * sizeof(uint32_t);
    return static_cast<double>(bytes) / static_cast<double>(index_.size());
  }

 private:
  static constexpr size_t kAtOnce = 256;
  static constexpr size_t kAhead = 8;  // of the list

  std::vector<uint32_t>& DueAt(int64_t tick) {
    return due_[static_cast<size_t>(tick) & (due_.size() - 1)];
  }

  void Look(int64_t at, int64_t tick, Emissions& emissions) {
    looked_at_.clear();
    looked_at_.swap(DueAt(at));
    const size_t count = looked_at_.size();
    for (size_t i = 0; i < count; ++i) {
      if (i + 2 * kAhead < count) __builtin_prefetch(&pool_[looked_at_[i + 2 * kAhead]], 1);
      if (i + kAhead < count) index_.Prefetch(pool_[looked_at_[i + kAhead]].hash);
      Group& group = pool_[looked_at_[i]];
      if (group.last + quiet_ > tick) {
        DueAt(group.last + quiet_).push_back(looked_at_[i]);
        continue;
      }
      emissions.Add(group.key(), tick, dictionary_.NamesOf(group.names));
      index_.Erase(index_.Find(group.hash, [&](uint32_t n) { return n == looked_at_[i]; }));
      pool_.Remove(looked_at_[i]);
    }
  }

  void FoldBatch(std::span<const JobEvent> events, int64_t at) {
    for (size_t i = 0; i < events.size(); ++i) {
      hashes_[i] = Hash(events[i].key);
      index_.Prefetch(hashes_[i]);
      numbers_[i] = dictionary_.Numbers(events[i].event);
    }
    for (size_t i = 0; i < events.size(); ++i) {
      index_.Find(hashes_[i], [&](uint32_t group) {
        __builtin_prefetch(&pool_[group], 1);
        return true;
      });
    }
    for (size_t i = 0; i < events.size(); ++i) {
      Group& group = GroupOf(events[i].key, hashes_[i], at);
      group.names.Fold(numbers_[i]);
      group.last = at;
    }
  }

  Group& GroupOf(std::string_view key, uint32_t hash, int64_t at) {
    uint32_t group = index_.Find(hash, [&](uint32_t n) { return pool_[n].key() == key; }).group;
    if (group == 0) {
      group = pool_.Add(key, hash);
      index_.Insert({hash, group});
      DueAt(at + quiet_).push_back(group);
    }
    return pool_[group];
  }

  NameDictionary dictionary_;
  int64_t quiet_;
  int64_t polled_;
  Pool pool_;
  Index index_;
  std::vector<std::vector<uint32_t>> due_;
  std::vector<uint32_t> looked_at_;
  std::array<uint32_t, kAtOnce> hashes_;
  std::array<NameNumbers, kAtOnce> numbers_;
};

}  // namespace

JobResult Expert(const Job& job, bool keep_rows) {
  ExpertStore store(job);
  return RunTicks(job, keep_rows, store);
}

}  // namespace pleat::bench
