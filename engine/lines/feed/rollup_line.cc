#include "engine/lines/feed/rollup_line.h"

#include <charconv>
#include <cstdint>

#include "engine/base/check.h"
#include "engine/lines/plan/event_plan.h"
#include "engine/lines/reduce/joined_scalars.h"
#include "engine/lines/reduce/line_parts.h"

namespace pleat::inline v0_1 {
namespace {

constexpr std::string_view kSaturated = ",\"saturated\":true";

// As the reducer `sum` prints it: integers exactly, other numbers in the fewest digits, and null if there
// was no number.
void PutSum(const Amount& amount, LineWriter& out) {
  constexpr size_t kDigitsMax = 32;
  out.Put(",\"sum\":");
  if (amount.none) return out.Put("null");
  char* const to = out.Reserve(kDigitsMax);
  char* const end = to + kDigitsMax;
  const auto [stop, error] =
      amount.integer ? std::to_chars(to, end, amount.sum) : std::to_chars(to, end, amount.real);
  PLEAT_CHECK(error == std::errc());
  out.TakeUpTo(stop);
}

// "P-G"
void PutId(std::string_view label, const EmissionId& id, LineWriter& out) {
  out.Put(label);
  PutNumber("\"", id.partition, out);
  PutNumber("-", id.generation, out);
  out.Put('"');
}

}  // namespace

RollupPrinter::RollupPrinter(const RollupSpec& spec)
    : key_labels_(LabelsOf(KeyMembers(spec.event))),
      has_sum_(!spec.value.empty()),
      has_id_(spec.emission_id) {}

void RollupPrinter::Append(const ClosedGroup& emission, LineWriter& out) {
  const CountedWindow& window = *static_cast<const CountedWindow*>(emission.state);
  Begin(emission.key, window, ReasonName(emission.reason), out);
  if (emission.reason == Reason::kCorrection) {
    if (emission.corrects) {
      PutId(",\"corrects\":", *emission.corrects, out);
    } else {
      out.Put(",\"corrects\":null");
    }
  }
  if (IsSaturated(window)) {
    out.Put(kSaturated);
    ++saturated_;
  }
  if (has_id_) PutId(",\"id\":", emission.id, out);
  out.Put("}\n");
}

void RollupPrinter::AppendOpen(std::string_view key, const CountedWindow& window, LineWriter& out) {
  Begin(key, window, "open", out);
  if (IsSaturated(window)) out.Put(kSaturated);
  out.Put("}\n");
}

void RollupPrinter::Begin(std::string_view key, const CountedWindow& window,
                          std::string_view reason, LineWriter& out) {
  const size_t begin = out.size();
  if (!key_labels_.empty()) out.Put('{');
  AppendScalars(key_labels_, key, out);
  PutTime(",\"start\":", window.start, start_times_, out);
  if (key_labels_.empty()) out.OpenObjectAt(begin);
  PutTime(",\"end\":", window.end, end_times_, out);
  PutNumber(",\"count\":", window.amount.count, out);
  if (has_sum_) PutSum(window.amount, out);
  out.Put(",\"reason\":\"");
  out.Put(reason);
  out.Put('"');
}

}  // namespace pleat::inline v0_1
