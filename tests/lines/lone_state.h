// A group by itself: a state, and the events that fold into it, by the functions that the engine
// would call.
#pragma once

#include <cstddef>
#include <memory>
#include <string>

#include <gtest/gtest.h>
#include <pleat/stored.h>

#include "engine/lines/feed/fold_plan.h"
#include "engine/lines/plan/event_reader.h"
#include "tests/lines/json_harness.h"

namespace pleat {

class LoneState {
 public:
  explicit LoneState(FoldPlan& plan) : LoneState(plan, nullptr) { ops_.open(&plan_, state_.get()); }
  LoneState(const LoneState& other) : LoneState(other.plan_, nullptr) {
    ops_.copy(&plan_, state_.get(), other.state_.get());
  }
  LoneState& operator=(const LoneState&) = delete;
  // A state that was loaded.
  LoneState(FoldPlan& plan, FieldReader& in) : LoneState(plan, nullptr) {
    ops_.load(&plan_, state_.get(), in);
  }
  ~LoneState() { ops_.destroy(&plan_, state_.get()); }

  // Checks that the growth reported is that of the header.
  void Fold(const std::string& text, EngineTime at = FromUnix(Duration(0))) {
    const PaddedLine line(text);
    EventReader reader(plan_.events);
    EventBatch batch;
    ASSERT_EQ(reader.Read(line.view(), batch), LineResult::Kind::kEvent) << text;
    batch.Link();
    LineEvent& event = batch.events.front().event;
    event.at = at;
    const auto before = static_cast<int64_t>(heap_bytes());
    const int64_t growth = ops_.fold(&plan_, state_.get(), &event);
    EXPECT_EQ(static_cast<int64_t>(heap_bytes()), before + growth);
  }

  std::string Printed() const {
    LineWriter out;
    FoldPlan::CaveatNames names;
    plan_.AppendMerges(state_.get(), out, names);
    return std::string(out.text()) + " saturated " + names.saturated + " cut " + names.cut;
  }

  std::string Saved() const {
    FieldWriter out;
    ops_.save(&plan_, state_.get(), out);
    return std::string(out.bytes());
  }

  bool MeetsCloseWhen() const { return plan_.MeetsCloseWhen(state_.get()); }
  size_t weight() const { return ops_.weight(&plan_, state_.get()); }
  size_t heap_bytes() const { return ops_.heap_bytes(&plan_, state_.get()); }

 private:
  LoneState(FoldPlan& plan, std::nullptr_t)
      : plan_(plan), ops_(plan.ops()), state_(std::make_unique<char[]>(ops_.size)) {}

  FoldPlan& plan_;
  const StateOps ops_;
  std::unique_ptr<char[]> state_;
};

}  // namespace pleat
