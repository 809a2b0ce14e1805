// From the members of a line to the values that a plan wants.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "engine/lines/plan/event_batch.h"
#include "engine/lines/plan/event_plan.h"
#include "engine/lines/scan/number.h"
#include "engine/lines/scan/scanner.h"

namespace pleat::inline v0_1 {

// The canonical text of a value that the scanner found, valid as long as the line and the batch.
std::string_view Canonical(const Value& value, EventBatch& batch);

// The text that tells a value from others, with its numbers in normal form: likewise.
std::string_view Identity(const Value& value, EventBatch& batch);

// Reads the values of one line. Borrows its arguments.
class ValueReader {
 public:
  // Appends all values of the plan to the batch. Returns how many members are there but of
  // a form that their option does not take.
  static uint32_t Read(const EventPlan& plan, const Scanner& scanner, std::string_view line,
                       EventBatch& batch) {
    for (size_t i = 0; i < plan.values.size(); ++i) {
      if (!ReadUsual(plan.values[i], scanner, batch.values.emplace_back())) {
        return ValueReader(plan, scanner, line, batch).ReadFrom(i);
      }
    }
    return 0;
  }

 private:
  // `scanner` has accepted `line`. Texts that values refer to go into `batch`.
  ValueReader(const EventPlan& plan, const Scanner& scanner, std::string_view line,
              EventBatch& batch)
      : plan_(plan), scanner_(scanner), line_(line), batch_(batch) {}

  // Reads what most values are: a text as it stands, or a short integer. False for any other.
  static bool ReadUsual(const EventPlan::WantedValue& wanted, const Scanner& scanner,
                        EventValue& out) {
    const bool text = wanted.form == ValueForm::kText || wanted.form == ValueForm::kElements;
    if (!text && wanted.form != ValueForm::kNumber) return false;
    const Value& member = scanner.value(wanted.slot);
    if (!member.present() || !member.plain) return false;
    if (!text) {
      if (member.kind != Value::Kind::kNumber || !member.short_integer) return false;
      const int64_t whole = ReadShortInteger(member.text);
      out.number.integer = true;
      out.number.fits = true;
      out.number.whole = whole;
      out.number.real = static_cast<double>(whole);
    }
    out.present = true;
    out.text = member.text;
    return true;
  }

  // The values from this one on, which is the last of the batch so far and not a usual one.
  uint32_t ReadFrom(size_t first);
  bool ReadOne(const EventPlan::WantedValue& wanted, EventValue& out);
  bool ReadMember(ValueForm form, const Value& member, EventValue& out);
  std::string_view NumberIn(const Value& member);
  bool ReadNumber(const Value& member, EventValue& out);
  bool ReadRounded(const Value& member, EventValue& out);
  bool ReadPiece(const Value& member, EventValue& out);
  bool ReadNames(const Value& member, EventValue& out);
  void ReadElements(const Value& member, EventValue& out);
  void ReadIdentities(const Value& member, EventValue& out);
  void ReadMembers(EventValue& out);

  std::string_view WholeLine();
  std::string_view Mark(std::string_view text);
  void BeginElements(EventValue& out) const noexcept;
  void EndElements(EventValue& out) const noexcept;

  const EventPlan& plan_;
  const Scanner& scanner_;
  const std::string_view line_;
  EventBatch& batch_;
  std::string_view whole_line_;  // canonical; empty until somebody wants it
};

}  // namespace pleat::inline v0_1
