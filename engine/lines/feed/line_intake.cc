// LineIntake and its targets, and JsonIntake, the handle.
#include "engine/lines/feed/line_intake.h"

#include <algorithm>
#include <new>

#include "engine/base/check.h"
#include "engine/lines/scan/option_error.h"
#include "engine/lines/scan/reasons.h"

namespace pleat::inline v0_1 {

// --- A target: lines that come

LineTarget::LineTarget(LineIntake& intake, std::string_view name, const EventPlan& plan,
                       LineTally& tally, bool has_bound)
    : intake_(intake),
      name_(name),
      plan_(plan),
      tally_(tally),
      has_bound_(has_bound),
      on_event_time_(plan.time_slot != PathTree::kNone),
      read_(plan),
      reader_(plan) {}

void LineTarget::Read(std::string_view text, uint64_t first_number, Arrivals arrivals) {
  read_.Read(text);
  tally_.Note(read_.reader(), read_.batch());
  first_number_ = first_number;
  arrivals_ = arrivals;
  given_events_ = given_others_ = 0;
  if (on_event_time_) return;
  std::vector<KeyedEvent<LineEvent>>& events = read_.batch().events;
  for (size_t i = 0; i < events.size(); ++i) {
    events[i].at = events[i].event.at = arrivals.Of(read_.sources()[i].index);
  }
}

LineTarget::Look LineTarget::LookAtNext() {
  Look look;
  const size_t index = read_.next_line++;
  const auto& events = read_.sources();
  const auto& others = read_.no_events();
  if (read_.next_event < events.size() && events[read_.next_event].index == index) {
    look.is_usable = true;
    look.text = events[read_.next_event].text();
    look.at = read_.batch().events[read_.next_event++].at;
  } else if (read_.next_no_event < others.size() &&
             others[read_.next_no_event].line.index == index) {
    const ReadLines::NoEvent& other = others[read_.next_no_event++];
    if (other.result.kind == LineResult::Kind::kControl) {
      look.is_usable = look.is_control = true;
      look.text = other.line.text();
      look.at = on_event_time_ ? other.control.at : arrivals_.Of(index);
    } else {
      look.refused = &other;
    }
  }
  if (look.is_usable && has_bound_) arrived_.push_back({first_number_ + index, look.at});
  tally_.AddExcluded(read_.TakeExcluded());
  tally_.NoteExcluded(read_.NewestExcludedBefore(read_.next_line));
  return look;
}

void LineTarget::NoteArrived() {
  for (const Arrived& each : arrived_) {
    if (std::ranges::find(refused_, each.number) == refused_.end()) tally_.NoteStamp(each.at);
  }
  arrived_.clear();
  refused_.clear();
}

bool LineTarget::IsControl(std::string_view line) {
  batch_.Clear();
  reader_.DecideBy(tally_.newest());
  return reader_.Read(line, batch_) == LineResult::Kind::kControl;
}

// --- A target: lines that are taken

AnyBatch LineTarget::Map(const AnyBatch& piece, std::span<uint16_t> places) {
  control_.reset();
  obeyed_ = Stopped();
  return has_bound_ ? MapAnew(piece, places) : MapRead(piece, places);
}

// The lines of a piece are those of the text, one behind the other, and so are the events of them.
AnyBatch LineTarget::MapRead(const AnyBatch& piece, std::span<uint16_t> places) {
  const auto& events = read_.sources();
  const auto& others = read_.no_events();
  events_ = &read_.batch();
  first_event_ = given_events_;
  for (size_t i = 0; i < piece.size; ++i) {
    const auto& line = *static_cast<const PushedLine*>(piece.EventOf(i));
    const uint64_t index = line.number - first_number_;
    if (given_events_ < events.size() && events[given_events_].index == index) {
      places[given_events_++ - first_event_] = static_cast<uint16_t>(i);
      continue;
    }
    while (given_others_ < others.size() && others[given_others_].line.index < index) {
      ++given_others_;
    }
    if (given_others_ == others.size() || others[given_others_].line.index != index) continue;
    if (others[given_others_].result.kind == LineResult::Kind::kControl) {
      control_ = others[given_others_].control;
    }
  }
  return first_event_ == given_events_ ? AnyBatch()
                                       : EventsOf(*events_, first_event_, given_events_);
}

AnyBatch LineTarget::MapAnew(const AnyBatch& piece, std::span<uint16_t> places) {
  batch_.Clear();
  events_ = &batch_;
  first_event_ = 0;
  size_t taken = 0;
  for (size_t i = 0; i < piece.size; ++i) {
    const auto& line = *static_cast<const PushedLine*>(piece.EventOf(i));
    reader_.DecideBy(piece.AtOf(i));  // it was decided when the line came
    const LineResult::Kind kind = reader_.Read(line.text, batch_);
    // In a crafted snapshot its stamp is another one.
    if (kind == LineResult::Kind::kControl) {
      control_ = reader_.control();
      control_->at = piece.AtOf(i);
    }
    if (kind != LineResult::Kind::kEvent) continue;
    batch_.events[taken].at = batch_.events[taken].event.at = piece.AtOf(i);
    places[taken++] = static_cast<uint16_t>(i);
  }
  batch_.Link();
  return taken == 0 ? AnyBatch() : EventsOf(batch_, 0, taken);
}

void LineTarget::Act(bool is_beyond_future) {
  if (!control_) return;
  if (is_beyond_future) {
    tally_.AddInvalid();
    obeyed_ = {.kind = LineResult::Kind::kInvalid, .reason = invalid_line::kFuture};
  } else {
    obeyed_ = Obey(*control_, intake_.engine().now());  // time has moved to it
  }
}

void LineTarget::Answer(const AnyBatch& piece, std::span<const uint16_t> places,
                        std::span<const uint8_t> outcomes) {
  const auto note = [&](size_t place, const LineResult& result, bool has_come) {
    const auto& line = *static_cast<const PushedLine*>(piece.EventOf(place));
    if (!has_come) refused_.push_back(line.number);
    intake_.NoteUnusual(*this, place, line, result);
  };
  for (size_t i = 0; i < outcomes.size(); ++i) {
    const Counted counted = Count(outcomes[i], *events_, first_event_ + i);
    if (!counted.is_usual) note(places[i], counted.result, counted.has_come);
  }
  if (control_) note(0, obeyed_, obeyed_.kind == LineResult::Kind::kControl);
  EndPiece();
  intake_.EndAnswers();
}

// --- The intake

namespace {

// The option in which two specs differ that have to agree, or nothing.
std::string_view OptionThatDiffers(const EventSpec& own, const EventSpec& other) {
  if (own.time != other.time) return "time";
  if (own.time_unit != other.time_unit) return "time-unit";
  if (own.time_zone != other.time_zone) return "time-zone";
  if (own.time_format != other.time_format) return "time-format";
  if (own.time_year != other.time_year) return "time-year";
  if (own.reorder != other.reorder) return "reorder";
  if (own.future_limit != other.future_limit) return "future-limit";
  return {};
}

// How a line waits.
StateOps WaitingLineOps(WaitingLines& lines) {
  StateOps ops;
  ops.size = sizeof(PushedLine);
  ops.align = alignof(KeyedEvent<PushedLine>);
  ops.context = &lines;
  ops.destroy = [](void*, void*) {};
  ops.save = [](void*, const void* event, FieldWriter& out) {
    const auto& line = *static_cast<const PushedLine*>(event);
    out.PutNumber(line.number);
    out.PutBytes(line.text);
  };
  ops.load = [](void* context, void* event, FieldReader& in) {
    constexpr uint64_t kNumbersMax = uint64_t{1} << 62;
    auto& next = static_cast<WaitingLines*>(context)->next;
    const uint64_t number = in.Number();
    if (in.Expect(number < kNumbersMax)) next = std::max(next, number + 1);
    ::new (event) PushedLine{.text = in.Bytes(), .number = number};
  };
  ops.condition = [](void* context, const void* event) {
    LineIntake* const intake = static_cast<WaitingLines*>(context)->intake;
    return intake != nullptr && intake->IsControl(static_cast<const PushedLine*>(event)->text);
  };
  ops.shape = [](void*, uint32_t) { return std::string("lines"); };
  return ops;
}

}  // namespace

absl::Status LineIntake::Check(const EventSpec& spec) const {
  if (const std::string_view option = OptionThatDiffers(spec_, spec); !option.empty()) {
    return OptionError(option, "is not that of the intake, which holds for all its collections");
  }
  const IntakeCounts counts = intake_.counts();
  if (counts.events > 0 || counts.waiting > 0) {
    return absl::FailedPreconditionError("the intake has had lines: open its collections before");
  }
  return absl::OkStatus();
}

template <class Act>
bool LineIntake::Calling(OnUnusual on_unusual, const Act& act) {
  if (AnyIntake::WouldBeNested()) return false;
  if (on_unusual_ != nullptr) Fail("a JsonIntake was called from a function that it had called");
  on_unusual_ = &on_unusual;
  go_on_ = true;
  first_number_ = lines_->next;
  act();
  on_unusual_ = nullptr;
  return true;
}

bool LineIntake::Push(std::string_view text, Arrivals arrivals, OnUnusual on_unusual) {
  if (targets_.empty()) Fail("Push(): the JsonIntake has no collection");
  return Calling(on_unusual, [&] {
    while (go_on_ && !text.empty()) {
      const std::string_view piece = ReadLines::FirstPiece(text);
      text.remove_prefix(piece.size());
      arrivals.RemovePrefix(PushPiece(piece, arrivals));
    }
  });
}

// Returns how many lines there are.
size_t LineIntake::PushPiece(std::string_view piece, Arrivals arrivals) {
  const uint64_t first = lines_->next;
  for (LineTarget* const target : targets_) target->Read(piece, first, arrivals);
  if (std::ranges::any_of(targets_, &LineTarget::has_open)) return PushOpen(piece, arrivals);
  const size_t lines = targets_.front()->lines();
  // A line beyond the future limit is found invalid when it is pushed; nothing behind it is pushed before
  // that is told.
  const bool is_limited = spec_.future_limit != kForever;
  for (size_t i = 0; i < lines && go_on_; ++i) {
    LineTarget::Look line;
    const uint64_t number = lines_->next++;
    for (LineTarget* const target : targets_) {
      const LineTarget::Look look = target->LookAtNext();
      if (look.refused != nullptr) {
        PushPending();
        if (look.refused->result.kind == LineResult::Kind::kInvalid) target->CountInvalid();
        Tell(*target, {look.refused->line.text(), number}, look.refused->result);
      }
      if (!look.is_usable) continue;
      line.is_control |= look.is_control;
      if (!line.is_usable) line.at = look.at;
      line.is_usable = true;
      line.text = look.text;
    }
    if (!line.is_usable) continue;
    if (line.is_control) PushPending();
    pending_.push_back({.key = {}, .at = line.at, .event = {line.text, number}});
    if (line.is_control || is_limited) PushPending(line.is_control);
  }
  PushPending();
  return lines;
}

// Each line knows the stamps of those before it.
size_t LineIntake::PushOpen(std::string_view piece, Arrivals arrivals) {
  size_t lines = 0;
  while (go_on_ && !piece.empty()) {
    const std::string_view line = ReadLines::FirstLine(piece);
    piece.remove_prefix(line.size());
    std::optional<EngineTime> newest;
    for (const LineTarget* const target : targets_) newest = std::max(newest, target->newest());
    for (LineTarget* const target : targets_) target->DecideBy(newest, arrivals.Of(0));
    lines += PushPiece(line, arrivals);
    arrivals.RemovePrefix(1);
  }
  for (LineTarget* const target : targets_) target->LeaveOpen();
  return lines;
}

void LineIntake::PushPending(bool is_control) {
  if (pending_.empty()) return;
  const AnyBatch batch = AnyBatch::Of(std::span<const KeyedEvent<PushedLine>>(pending_));
  is_control ? intake_.PushControl(batch) : intake_.Push(batch, {});
  pending_.clear();
  for (LineTarget* const target : targets_) target->NoteArrived();
}

void LineIntake::SetOnTaken(std::function<void()> on_taken) {
  if (on_unusual_ != nullptr) Fail("SetOnTaken() from a function that the JsonIntake calls");
  on_taken_ = std::move(on_taken);
}

bool LineIntake::IsControl(std::string_view line) {
  std::string padded(line);
  padded.append(kLinePaddingBytes, ' ');
  const std::string_view text(padded.data(), line.size());
  return std::ranges::any_of(targets_, [&](LineTarget* target) { return target->IsControl(text); });
}

bool LineIntake::Advance(EngineTime now, OnUnusual on_unusual) {
  return Calling(on_unusual, [&] { intake_.Advance(now); });
}

bool LineIntake::TakeWaiting(OnUnusual on_unusual) {
  return Calling(on_unusual, [&] { intake_.TakeWaiting(); });
}

void LineIntake::NoteUnusual(const LineTarget& target, size_t place, const PushedLine& line,
                             const LineResult& result) {
  unusual_.push_back({&target, place, unusual_.size(), line, result, std::string(result.reason)});
}

// Lines are told in the order of their turns; of one line in that of the collections.
void LineIntake::EndAnswers() {
  if (++answered_ < targets_.size()) return;
  answered_ = 0;
  std::ranges::sort(unusual_, {},
                    [](const Unusual& each) { return std::pair(each.place, each.turn); });
  for (Unusual& each : unusual_) {
    each.result.reason = each.reason;
    Tell(*each.target, each.line, each.result);
  }
  unusual_.clear();
  if (on_taken_) on_taken_();
}

void LineIntake::Tell(const LineTarget& target, const PushedLine& line, const LineResult& result) {
  if (!go_on_) return;
  const auto index = static_cast<int64_t>(line.number - first_number_);
  go_on_ = (*on_unusual_)({index, line.text, result}, target.name());
}

// --- The handle

absl::StatusOr<std::unique_ptr<JsonIntake>> JsonIntake::Open(Engine& engine,
                                                             const EventSpec& spec) {
  if (absl::Status status = Validate(spec); !status.ok()) return status;
  const auto lines = std::make_shared<WaitingLines>();
  const IntakeOptions options{.reorder = spec.reorder,
                              .max_waiting_bytes = spec.max_waiting_bytes,
                              .future_limit = spec.future_limit,
                              .stamps_move_time = true};
  absl::StatusOr<AnyIntake> intake =
      AnyIntake::Open(engine, options, AnyBatch::Of(std::span<const KeyedEvent<PushedLine>>()),
                      WaitingLineOps(*lines), lines);
  if (!intake.ok()) return intake.status();
  return std::unique_ptr<JsonIntake>(
      new JsonIntake(std::make_unique<LineIntake>(engine, *std::move(intake), spec, lines)));
}

JsonIntake::JsonIntake(std::unique_ptr<LineIntake> core) : core_(std::move(core)) {}
JsonIntake::~JsonIntake() = default;

bool JsonIntake::Push(std::string_view text, EngineTime arrival, OnUnusual on_unusual) noexcept {
  return core_->Push(text, Arrivals(arrival), on_unusual);
}
bool JsonIntake::Push(std::string_view text, std::span<const EngineTime> arrivals,
                      OnUnusual on_unusual) noexcept {
  return core_->Push(text, Arrivals(arrivals), on_unusual);
}
bool JsonIntake::Advance(EngineTime now, OnUnusual on_unusual) noexcept {
  return core_->Advance(now, on_unusual);
}
bool JsonIntake::TakeWaiting(OnUnusual on_unusual) noexcept {
  return core_->TakeWaiting(on_unusual);
}
std::optional<EngineTime> JsonIntake::next_waiting() const {
  return core_->intake().next_waiting();
}
void JsonIntake::SetOnTaken(std::function<void()> on_taken) {
  core_->SetOnTaken(std::move(on_taken));
}
IntakeCounts JsonIntake::counts() const noexcept { return core_->intake().counts(); }

}  // namespace pleat::inline v0_1
