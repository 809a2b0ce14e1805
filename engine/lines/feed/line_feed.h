// A LineFeed takes lines into a collection: a folder, a live set or a counter. It reads single
// lines and texts, hands their events to the collection in batches, counts all lines, and reports
// each one that is not an event that simply went in.
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
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <pleat/json_lines.h>

#include "engine/lines/feed/line_tally.h"
#include "engine/lines/feed/read_lines.h"
#include "engine/lines/plan/event_batch.h"
#include "engine/lines/plan/event_plan.h"
#include "engine/lines/plan/event_reader.h"
#include "engine/lines/scan/reasons.h"

namespace pleat::inline v0_1 {

// What a collection adds to its feed. The events of a batch are stamped.
template <class T>
concept TakesEvents = requires(T& into, EventBatch& events, size_t first, size_t end, size_t line,
                               EngineTime at, const ControlEvent& control,
                               std::span<typename T::Outcome> outcomes) {
  // How many events from `first` on go in together, at least one; `line` is the index of the
  // first one's line. Where the engine may find an event invalid, it goes in alone, so that it is
  // reported before a later event goes in.
  { into.BatchSize(events, first, end, line) } -> std::same_as<size_t>;

  // Adds the events from `first` to `end`. Returns how many had an outcome that needs no look:
  // one that is both usual and taken.
  { into.Add(events, first, end, outcomes) } -> std::same_as<size_t>;

  // Does what a control line asks for, at `at`. Returns false if that is beyond the future
  // limit, and nothing has changed.
  { into.Obey(control, at, line) } -> std::same_as<bool>;

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

  // Borrows both.
  LineFeed(const EventPlan& plan, LineTally& tally)
      : plan_(plan), tally_(tally), reader_(plan), text_(plan) {}

  // Takes one line. REQUIRES: kLinePaddingBytes readable bytes follow the line.
  template <TakesEvents Into>
  LineResult TakeLine(Into& into, std::string_view line, EngineTime arrival) {
    event_.Clear();
    const LineResult::Kind kind = reader_.Read(line, event_);
    tally_.Note(reader_);
    switch (kind) {
      case LineResult::Kind::kBlank: return {};
      case LineResult::Kind::kInvalid: return Invalid(reader_.reason(), reader_.about());
      case LineResult::Kind::kControl: return Obey(into, reader_.control(), arrival, 0);
      case LineResult::Kind::kExcluded: return tally_.AddExcluded(1), LineResult{kind};
      case LineResult::Kind::kNoUnit: return {.kind = kind, .reason = reader_.reason()};
      case LineResult::Kind::kEvent: break;
    }
    event_.Link();
    Stamp(event_.events, arrival);
    const size_t size = into.BatchSize(event_, 0, 1, 0);
    into.Add(event_, 0, size, outcomes_);
    return Count(into, outcomes_[0], event_, 0);
  }

  // Takes up to `max` further lines. Returns how many.
  template <TakesEvents Into>
  size_t Take(Into& into, ReadLines& lines, size_t max, EngineTime arrival,
              OnUnusualLine on_unusual) {
    tally_.Note(lines.reader());
    const auto take_events = [&](size_t end) {
      const std::span events(lines.batch().events);
      Stamp(events.subspan(lines.next_event, end - lines.next_event), arrival);
      return TakeEvents(into, lines, end, on_unusual);
    };
    const auto take_other = [&](const ReadLines::NoEvent& other) {
      const ReadLines::Line& line = other.line;
      LineResult result = other.result;
      if (result.kind == LineResult::Kind::kInvalid) tally_.AddInvalid();
      if (result.kind == LineResult::Kind::kControl) {
        result = Obey(into, other.control, arrival, line.index);
      }
      return on_unusual({line.index, line.text(), result});
    };
    const size_t taken = lines.Take(max, take_events, take_other);
    tally_.AddExcluded(lines.TakeExcluded());
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
        line.index += lines_before;
        return go_on = on_unusual(line);
      });
      lines_before += text_.lines();
    }
  }

  void StartInput() noexcept { tally_.StartInput(); }

  const EventPlan& plan() const noexcept { return plan_; }
  bool on_event_time() const noexcept { return plan_.time_slot != PathTree::kNone; }
  LineCounts counts() const noexcept { return tally_.counts(); }
  StampCounts stamps() const noexcept { return tally_.stamps(); }
  std::vector<OptionPath> absent_paths() const { return tally_.Absent(plan_); }

 private:
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
      tally_.NoteStamp(each.at);
    }
    tally_.AddMismatched(mismatched);
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

  // Counts event `i`. Returns the result of its line.
  template <class Into>
  LineResult Count(Into& into, Outcome outcome, const EventBatch& events, size_t i) {
    if (outcome == Outcome::kFuture) return Invalid(invalid_line::kFuture);
    const KeyedEvent<LineEvent>& event = events.events[i];
    if (outcome != Outcome::kStopped) {
      tally_.AddEvents(1);
      tally_.NoteStamp(event.at);
    }
    if (Into::IsTaken(outcome)) tally_.AddMismatched(event.event.mismatched);
    LineResult result{.kind = LineResult::Kind::kEvent, .reason = {}};
    result.*Into::kOutcome = outcome;
    if (outcome == Outcome::kConflict) result.reason = conflict_ = into.ConflictOf(events, i);
    return result;
  }

  // A control line moves time as an event does, and what is due by then closes before it acts.
  template <class Into>
  LineResult Obey(Into& into, const ControlEvent& control, EngineTime arrival, size_t line) {
    const EngineTime at = on_event_time() ? control.at : arrival;
    if (!into.Obey(control, at, line)) return Invalid(invalid_line::kFuture);
    tally_.AddEvents(1);
    tally_.AddControl();
    tally_.NoteStamp(at);
    return {.kind = LineResult::Kind::kControl, .reason = {}};
  }

  LineResult Invalid(std::string_view reason, const OptionPath* about = nullptr) noexcept {
    tally_.AddInvalid();
    return {.kind = LineResult::Kind::kInvalid, .reason = reason, .about = about};
  }

  const EventPlan& plan_;
  LineTally& tally_;
  EventReader reader_;  // of TakeLine(),
  EventBatch event_;    // which has one event
  ReadLines text_;      // of TakeText()
  std::array<Outcome, kEventsAtOnce> outcomes_;
  std::string conflict_;  // the reason of the latest
};

}  // namespace pleat::inline v0_1
