// From lines to events: for each its key, its stamp, its marks and the values that are wanted.
//
// This is all the work that needs no lock and no order. The key is the canonical texts of the key
// fields, joined by commas. A comma inside a string is inside quotes, so that no two keys are ever
// confused.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <pleat/json_lines.h>

#include "engine/lines/plan/event_batch.h"
#include "engine/lines/plan/event_plan.h"
#include "engine/lines/scan/mismatch.h"
#include "engine/lines/scan/scanner.h"
#include "engine/lines/scan/unseen_paths.h"
#include "engine/lines/time/time_reader.h"

namespace pleat::inline v0_1 {

// An event that flushes or cancels the group of its key, or removes a member, and is no event of
// either itself.
struct ControlEvent {
  std::string_view key;
  EngineTime at;
  bool cancels = false;     // or removes; else it flushes
  std::string_view member;  // its id, if there are members
};

class EventReader {
 public:
  using Kind = LineResult::Kind;

  // Borrows `plan`.
  explicit EventReader(const EventPlan& plan);

  // Reads one line. Adds a usable event to `batch`, unless the event only flushes or cancels.
  // Events that the caller has to stamp have no stamp yet. REQUIRES: kLinePaddingBytes readable
  // bytes follow.
  Kind Read(std::string_view line, EventBatch& batch);

  // The same for the lines of `text`, which are handed to ReadNext() one after the other. Returns
  // false if they have to be read one by one. REQUIRES: no line is longer than kLineBytesMax.
  bool Index(std::string_view text) { return scanner_.Index(text); }
  Kind ReadNext(std::string_view line, EventBatch& batch) {
    line_ = line;
    std::string_view wrong;
    if (!scanner_.ScanNext(line, wrong)) return Kind::kBlank;
    return wrong.empty() ? ReadScanned(batch) : Invalid(wrong);
  }

  // If events wait for their turn (EventPlan::waits), those functions read no values. After kEvent and
  // kControl: writes the places of the values, a word for each path.
  void WritePlaces(uint32_t* places) const noexcept { scanner_.WritePlaces(line_, places); }
  // Reads the same line once more, with its values, as the event or the control line that it was.
  void ReadByPlaces(std::string_view line, std::span<const uint32_t> places, EngineTime at,
                    bool is_control, EventBatch& batch);

  // From now on a time that may mean several instants is read as the one nearest to `near`; without one
  // the earliest is meant, of a time that says no year that in the year of the plan. Until then such a line
  // is kWaiting: only the thread that takes lines knows the newest stamp before it.
  void DecideBy(std::optional<EngineTime> near) noexcept {
    decides_ = true;
    near_ = near;
  }
  void LeaveOpen() noexcept { decides_ = false; }
  // After kExcluded: when the event was, if that is why; else kBeginningOfTime.
  EngineTime excluded_at() const noexcept { return excluded_at_; }

  // After kControl. Its texts stay as long as those in the batch.
  const ControlEvent& control() const noexcept { return control_; }

  // Why the line is invalid, or has no unit. After kInvalid and kNoUnit, until the next line.
  std::string_view reason() const noexcept { return reason_; }

  // The path that the reason is about, if it is that there is no scalar; else null.
  const OptionPath* about() const noexcept { return about_; }

  // The paths that no line so far has led to. All lines that are objects count, usable or not.
  const UnseenPaths& unseen() const noexcept { return unseen_; }

  // The values so far of a type or form that their option does not take.
  const Mismatches& mismatches() const noexcept { return mismatches_; }

  // Whether a time so far stated no zone, and UTC was assumed.
  bool assumed_utc() const noexcept { return times_.assumed_utc(); }

 private:
  using Scalars = std::vector<EventPlan::ScalarMember>;

  Kind Invalid(std::string_view reason, const OptionPath* about = nullptr) noexcept;
  Kind ReadScanned(EventBatch& batch) {
    unseen_.Note(scanner_);
    if (const uint32_t more = scanner_.not_numbers(); more != 0) [[unlikely]]
      batch.not_numbers += more;
    return ReadEvent(batch, /*values=*/!plan_.waits);
  }
  Kind ReadEvent(EventBatch& batch, bool values);
  void NoteMismatches(const EventBatch& batch);
  void AddEvent(std::string_view key, EngineTime at, bool values, EventBatch& batch);
  Kind ReadMore(std::string_view& key, EventBatch& batch, EngineTime& at);
  Kind ReadAbout(MemberMarks& member, EventBatch& batch);
  Kind Select(EventBatch& batch);
  bool CheckScalar(const EventPlan::ScalarMember& member);
  bool ReadKey(EventBatch& batch, std::string_view& key);
  bool ReadScalars(const Scalars& fields, std::string_view too_long, EventBatch& batch,
                   std::string_view& joined);
  std::string_view Join(const Scalars& fields, EventBatch& batch);
  std::string_view Spelled(std::string_view shown, EventBatch& batch) const;
  Kind ReadTime(EventBatch& batch, EngineTime& at);
  Kind ReadAnyTime(const Value& value, EventBatch& batch, EngineTime& at);
  Kind ReadTimeParts(EventBatch& batch, EngineTime& at);
  Kind ReadOpenTime(std::string_view shown, EngineTime& at);
  Kind ReadTimeText(std::string_view text, std::string_view shown, EngineTime& at);
  Kind ReadTimeNumber(std::string_view number, std::string_view shown, EngineTime& at);
  Kind InvalidTime(std::string_view value, std::string_view why);
  bool IsControl(EventBatch& batch);
  bool ReadMarks(EventBatch& batch, EventMarks& marks);
  bool Holds(const ConditionPlan& condition, EventBatch& batch) const;
  bool ReadDuration(int slot, std::string_view wrong, EventBatch& batch, Duration& out);
  Kind ReadCloseAt(EventBatch& batch, EngineTime& out);
  bool ReadClass(EventBatch& batch, EventMarks& marks);
  bool ReadId(EventBatch& batch, EventMarks& marks);
  bool ReadMember(EventBatch& batch, MemberMarks& member);
  bool ReadVersion(MemberMarks& member);

  const EventPlan& plan_;
  const bool bare_;     // all lines are events, which have nothing but key, time and values
  const int key_slot_;  // of a key of one field; else kNone
  // A time that is a whole number of a unit of a microsecond or more: its microseconds, and the
  // largest one that is in range; -1 if there are no such times.
  int64_t time_factor_ = 1;
  int64_t time_max_ = -1;
  Scanner scanner_;
  UnseenPaths unseen_;
  Mismatches mismatches_;
  std::string_view line_;  // the one that is read
  TimeReader times_;
  bool decides_ = false;            // which instant an open time means,
  std::optional<EngineTime> near_;  // by this
  EngineTime stamp_{};              // of the line
  EngineTime excluded_at_ = kBeginningOfTime;
  std::string time_text_;                       // of a time in several members
  std::string_view time_name_ = "event time ";  // of the time that is read, in messages
  ControlEvent control_;
  std::string_view reason_;
  const OptionPath* about_ = nullptr;
  std::string reason_text_;
};

}  // namespace pleat::inline v0_1
