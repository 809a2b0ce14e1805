#include "engine/rollup/counter_table.h"

#include <new>
#include <string_view>

namespace pleat::inline v0_1 {
namespace {

// How many windows are written at a turn of the lock, but for those of the last counter.
constexpr size_t kWindowsAtOnce = 64;

}  // namespace

CounterTable::~CounterTable() {
  table_.ForEach([this](uint32_t number) { keys_.Release(at(number).key); });
}

// --- Counters

// Inline, because an event that opens a counter pays for it.
[[gnu::always_inline]] inline uint32_t CounterTable::Make(const PackedKey& key, uint64_t hash) {
  const uint32_t number = table_.New();
  table_.cold(number).uses = 0;
  new (table_.hot(number)) Counter{.hash = static_cast<uint32_t>(hash),
                                   .count = 0,
                                   .key = keys_.Keep(key),
                                   .start = kNoStart,
                                   .sum = 0,
                                   .account = kNone,
                                   .final_count = 0,
                                   .final_sum = 0};
  bytes_ += BytesOfNew(key);
  return number;
}

uint32_t CounterTable::New(const PackedKey& key, uint64_t hash) {
  PLEAT_DCHECK(Find(key, hash) == kNone);
  const uint32_t number = Make(key, hash);
  table_.Index(hash, number);
  return KeepNoCounter(number);
}

uint32_t CounterTable::NewForgotten(const PackedKey& key, uint64_t hash) { return Make(key, hash); }

void CounterTable::Remove(uint32_t number) {
  Counter& counter = ChangeKept(number);
  ++removals_;
  table_.Unindex(number);
  counter.count = 0;
  counter.final_count = 0;
  if (Account* const account = AccountAt(counter)) {
    DropChain(account->chain);
    DropChain(account->coarse);
    account->chain = account->coarse = kNone;
    TrimAccount(counter);
  }
  FreeUnused(number);
}

void CounterTable::DropChain(uint32_t head) noexcept {
  while (head != kNone) {
    Window& dropped = WindowAt(head);
    const uint32_t number = head;
    KeepNoWindow(number);
    head = dropped.next;
    dropped.chained = 0;
    if (!dropped.ready) FreeWindow(number);
  }
}

// A forgotten counter keeps its key as long as emissions show the key.
void CounterTable::FreeUnused(uint32_t number) noexcept {
  if (table_.cold(number).indexed || table_.cold(number).uses > 0) return;
  KeepImage(number);
  const PackedKey& key = at(number).key;
  bytes_ -= BytesOfNew(key);
  keys_.Release(key);
  table_.Free(number);
}

// --- Accounts

CounterTable::Account& CounterTable::AccountOf(Counter& counter) {
  if (counter.account == kNone) {
    counter.account = accounts_.Allocate();
    new (accounts_.hot(counter.account)) Account{.final_total = {},
                                                 .open_sum = 0,
                                                 .open_count = 0,
                                                 .chain = kNone,
                                                 .coarse = kNone,
                                                 .irregular = false};
    bytes_ += kAccountBytes;
  }
  return *AccountAt(counter);
}

void CounterTable::TrimAccount(Counter& counter) noexcept {
  const Account* const account = AccountIn(counter);
  if (account == nullptr || account->chain != kNone || account->coarse != kNone ||
      counter.final_count == kInAccount) {
    return;
  }
  accounts_.Free(counter.account);
  counter.account = kNone;
  bytes_ -= kAccountBytes;
}

void CounterTable::SetFinal(Counter& counter, const Total& total) {
  if (total.plain() && total.count < kInAccount) {
    counter.final_count = static_cast<uint32_t>(total.count);
    counter.final_sum = total.whole;
  } else {
    AccountOf(counter).final_total = total;
    counter.final_count = kInAccount;
  }
}

// --- Windows outside

uint32_t CounterTable::ChainOf(const Counter& counter, uint8_t resolution) const noexcept {
  const Account* const account = AccountIn(counter);
  if (account == nullptr) return kNone;
  return resolution == 0 ? account->chain : account->coarse;
}

uint32_t& CounterTable::HeadOf(Counter& counter, uint8_t resolution) {
  Account& account = AccountOf(counter);
  return resolution == 0 ? account.chain : account.coarse;
}

uint32_t CounterTable::FindWindow(const Counter& counter, uint8_t resolution,
                                  EngineTime start) const noexcept {
  for (uint32_t at = ChainOf(counter, resolution); at != kNone; at = window(at).next) {
    const Window& each = window(at);
    if (each.start == start && each.resolution == resolution) return at;
    if (each.start < start) break;
  }
  return kNone;
}

uint32_t CounterTable::NewWindow(uint32_t counter, uint8_t resolution, EngineTime start) {
  const uint32_t number = windows_.Allocate();
  Window& added = *new (windows_.hot(number)) Window{};
  added.start = start;
  added.resolution = resolution & 7;
  added.counter = counter;
  added.next = kNone;
  ++table_.cold(counter).uses;
  ++window_count_;
  bytes_ += kWindowBytes;
  return KeepNoWindow(number);
}

void CounterTable::Chain(uint32_t number) {
  Window& added = WindowAt(number);
  PLEAT_DCHECK(!added.chained);
  uint32_t* link = &HeadOf(ChangeKept(added.counter), added.resolution);
  while (*link != kNone && window(*link).start > added.start) link = &WindowAt(*link).next;
  added.next = *link;
  added.chained = 1;
  *link = number;
}

void CounterTable::Unchain(uint32_t number) noexcept {
  Window& removed = WindowAt(number);
  PLEAT_DCHECK(removed.chained);
  uint32_t* link = &HeadOf(ChangeKept(removed.counter), removed.resolution);
  while (*link != number) link = &WindowAt(*link).next;
  KeepNoWindow(number);
  *link = removed.next;
  removed.chained = 0;
}

uint32_t CounterTable::MoveOut(uint32_t counter) {
  PLEAT_DCHECK(at(counter).count > 0);
  const uint32_t number = NewWindow(counter, 0, at(counter).start);
  WindowAt(number).total = TotalInside(at(counter));
  Chain(number);
  ChangeKept(counter).count = 0;
  return number;
}

void CounterTable::FreeWindow(uint32_t number) noexcept {
  PLEAT_DCHECK(!window(number).chained && MayChangeWindow(number));
  const uint32_t counter = window(number).counter;
  windows_.Free(number);
  --window_count_;
  bytes_ -= kWindowBytes;
  --table_.cold(counter).uses;
  FreeUnused(counter);
}

// --- Saving

// With many windows to a counter, a turn of the lock ends before the strip does.
bool CounterTable::SaveCounters(FieldWriter& out, PlaceNumbers& saved) {
  if (images_->counters.at_end()) return false;
  size_t windows = 0;
  const auto save = [&](uint32_t number) {
    if (!table_.Holds(number)) return true;
    saved.Add(number);
    windows += images_->saver.SaveCounter(out, number);
    return windows < kWindowsAtOnce;
  };
  images_->counters.TakeStrip(save, [&](uint32_t number, std::string_view image) {
    saved.Add(number);
    out.PutFields(image);
  });
  return true;
}

// An image begins with the place of the counter, which has no number before all counters are saved.
// A window that is loose now, and has no image, was so at the cut: others were marked when they
// became loose.
bool CounterTable::SaveLooseWindows(FieldWriter& out, const PlaceNumbers& saved) {
  if (images_->windows.at_end()) return false;
  const auto save = [&](uint32_t number) {
    if (!IsLoose(number)) return true;
    out.PutNumber(uint64_t{saved.Before(window(number).counter)} + 1);
    images_->saver.SaveLoose(out, number);
    return true;
  };
  images_->windows.TakeStrip(save, [&](uint32_t, std::string_view image) {
    const auto counter = static_cast<uint32_t>(FieldReader(image).Word());
    out.PutNumber(uint64_t{saved.Before(counter)} + 1);
    out.PutFields(image.substr(sizeof(uint64_t)));
  });
  return true;
}

void CounterTable::KeepImageNow(uint32_t number) {
  if (images_->Has(number)) return;
  images_->counters.Keep(number,
                         [&](FieldWriter& out) { images_->saver.SaveCounter(out, number); });
}

uint32_t CounterTable::KeepNoCounterNow(uint32_t number) {
  images_->KeepNothing(number);
  return number;
}

uint32_t CounterTable::KeepNoWindowNow(uint32_t number) {
  images_->windows.KeepNothing(number);
  return number;
}

void CounterTable::KeepWindow(uint32_t number) {
  if (MayChangeWindow(number)) return;
  if (window(number).chained) return KeepImage(window(number).counter);
  images_->windows.Keep(number, [&](FieldWriter& out) {
    out.PutWord(window(number).counter);
    images_->saver.SaveLoose(out, number);
  });
}

// ---

void CounterTable::CheckWhole() const {
  table_.CheckWhole();
  PLEAT_CHECK(windows_.CheckWhole() == window_count_);
  size_t bytes = window_count_ * kWindowBytes + accounts_.CheckWhole() * kAccountBytes;
  table_.ForEach([&](uint32_t number) {
    const Counter& counter = at(number);
    bytes += BytesOfNew(counter.key);
    for (const uint8_t resolution : {uint8_t{0}, uint8_t{1}}) {
      EngineTime before = EngineTime::max();
      for (uint32_t each = ChainOf(counter, resolution); each != kNone; each = window(each).next) {
        PLEAT_CHECK(window(each).chained && window(each).counter == number);
        PLEAT_CHECK((window(each).resolution == 0) == (resolution == 0));
        PLEAT_CHECK(window(each).start <= before);
        before = window(each).start;
      }
    }
    const uint32_t newest = ChainOf(counter, 0);
    PLEAT_CHECK(counter.count == 0 || newest == kNone || window(newest).start < counter.start);
  });
  PLEAT_CHECK(bytes == bytes_);
}

}  // namespace pleat::inline v0_1
