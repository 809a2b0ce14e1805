// A LineFeed takes lines into a collection: a folder, a live set or a counter. It reads single
// lines and texts, hands their events to the collection in batches, counts all lines, and reports
// each one that is not an event that simply went in.
//
// With a bound of disorder lines go through a reorder stage first (reorder_stage.h): a text of the
// line is kept there with the places of its values, and the event is read from them once it is taken.
//
// A collection adds what is its own: how many events may go in together, how they go in, what a
// control line does, and the words for a conflict (TakesEvents, below). All of it is called once for
// a batch or for a rare line, never for each line.
#pragma once

#include <algorithm>
#include <array>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <pleat/json_lines.h>

#include "engine/base/check.h"
#include "engine/lines/feed/line_tally.h"
#include "engine/lines/feed/read_lines.h"
#include "engine/lines/plan/event_batch.h"
#include "engine/lines/plan/event_plan.h"
#include "engine/lines/plan/event_reader.h"
#include "engine/lines/scan/reasons.h"
#include "engine/table/reorder_stage.h"

namespace pleat::inline v0_1 {

// What a collection adds to its feed. The events of a batch are stamped.
template <class T>
concept TakesEvents = requires(T& into, EventBatch& events, size_t first, size_t end, int64_t line,
                               EngineTime at, const ControlEvent& control,
                               std::span<typename T::Outcome> outcomes) {
  // How many events from `first` on go in together, at least one; `line` is the index of the
  // first one's line, as UnusualLine::index. Where the engine may find an event invalid, it goes in alone, so that it is
  // reported before a later event goes in.
  { into.BatchSize(events, first, end, line) } -> std::same_as<size_t>;

  // Adds the events from `first` to `end`. Returns how many had an outcome that needs no look:
  // one that is both usual and taken.
  { into.Add(events, first, end, outcomes) } -> std::same_as<size_t>;

  // Does what a control line asks for, at `at`. Returns false if that is beyond the future
  // limit, and nothing has changed.
  { into.Obey(control, at, line) } -> std::same_as<bool>;

  // Moves the engine's time to `now`, behind events that were in order. Time may be moved past
  // the next halt by one line at a time.
  { into.MoveTime(at, line) } -> std::same_as<void>;
  { into.NextHalt() } -> std::same_as<EngineTime>;

  // The reason of a conflict, of the event at `first`.
  { into.ConflictOf(events, first) } -> std::same_as<std::string>;

  // Whether an event of this outcome is not reported; whether its values went in.
  { T::IsUsual(outcomes[0]) } -> std::same_as<bool>;
  { T::IsTaken(outcomes[0]) } -> std::same_as<bool>;

  // Where the outcome is in a LineResult.
  { LineResult{}.*T::kOutcome } -> std::convertible_to<typename T::Outcome>;
};

// Thread safety: as LineTally.
template <class Outcome>
class LineFeed {
 public:
  // How many events go in by one call to the engine, at most.
  static constexpr size_t kEventsAtOnce = 256;
  // How many events before their turn the memory is fetched that they will wait in.
  static constexpr size_t kFarAhead = 16;
  static constexpr size_t kNearAhead = 8;

  // Borrows all. `stage` is null without a bound of disorder.
  LineFeed(const EventPlan& plan, LineTally& tally, ReorderStage* stage)
      : plan_(plan), tally_(tally), stage_(stage), reader_(plan), text_(plan) {}

  // Takes one line. The results of others that have waited go to `on_unusual`.
  // REQUIRES: kLinePaddingBytes readable bytes follow the line.
  template <TakesEvents Into>
  LineResult TakeLine(Into& into, std::string_view line, EngineTime arrival,
                      OnUnusualLine on_unusual) {
    CheckOwnLines();
    if (stage_ != nullptr) BeginLines(stage_->CountArrived(1));
    LineResult result{.kind = LineResult::Kind::kWaiting, .reason = {}};
    Report report{on_unusual, true, &result};
    const LineResult taken = TakeAlone(into, line, 0, arrival, report);
    return taken.kind == LineResult::Kind::kWaiting ? result : taken;
  }

  // Takes up to `max` further lines. Returns how many.
  template <TakesEvents Into>
  size_t Take(Into& into, ReadLines& lines, size_t max, EngineTime arrival,
              OnUnusualLine on_unusual) {
    CheckOwnLines();
    tally_.Note(lines.reader(), lines.batch());
    if (stage_ != nullptr) return TakeInTurn(into, lines, max, arrival, on_unusual);
    const auto take_events = [&](size_t end) {
      const std::span events(lines.batch().events);
      Stamp(events.subspan(lines.next_event, end - lines.next_event), arrival);
      return TakeEvents(into, lines, end, on_unusual);
    };
    const auto take_other = [&](const ReadLines::NoEvent& other) {
      const ReadLines::Line& line = other.line;
      LineResult result = other.result;
      if (result.kind == LineResult::Kind::kWaiting) {
        Report report{on_unusual};
        TakeOpen(into, lines, line, arrival, report);
        return report.go_on;
      }
      if (result.kind == LineResult::Kind::kInvalid) tally_.AddInvalid();
      if (result.kind == LineResult::Kind::kControl) {
        result = Obey(into, other.control, arrival, line.index);
      }
      return on_unusual({line.index, line.text(), result});
    };
    const size_t taken = lines.Take(max, take_events, take_other);
    AddExcluded(lines);
    return taken;
  }

  // Reads the lines of `text` and takes them, a few at a time.
  template <TakesEvents Into>
  void TakeText(Into& into, std::string_view text, EngineTime arrival, OnUnusualLine on_unusual) {
    size_t lines_before = 0;
    for (bool go_on = true; go_on && !text.empty();) {
      const std::string_view piece = ReadLines::FirstPiece(text);
      text.remove_prefix(piece.size());
      text_.Read(piece);
      Take(into, text_, SIZE_MAX, arrival, [&](UnusualLine line) {
        line.index += static_cast<int64_t>(lines_before);
        return go_on = on_unusual(line);
      });
      lines_before += text_.lines();
    }
  }

  // Takes the lines that wait up to `now`, and moves time there: none older is waited for any more.
  template <TakesEvents Into>
  void Advance(Into& into, EngineTime now, OnUnusualLine on_unusual) {
    CheckOwnLines();
    if (stage_ == nullptr) return into.MoveTime(now, -1);
    BeginLines(stage_->arrived());
    mover_ = -1;
    stage_->Advance(now);
    Report report{on_unusual};
    TakeDue(into, report);
  }
  // Takes all lines that wait.
  template <TakesEvents Into>
  void TakeWaiting(Into& into, OnUnusualLine on_unusual) {
    if (stage_ != nullptr) Advance(into, stage_->newest(), on_unusual);
  }
  std::optional<EngineTime> next_waiting() const {
    return stage_ == nullptr ? std::nullopt : stage_->next();
  }

  // To be called whenever a few lines that have waited were taken.
  void SetOnTaken(std::function<void()> on_taken) { on_taken_ = std::move(on_taken); }

  void StartInput() noexcept { tally_.StartInput(); }

  // --- Lines that come by a JsonIntake

  // From now on no line is taken by the calls above. Stamps are noted here, or by who calls.
  void LeaveToIntake(bool notes_stamps) noexcept {
    has_intake_ = true;
    notes_stamps_ = notes_stamps;
  }
  bool has_intake() const noexcept { return has_intake_; }
  LineTally& tally() noexcept { return tally_; }

  // Counts event `i`. Returns the result of its line.
  template <TakesEvents Into>
  LineResult Count(Into& into, Outcome outcome, const EventBatch& events, size_t i) {
    if (outcome == Outcome::kFuture) return Invalid(invalid_line::kFuture);
    const KeyedEvent<LineEvent>& event = events.events[i];
    if (outcome != Outcome::kStopped) {
      tally_.AddEvents(1);
      NoteTaken(event.at);
    }
    if (Into::IsTaken(outcome)) tally_.AddMismatched(event.event.mismatched);
    LineResult result{.kind = LineResult::Kind::kEvent, .reason = {}};
    result.*Into::kOutcome = outcome;
    if (outcome == Outcome::kConflict) result.reason = conflict_ = into.ConflictOf(events, i);
    return result;
  }

  // A control line moves time as an event does, and what is due by then closes before it acts.
  template <TakesEvents Into>
  LineResult Obey(Into& into, const ControlEvent& control, EngineTime arrival, int64_t line) {
    const EngineTime at = on_event_time() ? control.at : arrival;
    if (!into.Obey(control, at, line)) return Invalid(invalid_line::kFuture);
    tally_.AddEvents(1);
    tally_.AddControl();
    NoteTaken(at);
    return {.kind = LineResult::Kind::kControl, .reason = {}};
  }

  const EventPlan& plan() const noexcept { return plan_; }
  bool on_event_time() const noexcept { return plan_.time_slot != PathTree::kNone; }
  LineCounts counts() const noexcept {
    LineCounts counts = tally_.counts();
    if (stage_ == nullptr) return counts;
    counts.waiting = stage_->waiting();
    counts.lines += counts.waiting;
    counts.released_early = stage_->taken_early();
    return counts;
  }
  StampCounts stamps() const noexcept { return tally_.stamps(); }
  std::vector<OptionPath> absent_paths() const { return tally_.Absent(plan_); }
  std::vector<OptionPath> asked_paths() const { return plan_.Asked(); }

 private:
  // Who is told of unusual lines, until the answer is to stop. Lines that are due are taken even so.
  struct Report {
    OnUnusualLine on_unusual;
    bool go_on = true;
    LineResult* alone = nullptr;  // instead, of the line that has come alone

    void operator()(int64_t index, std::string_view text, const LineResult& result) {
      if (alone != nullptr && index == 0) {
        *alone = result;
      } else if (go_on) {
        go_on = on_unusual({index, text, result});
      }
    }
  };

  void CheckOwnLines() const noexcept {
    if (has_intake_) Fail("lines for a collection of a JsonIntake come by Push() of that");
  }

  // Takes the line at `index` by itself: nothing of event_ is under way. With a stage its result is kWaiting,
  // as that comes by `report`.
  template <class Into>
  LineResult TakeAlone(Into& into, std::string_view line, int64_t index, EngineTime arrival,
                       Report& report) {
    event_.Clear();
    if (plan_.has_open_times()) {
      const std::optional<EngineTime> newest = tally_.newest();
      reader_.DecideBy(newest ? newest : plan_.FirstNear(arrival));
    }
    const LineResult::Kind kind = reader_.Read(line, event_);
    tally_.Note(reader_, event_);
    switch (kind) {
      case LineResult::Kind::kBlank: return {};
      case LineResult::Kind::kInvalid: return Invalid(reader_.reason(), reader_.about());
      case LineResult::Kind::kExcluded:
        tally_.AddExcluded(1);
        tally_.NoteExcluded(reader_.excluded_at());
        return LineResult{kind};
      case LineResult::Kind::kNoUnit: return {.kind = kind, .reason = reader_.reason()};
      default: break;
    }
    if (stage_ != nullptr) {
      ArriveAlone(into, line, index, report);
      return {.kind = LineResult::Kind::kWaiting, .reason = {}};
    }
    if (kind == LineResult::Kind::kControl) return Obey(into, reader_.control(), arrival, index);
    event_.Link();
    Stamp(event_.events, arrival);
    const size_t size = into.BatchSize(event_, 0, 1, index);
    into.Add(event_, 0, size, outcomes_);
    return Count(into, outcomes_[0], event_, 0);
  }

  // Takes a line whose time may mean several instants, now that all before it were taken.
  template <class Into>
  void TakeOpen(Into& into, const ReadLines& lines, const ReadLines::Line& line, EngineTime arrival,
                Report& report) {
    using Kind = LineResult::Kind;
    tally_.NoteExcluded(lines.NewestExcludedBefore(line.index));
    const LineResult result = TakeAlone(into, line.text(), line.index, arrival, report);
    const bool is_event = result.kind == Kind::kEvent;
    if (is_event ? Into::IsUsual(result.*Into::kOutcome)
                 : result.kind == Kind::kWaiting || result.kind == Kind::kExcluded)
      return;
    report(line.index, line.text(), result);
  }

  // The excluded lines among those that were taken.
  void AddExcluded(ReadLines& lines) noexcept {
    tally_.AddExcluded(lines.TakeExcluded());
    tally_.NoteExcluded(lines.NewestExcludedBefore(lines.next_line));
  }

  void Stamp(std::span<KeyedEvent<LineEvent>> events, EngineTime arrival) const noexcept {
    if (on_event_time()) return;
    for (KeyedEvent<LineEvent>& each : events) each.at = each.event.at = arrival;
  }

  // Takes the events before `end`. Returns false if `on_unusual` said to stop.
  template <class Into>
  bool TakeEvents(Into& into, ReadLines& lines, size_t end, OnUnusualLine on_unusual) {
    EventBatch& batch = lines.batch();
    const std::span<const KeyedEvent<LineEvent>> events = batch.events;
    while (lines.next_event < end) {
      const size_t first = lines.next_event;
      const size_t size = into.BatchSize(batch, first, end, lines.sources()[first].index);
      const size_t behind = first + size;
      // Lines of text_ are in this thread's cache: it has just read them.
      if (&lines != &text_) lines.Fetch(behind, std::min(size, events.size() - behind));
      const size_t plain = into.Add(batch, first, behind, outcomes_);
      lines.TakenUpTo(behind);
      if (plain == size) {
        CountPlain(events.subspan(first, size));
      } else if (!CountEach(into, lines, first, behind, on_unusual)) {
        return false;
      }
    }
    return true;
  }

  // Counts events that simply went in.
  void CountPlain(std::span<const KeyedEvent<LineEvent>> events) noexcept {
    tally_.AddEvents(events.size());
    uint64_t mismatched = 0;
    for (const KeyedEvent<LineEvent>& each : events) {
      mismatched += each.event.mismatched;
      NoteTaken(each.at);
    }
    tally_.AddMismatched(mismatched);
  }

  // Stamps are noted in the order of arrival.
  void NoteTaken(EngineTime at) noexcept {
    if (notes_stamps_) tally_.NoteStamp(at);
  }

  // Counts all events of a batch, also those behind one at which `on_unusual` said to stop: they are
  // in the collection by now. Returns false if it said so.
  template <class Into>
  bool CountEach(Into& into, ReadLines& lines, size_t first, size_t end, OnUnusualLine on_unusual) {
    bool go_on = true;
    for (size_t i = first; i < end; ++i) {
      const Outcome outcome = outcomes_[i - first];
      const LineResult result = Count(into, outcome, lines.batch(), i);
      const ReadLines::Line& line = lines.sources()[i];
      if (go_on && !Into::IsUsual(outcome)) go_on = on_unusual({line.index, line.text(), result});
    }
    return go_on;
  }

  LineResult Invalid(std::string_view reason, const OptionPath* about = nullptr) noexcept {
    tally_.AddInvalid();
    return {.kind = LineResult::Kind::kInvalid, .reason = reason, .about = about};
  }

  // --- Through the stage

  // A line that is taken.
  struct Source {
    int64_t index;
    std::string_view text;
  };

  // The line with index 0 has this position.
  void BeginLines(uint64_t position) noexcept { first_position_ = position; }

  template <class Into>
  size_t TakeInTurn(Into& into, ReadLines& lines, size_t max, EngineTime arrival,
                    OnUnusualLine on_unusual) {
    BeginLines(stage_->arrived() - lines.next_line);
    Report report{on_unusual};
    const auto take_events = [&](size_t end) {
      const std::span events(lines.batch().events);
      while (lines.next_event < end && report.go_on) {
        const size_t i = lines.next_event;
        if (i + kFarAhead < end) stage_->Fetch(events[i + kFarAhead].at, events[i + kNearAhead].at);
        const ReadLines::Line& line = lines.sources()[i];
        lines.TakenUpTo(i + 1);
        Arrive(into, line.index, line.text(), lines.batch().events[i].at, lines.places(i),
               /*is_control=*/false, report);
      }
      return report.go_on;
    };
    const auto take_other = [&](const ReadLines::NoEvent& other) {
      const ReadLines::Line& line = other.line;
      if (other.result.kind == LineResult::Kind::kControl) {
        Arrive(into, line.index, line.text(), other.control.at, lines.places(other),
               /*is_control=*/true, report);
      } else if (other.result.kind == LineResult::Kind::kWaiting) {
        TakeOpen(into, lines, line, arrival, report);
      } else {
        if (other.result.kind == LineResult::Kind::kInvalid) tally_.AddInvalid();
        report(line.index, line.text(), other.result);
      }
      return report.go_on;
    };
    const size_t taken = lines.Take(max, take_events, take_other);
    stage_->CountArrived(taken);
    AddExcluded(lines);
    TakeDue(into, report);
    return taken;
  }

  // The line that reader_ has read.
  template <class Into>
  void ArriveAlone(Into& into, std::string_view line, int64_t index, Report& report) {
    places_.resize(static_cast<size_t>(plan_.paths.slots()));
    reader_.WritePlaces(places_.data());
    const bool is_control = event_.events.empty();
    const EngineTime at = is_control ? reader_.control().at : event_.events[0].at;
    event_.Clear();
    Arrive(into, index, line, at, places_.data(), is_control, report);
    if (report.alone != nullptr) TakeDue(into, report);
  }

  // An event or a control line has come.
  template <class Into>
  void Arrive(Into& into, int64_t index, std::string_view text, EngineTime at,
              const uint32_t* places, bool is_control, Report& report) {
    if (stage_->IsTooFarAhead(at)) return report(index, text, Invalid(invalid_line::kFuture));
    tally_.NoteStamp(at);
    const bool moves = at > stage_->newest();
    if (moves) mover_ = index;
    stage_->NoteStamp(at);
    const WaitingEvent line{.at = at,
                            .position = first_position_ + static_cast<uint64_t>(index),
                            .size = static_cast<uint32_t>(text.size()),
                            .words = static_cast<uint32_t>(plan_.paths.slots()),
                            .is_control = is_control};
    if (at < stage_->passed()) {
      TakeDue(into, report);
      Take(into, line, {places, line.words}, text, report);
      return TakeRead(into, report);
    }
    if (!stage_->HasPlaceFor(at)) TakeDue(into, report);
    stage_->Put(line, places, text);
    if (stage_->is_over_limit()) TakeOverLimit(into, report);
    if (moves && stage_->watermark() >= into.NextHalt()) TakeDue(into, report);
  }

  // Time moves on to the watermark behind the lines.
  template <class Into>
  void TakeDue(Into& into, Report& report) {
    while (const WaitingEvent* line = stage_->TakeDue()) TakeKept(into, *line, report);
    TakeRead(into, report);
    stage_->FreeTaken();
    into.MoveTime(stage_->watermark(), mover_);
  }

  template <class Into>
  void TakeOverLimit(Into& into, Report& report) {
    TakeDue(into, report);
    while (const WaitingEvent* line = stage_->TakeOverLimit()) TakeKept(into, *line, report);
    TakeRead(into, report);
    stage_->FreeTaken();
  }

  template <class Into>
  void TakeKept(Into& into, const WaitingEvent& line, Report& report) {
    Take(into, line, line.kept(), line.text(), report);
    if (sources_.empty()) stage_->FreeTaken();
  }

  // Events are taken some at a time.
  template <class Into>
  void Take(Into& into, const WaitingEvent& line, std::span<const uint32_t> places,
            std::string_view text, Report& report) {
    if (line.is_control) TakeRead(into, report);
    reader_.ReadByPlaces(text, places, line.at, line.is_control, event_);
    const auto index = static_cast<int64_t>(line.position - first_position_);
    if (line.is_control) {
      report(index, text, Obey(into, reader_.control(), line.at, index));
      return EndTaken();
    }
    sources_.push_back({index, text});
    if (sources_.size() == kEventsAtOnce) TakeRead(into, report);
  }

  // Takes the events of event_.
  template <class Into>
  void TakeRead(Into& into, Report& report) {
    if (sources_.empty()) return;
    event_.Link();
    for (size_t first = 0, size = 0; first < sources_.size(); first += size) {
      size = into.BatchSize(event_, first, sources_.size(), sources_[first].index);
      const size_t plain = into.Add(event_, first, first + size, outcomes_);
      if (plain == size && report.alone == nullptr) {
        CountPlain(std::span(event_.events).subspan(first, size));
        continue;
      }
      for (size_t i = 0; i < size; ++i) {
        const auto& [index, text] = sources_[first + i];
        const LineResult result = Count(into, outcomes_[i], event_, first + i);
        const bool is_alone = report.alone != nullptr && index == 0;
        if (is_alone || !Into::IsUsual(outcomes_[i])) report(index, text, result);
      }
    }
    EndTaken();
  }

  void EndTaken() {
    event_.Clear();
    sources_.clear();
    if (on_taken_) on_taken_();
  }

  const EventPlan& plan_;
  LineTally& tally_;
  ReorderStage* const stage_;
  EventReader reader_;  // of TakeLine(), and of lines that have waited;
  EventBatch event_;    // whose events these are
  ReadLines text_;      // of TakeText()
  std::array<Outcome, kEventsAtOnce> outcomes_;
  std::string conflict_;  // the reason of the latest

  uint64_t first_position_ = 0;   // of the lines that come: that of index 0
  int64_t mover_ = 0;             // the index of the line that has moved the watermark last
  std::vector<uint32_t> places_;  // of a line that comes alone
  std::vector<Source> sources_;   // the lines of event_
  std::function<void()> on_taken_;
  bool has_intake_ = false;
  bool notes_stamps_ = stage_ == nullptr;  // of lines that are taken
};

}  // namespace pleat::inline v0_1
