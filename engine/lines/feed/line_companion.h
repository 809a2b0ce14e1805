// The companion of a live set or a counter that is fed by lines: how lines are read, the tally of
// those that were taken, and those that wait.
#pragma once

#include <initializer_list>
#include <memory>
#include <string_view>
#include <utility>

#include <pleat/untyped/companion.h>

#include "engine/lines/feed/line_tally.h"
#include "engine/lines/feed/stored_stage.h"
#include "engine/lines/plan/event_plan.h"

namespace pleat::inline v0_1 {

// Those of `options` that have one of these names.
Companion::NamedTexts OptionsNamed(const Companion::NamedTexts& options,
                                   std::initializer_list<std::string_view> names);

class LineCompanion : public Companion {
 public:
  LineCompanion(EventPlan plan, std::unique_ptr<ReorderStage> stage, NamedTexts options)
      : plan_(std::move(plan)), options_(std::move(options)), stage_(std::move(stage)) {
    tally_.Begin(plan_);
  }

  const EventPlan& plan() const noexcept { return plan_; }
  LineTally& tally() noexcept { return tally_; }
  ReorderStage* stage() noexcept { return stage_.get(); }

  NamedTexts Options() const override { return options_; }
  void Save(FieldWriter& out) const override {
    tally_.Save(plan_, out);
    SaveStage(stage_.get(), out);
  }
  void Load(FieldReader& in) override {
    tally_.Load(plan_, in);
    LoadStage(plan_, stage_.get(), in);
  }
  std::unique_ptr<Rest> BeginRest() override { return BeginWaiting(stage_.get()); }
  void LoadRest(FieldReader& in) override { LoadWaiting(plan_, stage_.get(), in); }
  bool is_used() const override { return stage_ != nullptr && stage_->waiting() > 0; }

 private:
  const EventPlan plan_;
  const NamedTexts options_;
  LineTally tally_;
  const std::unique_ptr<ReorderStage> stage_;  // null without a bound of disorder
};

}  // namespace pleat::inline v0_1
