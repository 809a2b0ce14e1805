#include "engine/lines/reduce/last_events.h"

#include <algorithm>
#include <vector>

#include "engine/lines/reduce/small_text.h"

namespace pleat::inline v0_1 {
namespace {

struct KeptEvent {
  SmallText text;
  int64_t at;
  uint64_t arrival;  // a count of the group's events
};

bool IsLater(const KeptEvent& a, const KeptEvent& b) noexcept {
  return a.at != b.at ? a.at > b.at : a.arrival > b.arrival;
}

}  // namespace

struct LastEvents::Heap {
  Heap() = default;
  Heap(const Heap&) = delete;
  Heap& operator=(const Heap&) = delete;
  ~Heap() {
    for (KeptEvent& event : events) event.text.Clear();
  }

  // Writes over the text at the end of the heap's array.
  void Put(std::string_view text) {
    SmallText& to = events.back().text;
    text_bytes -= to.heap_bytes();
    to.Assign(text);
    text_bytes += to.heap_bytes();
  }

  std::vector<KeptEvent> events;
  uint64_t seen = 0;      // that came at all
  size_t text_bytes = 0;  // on the heap
};

void LastEvents::Fold(std::string_view event, EngineTime at, uint64_t bound) {
  if (heap_ == nullptr) heap_ = new Heap;
  std::vector<KeptEvent>& events = heap_->events;
  const int64_t stamp = at.time_since_epoch().count();
  const uint64_t arrival = heap_->seen++;
  if (events.size() < bound) {
    events.push_back({{}, stamp, arrival});
  } else if (stamp >= events.front().at) {
    std::ranges::pop_heap(events, IsLater);
    events.back().at = stamp;
    events.back().arrival = arrival;
  } else {
    return;
  }
  heap_->Put(event);
  std::ranges::push_heap(events, IsLater);
}

bool LastEvents::cut() const noexcept {
  return heap_ != nullptr && heap_->seen > heap_->events.size();
}

void LastEvents::AppendTo(LineWriter& out) const {
  if (heap_ == nullptr) return;
  std::vector<const KeptEvent*> in_order;
  in_order.reserve(heap_->events.size());
  for (const KeptEvent& event : heap_->events) in_order.push_back(&event);
  std::ranges::sort(in_order,
                    [](const KeptEvent* a, const KeptEvent* b) { return IsLater(*b, *a); });
  for (const KeptEvent* event : in_order) {
    if (event != in_order.front()) out.Put(',');
    out.Put(event->text.view());
  }
}

size_t LastEvents::heap_bytes() const noexcept {
  if (heap_ == nullptr) return 0;
  return sizeof(Heap) + heap_->events.capacity() * sizeof(KeptEvent) + heap_->text_bytes;
}

void LastEvents::Detach() {
  if (heap_ == nullptr) return;
  auto* const copy = new Heap;
  copy->events = heap_->events;
  copy->seen = heap_->seen;
  for (KeptEvent& event : copy->events) {
    event.text.Detach();
    copy->text_bytes += event.text.heap_bytes();
  }
  heap_ = copy;
}

void LastEvents::Clear() noexcept {
  delete heap_;
  heap_ = nullptr;
}

// How many are kept; what was allocated beside them, and how many came; each, in the heap's order.
void LastEvents::Save(FieldWriter& out) const {
  const size_t count = heap_ == nullptr ? 0 : heap_->events.size();
  out.PutNumber(count);
  if (count == 0) return;
  out.PutNumber(heap_->events.capacity() - count);
  out.PutNumber(heap_->seen);
  for (const KeptEvent& event : heap_->events) {
    event.text.Save(out);
    out(event.at, event.arrival);
  }
}

void LastEvents::Load(FieldReader& in, uint64_t bound) {
  const uint64_t count = in.Number();
  if (!in.Expect(count <= bound && in.Has(count)) || count == 0) return;
  const uint64_t spare = in.Number();
  const uint64_t seen = in.Number();
  if (!in.Expect(spare <= count && seen >= count)) return;
  heap_ = new Heap;
  heap_->seen = seen;
  std::vector<KeptEvent>& events = heap_->events;
  events.reserve(count + spare);
  while (events.size() < count && in.ok()) {
    KeptEvent& event = events.emplace_back();
    event.text.Load(in);
    in(event.at, event.arrival);
    in.Expect(!event.text.empty() && event.arrival < seen);
    heap_->text_bytes += event.text.heap_bytes();
  }
  in.Expect(std::ranges::is_heap(events, IsLater));
}

}  // namespace pleat::inline v0_1
