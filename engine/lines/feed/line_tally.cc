#include "engine/lines/feed/line_tally.h"

#include <algorithm>

namespace pleat::inline v0_1 {

namespace {

bool SavesExcludedStamps(const EventPlan& plan) noexcept {
  return plan.has_range && plan.time_rules.lacks_year;
}

}  // namespace

// Paths are written by their text, because slots are numbered as the program likes. Without a
// selection there is no count of excluded lines, as there was none before there were selections; and the
// newest stamp of those is there if a year may hang on it.
void LineTally::Save(const EventPlan& plan, FieldWriter& out) const {
  out(events_.value(), invalid_.value(), mismatched_.value(), control_.value());
  if (plan.has_selection) out(excluded_.value());
  if (SavesExcludedStamps(plan)) out(newest_excluded_.load(std::memory_order_relaxed));
  stamps_.Save(out);
  LockGuard guard(unseen_lock_);
  std::vector<std::pair<std::string, std::string>> unseen;
  for (const EventPlan::AskedPath& each : plan.asked) {
    if (unseen_.Has(each.slot)) unseen.emplace_back(each.path.option, each.path.path);
  }
  out(unseen_.any_line(), unseen);
}

void LineTally::Load(const EventPlan& plan, FieldReader& in) {
  for (Counter* counter : {&events_, &invalid_, &mismatched_, &control_}) counter->Load(in);
  if (plan.has_selection) excluded_.Load(in);
  if (SavesExcludedStamps(plan)) newest_excluded_.store(ReadTime(in), std::memory_order_relaxed);
  stamps_.Load(in);
  bool any_line = false;
  std::vector<std::pair<std::string, std::string>> unseen;
  in(any_line, unseen);
  std::vector<int> slots;
  for (auto& [option, path] : unseen) {
    const OptionPath wanted{std::move(option), std::move(path)};
    const auto asked = std::ranges::find(plan.asked, wanted, &EventPlan::AskedPath::path);
    if (in.Expect(asked != plan.asked.end())) slots.push_back(asked->slot);
  }
  std::ranges::sort(slots);
  const auto repeated = std::ranges::unique(slots);
  slots.erase(repeated.begin(), repeated.end());
  LockGuard guard(unseen_lock_);
  unseen_ = UnseenPaths(any_line, std::move(slots));
  // Of those before nobody knows the type any more.
  mismatches_ = {.differ = mismatched_.value() != 0};
}

}  // namespace pleat::inline v0_1
