// The fixture of stories about emissions: leases, dead letters and the backlog. The four sides are
// those of Features. Each event of Emit() becomes an emission by itself.
//
// An emission is shown as key and events, "a1"; a lease as "a1 x2 until 30", the second delivery; a
// dead letter as "a1 x3 0..25 ran out", leased first at 0 and dead at 25. Time is in seconds since
// kT0. A delivery is named by its number, from 1; 0 names a token that was never given out.
#pragma once

#include <algorithm>
#include <initializer_list>
#include <string>
#include <string_view>
#include <vector>

#include "tests/core/features.h"

namespace pleat {

class LeaseStories : public Features {
 protected:
  LeaseStories() { ids_have_gaps_ = true; }

  void Open(FolderOptions options = {}, Axis axis = Axis::kArrival) {
    if (options.quiet_period == Duration{0}) options.quiet_period = std::chrono::seconds(60);
    options.max_wait = kForever;
    Features::Open(options, {.axis = axis}, StartAndEndMarks());
    AdvanceTo(Duration{0});
  }

  // Both clocks.
  void AdvanceTo(Duration after) {
    Advance(after);
    AdvanceLeases(after);
  }
  void AdvanceLeases(Duration after) {
    lease_now_ = LeaseTime(kT0 + after);
    for (Side& side : sides_) (void)side.engine->AdvanceLeases(lease_now_);
    model_->AdvanceLeases(lease_now_);
  }

  // "a1" is value 1 of key a, now.
  void Emit(std::initializer_list<std::string_view> emissions) {
    std::vector<Given> events;
    for (std::string_view emission : emissions) events.push_back(Read(emission, {.ends = true}));
    Fold(events);
  }
  using Features::Fold;
  std::string Fold(std::string_view event, const Marks& marks = {}) {
    return Fold({Read(event, marks)});
  }

  std::vector<std::string> Pop(size_t max = 100'000) {
    std::vector<std::string> out = Features::Pop(max);
    for (std::string& line : out) {
      line.resize(line.find(']'));
      std::erase_if(line, [](char c) { return c == ' ' || c == '['; });
    }
    return out;
  }
  std::vector<std::string> Lease(size_t max, Duration ttl = std::chrono::seconds(30)) {
    using Lines = std::vector<std::string>;
    return Agreed(
        [&](Side& side) {
          Lines out;
          for (const auto& lease : side.folder->Lease(max, ttl, lease_now_)) {
            out.push_back(ShowLease(lease.key, lease.state.all, lease.delivery));
            side.tokens.push_back(lease.delivery.token);
          }
          return out;
        },
        [&](FoldModel& model) {
          Lines out;
          for (const ModelLease& lease : model.Lease(max, ttl, {}, lease_now_)) {
            out.push_back(ShowLease(lease.emission.key, lease.emission.events, lease));
          }
          return out;
        });
  }
  // LeaseStories one emission and returns the number of its delivery.
  size_t LeaseOne(Duration ttl = std::chrono::seconds(30)) {
    EXPECT_EQ(Lease(1, ttl).size(), 1u);
    return last();
  }
  size_t last() const { return sides_[0].tokens.size(); }

  // Each answers in one word, Extend() also when the lease ends: "done until 30".
  std::string Ack(size_t delivery) {
    return AgreedOf(
        delivery, [](auto& folder, auto& token) { return folder.Ack(token); },
        [&](FoldModel& model) { return model.Ack(delivery); });
  }
  // All in one call, in this order. Answers as "done stale done".
  std::string AckMany(std::initializer_list<size_t> deliveries) {
    return Agreed(
        [&](Side& side) {
          std::vector<LeaseToken> tokens;
          for (const size_t delivery : deliveries) tokens.push_back(TokenOf(side, delivery));
          std::vector<LeaseOutcome> outcomes(tokens.size());
          (void)side.folder->Ack(tokens, outcomes);
          return Words(outcomes);
        },
        [&](FoldModel& model) {
          std::vector<LeaseOutcome> outcomes;
          for (const size_t delivery : deliveries) outcomes.push_back(model.Ack(delivery));
          return Words(outcomes);
        });
  }
  std::string Nack(size_t delivery, Duration delay = Duration{0}) {
    return AgreedOf(
        delivery, [&](auto& folder, auto& token) { return folder.Nack(token, delay, lease_now_); },
        [&](FoldModel& model) { return model.Nack(delivery, delay); });
  }
  std::string Extend(size_t delivery, Duration ttl) {
    return AgreedOf(
        delivery, [&](auto& folder, auto& token) { return folder.Extend(token, ttl, lease_now_); },
        [&](FoldModel& model) { return model.Extend(delivery, ttl); });
  }
  std::string RetryDeadLetter(size_t delivery) {
    return AgreedOf(
        delivery, [](auto& folder, auto& token) { return folder.RetryDeadLetter(token); },
        [&](FoldModel& model) { return model.RetryDeadLetter(delivery); });
  }
  std::string DropDeadLetter(size_t delivery) {
    return AgreedOf(
        delivery, [](auto& folder, auto& token) { return folder.DropDeadLetter(token); },
        [&](FoldModel& model) { return model.DropDeadLetter(delivery); });
  }

  // In the order of their lines.
  std::vector<std::string> DeadLetters() {
    return Agreed(
        [](Side& side) {
          ScanCursor cursor;
          std::vector<DeadLetter<Values>> letters;
          while (side.folder->ScanDeadLetters(cursor, 100, letters)) {
          }
          std::vector<std::string> out;
          for (const auto& letter : letters) {
            out.push_back(ShowLetter(letter.key, letter.state.all, letter.death));
          }
          std::ranges::sort(out);
          return out;
        },
        [](FoldModel& model) {
          std::vector<std::string> out;
          for (const ModelLetter& letter : model.DeadLetters()) {
            out.push_back(ShowLetter(letter.emission.key, letter.emission.events, letter));
          }
          std::ranges::sort(out);
          return out;
        });
  }
  // With every column, as leases that are over are visited first.
  Ledger ledger() {
    AdvanceLeases(EngineTime(lease_now_) - kT0);
    return Agreed([](Side& side) { return side.folder->ledger(); },
                  [](FoldModel& model) { return model.ledger(); });
  }

  void Finish() override {
    if (sides_.empty()) return;
    ledger();
    AdvanceLeases(std::chrono::hours(24'000));
    Pop();
    for (size_t delivery = 1; delivery <= last(); ++delivery) DropDeadLetter(delivery);
    Features::Finish();
  }

 private:
  Given Read(std::string_view event, const Marks& marks) {
    return {event.substr(0, 1), event[1] - '0', engine().now() - kT0, marks};
  }

  static const LeaseToken& TokenOf(const Side& side, size_t delivery) {
    return delivery == 0 ? kNoToken : side.tokens[delivery - 1];
  }
  template <class Call, class CallModel>
  std::string AgreedOf(size_t delivery, Call call, CallModel call_model) {
    return Agreed([&](Side& side) { return Word(call(*side.folder, TokenOf(side, delivery))); },
                  [&](FoldModel& model) { return Word(call_model(model)); });
  }
  static std::string Word(LeaseOutcome outcome) { return std::string(NameOf(outcome)); }
  static std::string Words(const std::vector<LeaseOutcome>& outcomes) {
    std::string words;
    for (const LeaseOutcome outcome : outcomes) words += (words.empty() ? "" : " ") + Word(outcome);
    return words;
  }
  static std::string Word(const Extension& extension) {
    const std::string word = Word(extension.outcome);
    return word == "stale" ? word : word + " until " + ShowTime(EngineTime(extension.until));
  }

  template <class Events>
  static std::string ShowEvents(std::string text, const Events& events) {
    for (const auto event : events) text += std::to_string(event);
    return text;
  }
  template <class Events, class Delivery>
  static std::string ShowLease(const std::string& key, const Events& events, const Delivery& d) {
    return ShowEvents(key, events) + " x" + std::to_string(d.deliveries) + " until " +
           ShowTime(EngineTime(d.until));
  }
  template <class Events, class Death>
  static std::string ShowLetter(const std::string& key, const Events& events, const Death& death) {
    return ShowEvents(key, events) + " x" + std::to_string(death.deliveries) + " " +
           ShowTime(EngineTime(death.first_leased)) + ".." + ShowTime(EngineTime(death.died)) +
           (death.why == DeadReason::kNacked ? " nacked" : " ran out");
  }

  static constexpr LeaseToken kNoToken{};
  LeaseTime lease_now_{};
};

}  // namespace pleat
