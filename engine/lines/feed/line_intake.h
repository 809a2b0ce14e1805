// A LineIntake stands behind a JsonIntake: it reads each line by the plans of all its collections, and
// pushes those that one of them takes into an AnyIntake, which gives them to the collections in pieces.
//
// Each collection has a LineTarget there, which makes its events of the lines of a piece: without a
// bound of disorder of those that were read when they came, else the lines are read anew when their
// turn has come. So a line waits as its text.
//
//   text --LineTarget::Read--> lines that are usable --AnyIntake--> pieces --LineTarget::Map--> events
//
// Thread safety: that of JsonIntake.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <absl/status/status.h>
#include <absl/status/statusor.h>
#include <pleat/json_intake.h>
#include <pleat/json_lines.h>
#include <pleat/untyped/any_batch.h>
#include <pleat/untyped/any_intake.h>

#include "engine/lines/feed/line_feed.h"
#include "engine/lines/feed/line_tally.h"
#include "engine/lines/feed/read_lines.h"
#include "engine/lines/feed/stored_stage.h"
#include "engine/lines/plan/event_batch.h"
#include "engine/lines/plan/event_plan.h"
#include "engine/lines/plan/event_reader.h"

namespace pleat::inline v0_1 {

// A line that a collection takes, as an event of the AnyIntake. Its key there is empty.
struct PushedLine {
  std::string_view text;
  uint64_t number;  // among all lines
};

class LineIntake;

// When the lines of a text came: all at once, or each at a time of its own.
class Arrivals {
 public:
  explicit Arrivals(EngineTime all) : all_(all) {}
  explicit Arrivals(std::span<const EngineTime> each) : each_(each) {}

  EngineTime Of(size_t line) const noexcept { return each_.empty() ? all_ : each_[line]; }
  void RemovePrefix(size_t lines) noexcept {
    if (!each_.empty()) each_ = each_.subspan(lines);
  }

 private:
  EngineTime all_{};
  std::span<const EngineTime> each_;
};

// What the engine needs to know of lines that wait. It lasts as long as they do.
struct WaitingLines {
  uint64_t next = 0;             // number: how many lines there were; those of a snapshot raise it
  LineIntake* intake = nullptr;  // null: it is gone
};

// One of the collections.
class LineTarget : public IntakeTarget {
 public:
  // Borrows all. `has_bound`: lines wait for their turn.
  LineTarget(LineIntake& intake, std::string_view name, const EventPlan& plan, LineTally& tally,
             bool has_bound);

  const std::string& name() const noexcept { return name_; }

  // --- Lines that come

  // Reads the lines of a text. The first one has this number.
  void Read(std::string_view text, uint64_t first_number, Arrivals arrivals);
  size_t lines() const noexcept { return read_.lines(); }
  // Whether some of them may be at several instants; and how those of the texts to come are read.
  bool has_open() const noexcept { return read_.has_open(); }
  void DecideBy(std::optional<EngineTime> newest, EngineTime arrival) noexcept {
    read_.DecideBy(newest ? newest : plan_.FirstNear(arrival));
  }
  void LeaveOpen() noexcept { read_.LeaveOpen(); }
  std::optional<EngineTime> newest() const noexcept { return tally_.newest(); }

  // What the next line of the text is. Called for one after the other.
  struct Look {
    bool is_usable = false;  // an event or a control line
    bool is_control = false;
    EngineTime at = kBeginningOfTime;             // of a usable one
    const ReadLines::NoEvent* refused = nullptr;  // an invalid line, or one that lacks a unit
    std::string_view text;                        // of a usable one
  };
  Look LookAtNext();
  // The line that was looked at last is invalid.
  void CountInvalid() { tally_.AddInvalid(); }
  // The lines that were looked at have come: notes their stamps, if they wait.
  void NoteArrived();
  // Whether the collection acts on a line. REQUIRES: kLinePaddingBytes readable bytes follow it.
  bool IsControl(std::string_view line);

  // --- Lines that are taken: see IntakeTarget

  AnyBatch Map(const AnyBatch& piece, std::span<uint16_t> places) final;
  void Act(bool is_beyond_future) final;
  void Answer(const AnyBatch& piece, std::span<const uint16_t> places,
              std::span<const uint8_t> outcomes) final;

 protected:
  struct Counted {
    LineResult result;
    bool is_usual;
    bool has_come;  // false: invalid, or the engine was stopped
  };
  // The events of a batch as the collection takes them.
  virtual AnyBatch EventsOf(const EventBatch& batch, size_t first, size_t end) = 0;
  // Counts event `i` of a batch.
  virtual Counted Count(uint8_t outcome, const EventBatch& batch, size_t i) = 0;
  virtual LineResult Obey(const ControlEvent& control, EngineTime at) = 0;
  // Of a line that the collection did not act on, as the engine was stopped.
  virtual LineResult Stopped() const = 0;
  virtual void EndPiece() = 0;

 private:
  struct Arrived {
    uint64_t number;
    EngineTime at;
  };

  AnyBatch MapRead(const AnyBatch& piece, std::span<uint16_t> places);
  AnyBatch MapAnew(const AnyBatch& piece, std::span<uint16_t> places);

  LineIntake& intake_;
  const std::string name_;
  const EventPlan& plan_;
  LineTally& tally_;
  const bool has_bound_;
  const bool on_event_time_;

  // Of the text: how far it was looked at, and given to the collection.
  ReadLines read_;
  uint64_t first_number_ = 0;
  Arrivals arrivals_{kBeginningOfTime};
  size_t given_events_ = 0;
  size_t given_others_ = 0;
  std::vector<Arrived> arrived_;
  std::vector<uint64_t> refused_;  // numbers of those that have not come, of a few lines

  // Of lines that have waited.
  EventReader reader_;
  EventBatch batch_;

  // Of the piece.
  const EventBatch* events_ = nullptr;
  size_t first_event_ = 0;  // in events_
  std::optional<ControlEvent> control_;
  LineResult obeyed_;  // if it is one of the collection's
};

class LineIntake {
 public:
  using OnUnusual = JsonIntake::OnUnusual;

  LineIntake(Engine& engine, AnyIntake intake, EventSpec spec, std::shared_ptr<WaitingLines> lines)
      : engine_(engine),
        intake_(std::move(intake)),
        spec_(std::move(spec)),
        lines_(std::move(lines)) {
    lines_->intake = this;
  }
  ~LineIntake() { lines_->intake = nullptr; }
  LineIntake(const LineIntake&) = delete;
  LineIntake& operator=(const LineIntake&) = delete;

  // Whether a collection of this spec can be fed.
  absl::Status Check(const EventSpec& spec) const;
  Engine& engine() noexcept { return engine_; }

  // `into` is what a LineFeed gives lines to. It says how to get to its collection by Join().
  template <class Into>
  void Feed(std::string_view name, std::shared_ptr<Into> into);

  bool Push(std::string_view text, Arrivals arrivals, OnUnusual on_unusual);
  bool Advance(EngineTime now, OnUnusual on_unusual);
  bool TakeWaiting(OnUnusual on_unusual);
  void SetOnTaken(std::function<void()> on_taken);
  const AnyIntake& intake() const noexcept { return intake_; }

  // --- For targets

  // A line of the piece that is under way.
  void NoteUnusual(const LineTarget& target, size_t place, const PushedLine& line,
                   const LineResult& result);
  // A target has all its answers.
  void EndAnswers();

  // Whether a line of a snapshot is a control line for a collection.
  bool IsControl(std::string_view line);

 private:
  // A line that is to be told.
  struct Unusual {
    const LineTarget* target;
    size_t place;  // in the piece
    size_t turn;   // of lines at one place
    PushedLine line;
    LineResult result;
    std::string reason;  // the result's
  };

  template <class Act>
  bool Calling(OnUnusual on_unusual, const Act& act);
  size_t PushPiece(std::string_view piece, Arrivals arrivals);
  size_t PushOpen(std::string_view piece, Arrivals arrivals);
  void PushPending(bool is_control = false);
  void Tell(const LineTarget& target, const PushedLine& line, const LineResult& result);

  Engine& engine_;
  AnyIntake intake_;
  const EventSpec spec_;  // what it says of time holds for all collections
  const std::shared_ptr<WaitingLines> lines_;
  std::vector<LineTarget*> targets_;  // intake_ owns them
  std::function<void()> on_taken_;

  // Of the call.
  const OnUnusual* on_unusual_ = nullptr;
  bool go_on_ = true;
  uint64_t first_number_ = 0;

  std::vector<KeyedEvent<PushedLine>> pending_;  // usable lines that were not pushed yet
  std::vector<Unusual> unusual_;                 // of the piece
  size_t answered_ = 0;                          // how many targets have their answers
};

// The target of a collection whose feed is that of `Into`, which takes part as TakesEvents says.
template <class Into>
class FeedTarget final : public LineTarget {
 public:
  FeedTarget(LineIntake& intake, std::string_view name, std::shared_ptr<Into> into, bool has_bound)
      : LineTarget(intake, name, into->feed().plan(), into->feed().tally(), has_bound),
        into_(std::move(into)) {
    into_->feed().LeaveToIntake(/*notes_stamps=*/!has_bound);
  }

 private:
  using Outcome = typename Into::Outcome;

  AnyBatch EventsOf(const EventBatch& batch, size_t first, size_t end) override {
    return into_->EventsOf(batch, first, end);
  }
  Counted Count(uint8_t outcome, const EventBatch& batch, size_t i) override {
    const auto as = static_cast<Outcome>(outcome);
    return {.result = into_->feed().Count(*into_, as, batch, i),
            .is_usual = Into::IsUsual(as),
            .has_come = as != Outcome::kFuture && as != Outcome::kStopped};
  }
  LineResult Obey(const ControlEvent& control, EngineTime at) override {
    return into_->feed().Obey(*into_, control, at, 0);
  }
  LineResult Stopped() const override {
    LineResult result{.kind = LineResult::Kind::kEvent, .reason = {}};
    result.*Into::kOutcome = Outcome::kStopped;
    return result;
  }
  void EndPiece() override {
    if constexpr (requires { into_->MakeRoom(); }) into_->MakeRoom();
  }

  const std::shared_ptr<Into> into_;
};

template <class Into>
void LineIntake::Feed(std::string_view name, std::shared_ptr<Into> into) {
  const auto& collection = into->collection();
  auto target =
      std::make_unique<FeedTarget<Into>>(*this, name, std::move(into), spec_.reorder > Duration{0});
  targets_.push_back(target.get());
  collection.Join(intake_, std::move(target));
}

// Opens a collection: `Impl::Open(engine, name, spec, stored_options, intake)`. An intake, which may be
// null, is that of the collection's own lines.
template <class Impl, class Spec>
absl::StatusOr<std::shared_ptr<Impl>> OpenAlone(Engine& engine, std::string_view name,
                                                const Spec& spec) {
  if (absl::Status status = Validate(spec); !status.ok()) return status;
  absl::StatusOr<std::unique_ptr<AnyIntake>> intake = TakeIntake(engine, spec.event);
  if (!intake.ok()) return intake.status();
  return Impl::Open(engine, name, spec, Impl::StoredOptionsOf(spec), *std::move(intake));
}
// The same for a collection that `intake` feeds.
template <class Impl, class Spec>
absl::StatusOr<std::shared_ptr<Impl>> OpenFed(JsonIntake& intake, std::string_view name,
                                              const Spec& spec) {
  if (absl::Status status = Validate(spec); !status.ok()) return status;
  LineIntake& core = intake.core();
  if (absl::Status status = core.Check(spec.event); !status.ok()) return status;
  Spec own = spec;
  Companion::NamedTexts stored_options = Impl::StoredOptionsOf(spec);
  if (spec.event.reorder > Duration{0}) {
    own.event.reorder = Duration{0};
    stored_options.emplace_back("place of lines that wait", "intake");
  }
  absl::StatusOr<std::shared_ptr<Impl>> impl =
      Impl::Open(core.engine(), name, own, std::move(stored_options), nullptr);
  if (impl.ok()) core.Feed(name, *impl);
  return impl;
}

}  // namespace pleat::inline v0_1
