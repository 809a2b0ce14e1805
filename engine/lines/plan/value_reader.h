// From the members of a line to the values that a plan wants.
#pragma once

#include <string_view>

#include "engine/lines/plan/event_batch.h"
#include "engine/lines/plan/event_plan.h"
#include "engine/lines/scan/scanner.h"

namespace pleat::inline v0_1 {

// The canonical text of a value that the scanner found, valid as long as the line and the batch.
std::string_view Canonical(const Value& value, EventBatch& batch);

// Reads the values of one line. Borrows its arguments.
class ValueReader {
 public:
  // `scanner` has accepted `line`. Texts that values refer to go into `batch`.
  ValueReader(const EventPlan& plan, const Scanner& scanner, std::string_view line,
              EventBatch& batch)
      : plan_(plan), scanner_(scanner), line_(line), batch_(batch) {}

  // Appends all values of the plan to the batch. Returns how many members are there but of
  // a form that their option does not take.
  uint32_t Read();

 private:
  bool ReadUsual(const EventPlan::WantedValue& wanted, EventValue& out) const;
  bool ReadOne(const EventPlan::WantedValue& wanted, EventValue& out);
  bool ReadMember(ValueForm form, const Value& member, EventValue& out);
  bool ReadNumber(const Value& member, EventValue& out);
  bool ReadRounded(const Value& member, EventValue& out);
  bool ReadPiece(const Value& member, EventValue& out);
  bool ReadNames(const Value& member, EventValue& out);
  void ReadElements(const Value& member, EventValue& out);
  void ReadIdentities(const Value& member, EventValue& out);
  void ReadMembers(EventValue& out);

  std::string_view WholeLine();
  std::string_view Identity(std::string_view text);
  void BeginElements(EventValue& out) const noexcept;
  void EndElements(EventValue& out) const noexcept;

  const EventPlan& plan_;
  const Scanner& scanner_;
  const std::string_view line_;
  EventBatch& batch_;
  std::string_view whole_line_;  // canonical; empty until somebody wants it
};

}  // namespace pleat::inline v0_1
