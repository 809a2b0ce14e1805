// From lines to events: for each its key, its stamp, and what it brings to every merge.
//
// This is all the work that needs no lock and no order. The key is the canonical texts of the key
// fields, joined by commas; a comma inside a string is inside quotes, so that no two keys are ever
// confused.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include <pleat/json.h>

#include "engine/json/event_batch.h"
#include "engine/json/fold_plan.h"
#include "engine/json/scanner.h"
#include "engine/json/timestamp.h"
#include "engine/json/unseen_paths.h"

namespace pleat::inline v0_1 {

// An event that flushes or cancels the group of its key.
struct ControlEvent {
  std::string_view key;
  EngineTime at;
  bool cancels = false;  // else it flushes
};

class EventReader {
 public:
  enum class Verdict : uint8_t { kBlank, kEvent, kControl, kBad, kNoUnit };

  // Borrows `plan`.
  explicit EventReader(const FoldPlan& plan)
      : plan_(plan), scanner_(plan.paths), unseen_(plan.paths.slots()) {}

  // Reads one line; a usable event is added to `batch`, unless it is one that only flushes or cancels.
  // See FoldLine() for the padding. Events that the caller has to stamp have no stamp yet.
  Verdict Read(std::string_view line, EventBatch& batch);

  // The same for the lines of `text`, which are handed to ReadNext() one after the other. Returns false
  // if they have to be read one by one. REQUIRES: no line is longer than kLineBytesMax.
  bool Index(std::string_view text) { return scanner_.Index(text); }
  Verdict ReadNext(std::string_view line, EventBatch& batch);

  // After kControl. Its key stays as long as those in the batch.
  const ControlEvent& control() const noexcept { return control_; }

  // After kBad and kNoUnit, until the next line.
  std::string_view reason() const noexcept { return reason_; }

  // In the lines that are objects, usable or not.
  const UnseenPaths& unseen() const noexcept { return unseen_; }

 private:
  Verdict Bad(std::string_view reason) noexcept;
  Verdict ReadValues(EventBatch& batch);
  bool ReadKey(EventBatch& batch, std::string_view& key);
  std::string_view JoinKeys(EventBatch& batch);
  Verdict ReadTime(EventBatch& batch, EngineTime& at);
  Verdict ReadTimeNumber(const Value& value, EngineTime& at);
  Verdict BadTime(std::string_view value, std::string_view why);
  bool IsControl(EventBatch& batch);
  bool ReadMarks(EventBatch& batch, EventMarks& marks);
  bool Holds(const ConditionPlan& condition, EventBatch& batch) const;
  bool ReadQuietPeriod(EventBatch& batch, EventMarks& marks);
  bool ReadClass(EventBatch& batch, EventMarks& marks);
  bool ReadOperand(const FoldPlan::MergedValue& merge, EventBatch& batch, Operand& operand);
  void ReadIdentities(const Value& value, EventBatch& batch, Operand& operand);
  std::string_view Identity(std::string_view text, EventBatch& batch);
  void ReadRest(EventBatch& batch, Operand& operand);

  const FoldPlan& plan_;
  Scanner scanner_;
  UnseenPaths unseen_;
  std::string_view line_;  // the one that is read
  TimestampReader times_;
  ControlEvent control_;
  std::string_view reason_;
  std::string reason_text_;
};

}  // namespace pleat::inline v0_1
