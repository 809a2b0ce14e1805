#include "engine/asio/driver_core.h"

#include <algorithm>
#include <chrono>
#include <string>
#include <utility>
#include <vector>

#include <boost/asio/post.hpp>
#include <pleat/snapshot.h>

#include "engine/asio/machine_clock.h"
#include "engine/base/check.h"

namespace pleat::inline v0_1 {
namespace {

// A wall clock that is slewed moves by at most 5 ms during the longest sleep; this is a step.
constexpr Duration kWallStep = std::chrono::milliseconds(100);

const DriverClock& ClockOf(const DriverOptions& options) noexcept {
  return options.clock != nullptr ? *options.clock : MachineClock();
}

// The latest time on the driver's clock that the engine has had; the beginning of time if none.
EngineTime TimeOf(Engine& engine) noexcept {
  const EngineTime leases{LeaseTimeOf(engine)};
  return engine.axis() == Axis::kArrival ? std::max(engine.now(), leases) : leases;
}

// Two digits at least.
std::string Digits(int64_t n) { return (n < 10 ? "0" : "") + std::to_string(n); }

// "2026-11-23 20:04:28 UTC"
std::string DateOf(EngineTime at) {
  using namespace std::chrono;
  const sys_time<Duration> time{at.time_since_epoch()};
  const auto day = floor<days>(time);
  const year_month_day date(day);
  const hh_mm_ss clock(floor<seconds>(time - day));
  return std::to_string(int{date.year()}) + "-" + Digits(unsigned{date.month()}) + "-" +
         Digits(unsigned{date.day()}) + " " + Digits(clock.hours().count()) + ":" +
         Digits(clock.minutes().count()) + ":" + Digits(clock.seconds().count()) + " UTC";
}

// Whether time may go from `from` to `wall` at once.
absl::Status CheckStep(EngineTime from, EngineTime wall, Duration most, EngineTime confirmed) {
  if (from == kBeginningOfTime || wall <= confirmed || wall <= SaturatingAdd(from, most)) {
    return absl::OkStatus();
  }
  return absl::FailedPreconditionError(
      "the wall clock says " + DateOf(wall) + ", and the engine's time is " + DateOf(from) +
      ": a step of more than max_forward_jump, " + std::to_string(most.count() / 1'000'000) +
      " s. If the clock is right, confirm that date; if not, set the clock: else all that the "
      "engine holds would end at once");
}

}  // namespace

absl::Status DriverCore::CheckJump(Engine& engine, const DriverOptions& options) {
  PLEAT_CHECK(options.max_forward_jump >= Duration::zero());
  return CheckStep(TimeOf(engine), ClockOf(options).Wall(), options.max_forward_jump,
                   options.confirmed);
}

DriverCore::DriverCore(boost::asio::any_io_executor executor, Engine& engine,
                       const DriverOptions& options)
    : engine_(engine.Handle()),
      arrival_(engine.axis() == Axis::kArrival),
      options_(options),
      clock_(ClockOf(options)),
      executor_(std::move(executor)),
      timer_(executor_) {
  PLEAT_CHECK(options_.tick > Duration::zero());
  PLEAT_CHECK(options_.budget > 0);
  PLEAT_CHECK(options_.max_sleep > Duration::zero() &&
              options_.max_sleep <= std::chrono::hours(24));
  wall_ahead_ = clock_.Wall().time_since_epoch() - clock_.Elapsed();
  const EngineTime before = TimeOf(engine);
  anchor_ = before == kBeginningOfTime
                ? wall_ahead_
                : std::max(wall_ahead_, before.time_since_epoch() - clock_.Elapsed());
  last_ = before.time_since_epoch();
  asleep_until_ = kBeginningOfTime.time_since_epoch().count();
}

void DriverCore::Begin() {
  AddGuest(executor_, shared_from_this());
  engine_->SetAlarm(*this);
  PostTurn();
}

// The clock's reading; an earlier Now() may be ahead of it.
EngineTime DriverCore::Reading() const noexcept {
  return Clamp(EngineTime{anchor_.load() + clock_.Elapsed()});
}

EngineTime DriverCore::Now() noexcept {
  const Duration reading = Reading().time_since_epoch();
  Duration last = last_.load();
  while (last < reading && !last_.compare_exchange_weak(last, reading)) {
  }
  return EngineTime{std::max(last, reading)};
}

EngineTime DriverCore::RoundUp(EngineTime t) const noexcept {
  const Duration past = t.time_since_epoch() % options_.tick;
  if (past == Duration::zero()) return t;
  return SaturatingAdd(t, past > Duration::zero() ? options_.tick - past : -past);
}

void DriverCore::PostTurn() {
  if (turn_posted_.exchange(true)) return;
  boost::asio::post(executor_, [self = shared_from_this()] {
    self->turn_posted_ = false;
    self->Turn(false);
  });
}

void DriverCore::Turn(bool by_timer) noexcept {
  {
    const std::lock_guard lock(mutex_);
    if (stopped_) return;
    again_ = true;
    if (turning_) return;
    turning_ = true;
    again_ = false;
    ++stats_.turns;
    if (by_timer) ++stats_.timer_wakes;
    CompareWithWall();
  }
  asleep_until_.exchange(kBeginningOfTime.time_since_epoch().count());
  const EngineTime now = Now();
  const std::optional<EngineTime> deadline = EarliestDeadline();
  const bool all = CloseDue(now);
  CallDue(now);

  const std::lock_guard lock(mutex_);
  turning_ = false;
  if (deadline && *deadline <= now) {
    stats_.lateness_us.Add(static_cast<uint64_t>((now - *deadline).count()));
  }
  if (!all) ++stats_.unfinished;
  if (stopped_) {
    turn_over_.notify_all();
  } else if (!all || again_) {
    PostTurn();
  } else {
    FallAsleep();
  }
}

// Of those that lie on the driver's clock: ends of leases, and on arrival time deadlines of groups.
std::optional<EngineTime> DriverCore::EarliestDeadline() const noexcept {
  const std::optional<LeaseTime> lease = engine_->NextLeaseDeadline();
  const std::optional<EngineTime> group = arrival_ ? engine_->NextDeadline() : std::nullopt;
  if (!lease) return group;
  return std::min(EngineTime(*lease), group.value_or(kNever));
}

// Returns whether that was all.
bool DriverCore::CloseDue(EngineTime now) noexcept {
  const bool all = engine_->AdvanceLeases(LeaseTime(now), options_.budget);
  if (arrival_) return engine_->Advance(now, options_.budget) && all;
  const std::optional<EngineTime> deadline = engine_->NextDeadline();
  const EngineTime watermark = engine_->now();
  if (!deadline || *deadline > watermark) return all;
  return engine_->Advance(watermark, options_.budget) && all;
}

void DriverCore::CallDue(EngineTime now) noexcept {
  std::vector<std::shared_ptr<Driven>> due;
  {
    const std::lock_guard lock(mutex_);
    for (; !calls_.empty() && calls_.begin()->first <= now; calls_.erase(calls_.begin())) {
      if (auto consumer = calls_.begin()->second.lock()) due.push_back(std::move(consumer));
    }
  }
  for (const auto& consumer : due) consumer->TimeHasCome(now);
}

// When there is something to do, or to look at, as far as is known now.
EngineTime DriverCore::NextTurn(EngineTime reading) const noexcept {
  EngineTime next = SaturatingAdd(reading, options_.max_sleep);
  if (const auto deadline = EarliestDeadline()) next = std::min(next, RoundUp(*deadline));
  if (!calls_.empty()) next = std::min(next, RoundUp(calls_.begin()->first));
  if (!arrival_ && engine_->NextDeadline()) {
    next = std::min(next, RoundUp(SaturatingAdd(reading, Duration{1})));
  }
  return next;
}

void DriverCore::FallAsleep() {
  const EngineTime reading = Reading();
  EngineTime until;
  do {
    until = NextTurn(reading);
    asleep_until_.exchange(until.time_since_epoch().count());
  } while (NextTurn(reading) < until);
  stats_.asleep_until = until;
  if (!clock_.runs()) return;
  timer_->expires_after(until - reading);
  timer_->async_wait([self = shared_from_this()](const boost::system::error_code& error) {
    if (!error) self->Turn(true);
  });
}

// Two readings that are far apart, because the thread was not running in between, say nothing.
void DriverCore::CompareWithWall() noexcept {
  const Duration before = clock_.Elapsed();
  const EngineTime wall = clock_.Wall();
  const Duration after = clock_.Elapsed();
  if (after - before >= kWallStep / 2) return;
  const Duration ahead = wall.time_since_epoch() - after;
  const Duration step = ahead - std::exchange(wall_ahead_, ahead);
  if (step <= -kWallStep) ++stats_.wall_steps_back;
  if (step >= kWallStep) ++stats_.wall_steps_forward;
}

// On event time a deadline of groups is no instant of this clock: a turn has to look at the
// watermark.
void DriverCore::DeadlineIsEarlier(EngineTime deadline) noexcept {
  WakeBy(arrival_ ? RoundUp(deadline) : kBeginningOfTime + Duration{1});
}

void DriverCore::LeaseDeadlineIsEarlier(LeaseTime deadline) noexcept {
  WakeBy(RoundUp(EngineTime(deadline)));
}

// Posts a turn if the driver would sleep beyond `turn`.
void DriverCore::WakeBy(EngineTime turn) noexcept {
  const Duration::rep until = asleep_until_.fetch_add(0);
  if (turn.time_since_epoch().count() < until) PostTurn();
}

void DriverCore::Wake() {
  const std::lock_guard lock(mutex_);
  if (!stopped_) PostTurn();
}

absl::Status DriverCore::Reanchor(EngineTime confirmed) {
  const EngineTime now = Now();  // so that time does not go back behind this instant
  absl::Status allowed = CheckStep(now, clock_.Wall(), options_.max_forward_jump,
                                   std::max(confirmed, options_.confirmed));
  if (!allowed.ok()) return allowed;
  {
    const std::lock_guard lock(mutex_);
    wall_ahead_ = clock_.Wall().time_since_epoch() - clock_.Elapsed();
    anchor_ = wall_ahead_;
  }
  Wake();
  return allowed;
}

void DriverCore::Add(const std::shared_ptr<Driven>& consumer) {
  {
    const std::lock_guard lock(mutex_);
    if (!stopped_) {
      consumers_.Add(consumer);
      return;
    }
  }
  consumer->End(AsioError::kClosed);
}

void DriverCore::CallAt(EngineTime at, const std::shared_ptr<Driven>& consumer) {
  {
    const std::lock_guard lock(mutex_);
    if (stopped_) return;
    calls_.emplace(at, consumer);
  }
  WakeBy(RoundUp(at));
}

void DriverCore::Stop() noexcept {
  std::unique_lock lock(mutex_);
  const bool first = !std::exchange(stopped_, true);
  turn_over_.wait(lock, [this] { return !turning_; });
  if (!first) return;
  stats_.asleep_until = kNever;
  timer_->cancel();
  engine_->RemoveAlarm(*this);
  const auto consumers = consumers_.Take();
  lock.unlock();
  for (const auto& consumer : consumers) consumer->End(AsioError::kClosed);
}

void DriverCore::Shutdown() noexcept {
  Stop();
  const std::lock_guard lock(mutex_);
  timer_.reset();
  executor_ = {};
}

DriverStats DriverCore::stats() {
  const std::lock_guard lock(mutex_);
  return stats_;
}

boost::asio::any_io_executor DriverCore::executor() {
  const std::lock_guard lock(mutex_);
  return executor_;
}

}  // namespace pleat::inline v0_1
