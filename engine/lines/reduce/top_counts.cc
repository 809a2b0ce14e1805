#include "engine/lines/reduce/top_counts.h"

#include <algorithm>
#include <numeric>
#include <string>
#include <vector>

#include <absl/hash/hash.h>
#include <absl/strings/string_view.h>

#include "engine/lines/reduce/line_parts.h"
#include "engine/lines/reduce/small_text.h"
#include "engine/lines/scan/normal.h"

namespace pleat::inline v0_1 {
namespace {

constexpr size_t kFirstPlaces = 8;

struct Counted {
  SmallText text;
  uint64_t over;   // by how much the count may be too high
  uint64_t since;  // the first of those that are kept is 0, the next one 1...
  size_t hash;
};

// Of a value in normal form.
size_t HashOf(std::string_view value) noexcept {
  return absl::Hash<absl::string_view>{}(absl::string_view(value.data(), value.size()));
}

// Whether the normal form of `value` is `normal`. REQUIRES: they have the same hash.
bool HasNormalForm(std::string_view value, std::string_view normal) {
  return value == normal || (!IsNormalElement(value) && Normal(value) == normal);
}

}  // namespace

// Values by their places, and a hash table of the places: open, probed one after the other, at most half
// full. Its size depends on the number of values alone, and so does what a table takes, but for texts.
struct TopCounts::Table {
  static constexpr uint32_t kFree = 0;  // else a place + 1

  Table() = default;
  Table(const Table&) = delete;
  Table& operator=(const Table&) = delete;
  ~Table() {
    for (Counted& value : values) value.text.Clear();
  }

  size_t Next(size_t slot) const noexcept { return (slot + 1) & (slots.size() - 1); }
  size_t Home(size_t hash) const noexcept { return hash & (slots.size() - 1); }

  // The slot of `value`, which is in normal form, or the free one where it would be. REQUIRES: there are
  // slots.
  size_t Find(std::string_view value, size_t hash) const {
    size_t slot = Home(hash);
    for (; slots[slot] != kFree; slot = Next(slot)) {
      const Counted& at = values[slots[slot] - 1];
      if (at.hash == hash && HasNormalForm(at.text.view(), value)) break;
    }
    return slot;
  }

  // Room for `size` values.
  void Grow(size_t size) {
    if (2 * size <= slots.size()) return;
    size_t places = std::max(slots.size() / 2, kFirstPlaces);
    while (places < size) places *= 2;
    values.reserve(places);
    counts.reserve(places);
    slots.assign(2 * places, kFree);
    for (size_t place = 0; place < values.size(); ++place) Enter(place);
  }

  // Enters a value that is in no slot yet.
  void Enter(size_t place) noexcept {
    size_t slot = Home(values[place].hash);
    while (slots[slot] != kFree) slot = Next(slot);
    slots[slot] = static_cast<uint32_t>(place + 1);
  }

  // Takes a value out of the slots. Those behind it move up, as far as each may.
  void Leave(size_t place) noexcept {
    size_t hole = Home(values[place].hash);
    while (slots[hole] != place + 1) hole = Next(hole);
    slots[hole] = kFree;
    for (size_t slot = Next(hole); slots[slot] != kFree; slot = Next(slot)) {
      const size_t home = Home(values[slots[slot] - 1].hash);
      const size_t mask = slots.size() - 1;
      if (((slot - home) & mask) < ((slot - hole) & mask)) continue;  // its home is behind the hole
      slots[hole] = slots[slot];
      slots[slot] = kFree;
      hole = slot;
    }
  }

  void SetText(Counted& value, std::string_view text) {
    text_bytes -= value.text.heap_bytes();
    value.text.Assign(text);
    text_bytes += value.text.heap_bytes();
  }

  std::vector<Counted> values;
  std::vector<uint64_t> counts;  // of the values, beside them: the smallest is looked for
  std::vector<uint32_t> slots;
  uint64_t entered = 0;   // how many values were entered so far
  size_t text_bytes = 0;  // on the heap
};

void TopCounts::Add(std::string_view value, uint64_t kept, bool may_be_odd) {
  if (table_ == nullptr) table_ = new Table;
  Table& table = *table_;
  std::string normal_form;
  std::string_view normal = value;
  if (may_be_odd && !IsNormalElement(value)) [[unlikely]]
    normal = normal_form = Normal(value);
  const size_t hash = HashOf(normal);
  if (!table.slots.empty()) {
    const uint32_t found = table.slots[table.Find(normal, hash)];
    if (found != Table::kFree) {
      ++table.counts[found - 1];
      return;
    }
  }
  size_t place = table.values.size();
  if (place < kept) {
    table.Grow(place + 1);
    table.values.push_back({{}, 0, 0, 0});
    table.counts.push_back(0);
  } else {
    place = static_cast<size_t>(std::ranges::min_element(table.counts) - table.counts.begin());
    table.Leave(place);
    table.values[place].over = table.counts[place];
  }
  Counted& entry = table.values[place];
  table.SetText(entry, value);
  entry.hash = hash;
  entry.since = table.entered++;
  ++table.counts[place];
  table.Enter(place);
}

bool TopCounts::cut() const noexcept {
  return table_ != nullptr && table_->entered > table_->values.size();
}

void TopCounts::AppendTo(uint64_t n, LineWriter& out) const {
  if (table_ == nullptr) return;
  std::vector<uint32_t> places(table_->values.size());
  std::iota(places.begin(), places.end(), 0U);
  const auto last =
      places.begin() + static_cast<std::ptrdiff_t>(std::min<uint64_t>(n, places.size()));
  std::ranges::partial_sort(places, last, [this](uint32_t a, uint32_t b) {
    if (table_->counts[a] != table_->counts[b]) return table_->counts[a] > table_->counts[b];
    return table_->values[a].since < table_->values[b].since;
  });
  for (auto place = places.begin(); place != last; ++place) {
    const Counted& value = table_->values[*place];
    out.Put(place == places.begin() ? "{\"value\":" : ",{\"value\":");
    out.Put(value.text.view());
    PutNumber(",\"count\":", table_->counts[*place], out);
    if (value.over != 0) PutNumber(",\"over\":", value.over, out);
    out.Put('}');
  }
}

size_t TopCounts::heap_bytes() const noexcept {
  if (table_ == nullptr) return 0;
  return sizeof(Table) + table_->values.capacity() * (sizeof(Counted) + sizeof(uint64_t)) +
         table_->slots.size() * sizeof(uint32_t) + table_->text_bytes;
}

void TopCounts::Detach() {
  if (table_ == nullptr) return;
  auto* const copy = new Table;
  copy->Grow(table_->values.size());
  copy->values = table_->values;
  copy->counts = table_->counts;
  copy->slots = table_->slots;
  copy->entered = table_->entered;
  for (Counted& value : copy->values) {
    value.text.Detach();
    copy->text_bytes += value.text.heap_bytes();
  }
  table_ = copy;
}

void TopCounts::Clear() noexcept {
  delete table_;
  table_ = nullptr;
}

// How many are kept, and how many were entered; each in its place.
void TopCounts::Save(FieldWriter& out) const {
  const size_t size = table_ == nullptr ? 0 : table_->values.size();
  out.PutNumber(size);
  if (size == 0) return;
  out.PutNumber(table_->entered);
  for (size_t place = 0; place < size; ++place) {
    const Counted& value = table_->values[place];
    value.text.Save(out);
    out(table_->counts[place], value.over, value.since);
  }
}

void TopCounts::Load(FieldReader& in, uint64_t kept) {
  const uint64_t size = in.Number();
  if (!in.Expect(size <= kept && in.Has(size)) || size == 0) return;
  const uint64_t entered = in.Number();
  if (!in.Expect(entered >= size && (entered == size || size == kept))) return;
  table_ = new Table;
  table_->Grow(size);
  table_->entered = entered;
  while (table_->values.size() < size && in.ok()) {
    Counted& value = table_->values.emplace_back();
    uint64_t& count = table_->counts.emplace_back();
    value.text.Load(in);
    in(count, value.over, value.since);
    table_->text_bytes += value.text.heap_bytes();
    const bool sound = !value.text.empty() && value.over < count && value.since < entered;
    if (!in.Expect(sound)) return;
    const std::string normal = Normal(value.text.view());
    value.hash = HashOf(normal);
    const bool is_new = table_->slots[table_->Find(normal, value.hash)] == Table::kFree;
    if (!in.Expect(is_new)) return;
    table_->Enter(table_->values.size() - 1);
  }
}

}  // namespace pleat::inline v0_1
