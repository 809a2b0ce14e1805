#include "engine/rollup/clears.h"

#include "engine/base/read_fields.h"

namespace pleat::inline v0_1 {
namespace {

void SaveDelta(FieldWriter& out, const Delta& delta) {
  out(delta.kind());
  if (delta.kind() == Delta::Kind::kInteger) out(delta.whole());
  if (delta.kind() == Delta::Kind::kReal) out(delta.real());
}

Delta LoadDelta(FieldReader& in) {
  switch (ReadEnum(in, Delta::Kind::kNone)) {
    case Delta::Kind::kInteger: {
      int64_t whole = 0;
      in(whole);
      return whole;
    }
    case Delta::Kind::kReal: {
      double real = 0;
      in(real);
      return real;
    }
    case Delta::Kind::kAbove: return Delta::Above();
    case Delta::Kind::kBelow: return Delta::Below();
    case Delta::Kind::kNone: return Delta::None();
  }
  return {};
}

}  // namespace

void Clears::AddEvent(uint32_t window, EngineTime at, const Delta& delta) {
  Detail& detail = details_[window];
  detail.events.push_back({at, delta});
  bytes_ += kEventBytes;
  if (detail.clear && at >= *detail.clear) detail.after.Add(delta);
}

void Clears::AddClear(uint32_t window, EngineTime at) {
  Detail& detail = details_[window];
  if (detail.clear && at < *detail.clear) return;
  detail.clear = at;
  detail.after = {};
  for (const Event& each : detail.events) {
    if (each.at > at) detail.after.Add(each.delta);
  }
}

void Clears::DropEvents(uint32_t window) {
  Detail& detail = details_.at(window);
  bytes_ -= detail.events.size() * kEventBytes;
  detail.events = {};
}

// The events of a final window are gone.
void Clears::Save(FieldWriter& out, uint32_t number, const Window& window) const {
  const Detail& detail = details_.at(number);
  if (!window.is_final) {
    out(detail.events.size());
    for (const Event& each : detail.events) {
      out(each.at - window.start);
      SaveDelta(out, each.delta);
    }
  }
  out(detail.clear.has_value());
  if (!detail.clear) return;
  out(*detail.clear - window.start);
  detail.after.Save(out);
}

void Clears::Load(FieldReader& in, uint32_t number, const Window& window, EngineTime end) {
  Detail& detail = details_[number];
  const auto stamp = [&] {
    Duration into{};
    in(into);
    const bool inside = into >= Duration{0} && into < end - window.start;
    return in.Expect(inside) ? window.start + into : window.start;
  };
  if (!window.is_final) {
    for (size_t left = in.Count(); left > 0 && in.ok(); --left) {
      const EngineTime at = stamp();
      detail.events.push_back({at, LoadDelta(in)});
      bytes_ += kEventBytes;
    }
  }
  bool cleared = false;
  in(cleared);
  if (!cleared) return;
  detail.clear = stamp();
  detail.after.Load(in);
}

}  // namespace pleat::inline v0_1
