// From one line to one event: its key, its stamp, and what it brings to every merge.
//
// This is all the work that needs no lock. The key is the canonical texts of the key fields, joined
// by commas; a comma inside a string is inside quotes, so that no two keys are ever confused.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include <pleat/json.h>

#include "engine/json/fold_plan.h"
#include "engine/json/reducers.h"
#include "engine/json/scanner.h"

namespace pleat::inline v0 {

class EventReader {
 public:
  enum class Verdict : uint8_t { kEvent, kBad, kNoUnit };

  // Borrows `plan`.
  explicit EventReader(const FoldPlan& plan);

  // Reads a line that is not blank; see FoldLine() for `arrival` and the padding.
  Verdict Read(std::string_view line, EngineTime arrival);

  // After kEvent, until the next Read().
  std::string_view key() const noexcept { return key_; }
  const FoldEvent& event() const noexcept { return event_; }
  uint64_t mismatched() const noexcept { return mismatched_; }

  // After the other two, until the next Read().
  std::string_view reason() const noexcept { return reason_; }

 private:
  Verdict Bad(std::string_view reason) noexcept;
  void ReserveScratch();
  bool ReadKey();
  Verdict ReadTime(EngineTime arrival);
  Verdict ReadTimeNumber(std::string_view token);
  void ReadOperands();
  void ReadOperand(const FoldPlan::MergedValue& merge, Operand& operand);
  void ReadElements(const Value& value, Operand& operand);
  void ReadMemberNames(const Value& value, Operand& operand);
  std::string_view Canonical(const Value& value) noexcept;
  std::string_view WriteScratch(std::string_view text) noexcept;

  const FoldPlan& plan_;
  Scanner scanner_;
  std::string_view key_;
  std::string joined_key_;
  std::vector<Operand> operands_;
  std::vector<std::string_view> elements_;
  FoldEvent event_{};
  uint64_t mismatched_ = 0;

  // Canonical texts of this event that differ from the line's own; views into it must not move.
  std::unique_ptr<char[]> scratch_;
  size_t scratch_bytes_ = 0;
  char* scratch_end_ = nullptr;

  std::string_view reason_;
  std::string reason_text_;
};

}  // namespace pleat::inline v0
