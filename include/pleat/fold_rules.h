// FoldRules: what events and states say about when a group closes.
//
//   pleat::FoldRules<Order, Basket> rules;
//   rules.ends = [](const Order& order) { return order.paid; };
//   rules.condition = [](const Basket& basket) { return basket.total >= 100'000; };
//   pleat::Folder<Order, Basket> baskets(*engine, "baskets", options, std::move(rules));
#pragma once

#include <cstdint>
#include <functional>
#include <string_view>

#include <pleat/export.h>
#include <pleat/time.h>

namespace pleat::inline v0_1 {

// Every rule is optional. Rules run under a partition's lock, on the thread that folds.
// REQUIRES: no rule throws, nor calls an engine.
// Cost: a call through std::function for each event and rule.
template <class Event, class State>
struct FoldRules {
  // Whether the event opens a group. A group of its key that is open closes before it, with reason
  // kStartMark.
  std::function<bool(const Event&)> starts;

  // Whether the event is the last of its group, which then closes with reason kEndMark.
  std::function<bool(const Event&)> ends;

  // Whether the group is complete; asked after every fold. It then closes with reason kCondition.
  std::function<bool(const State&)> condition;

  // The quiet period after this event, above zero; zero: the folder's. So a class of keys can have
  // a timing of its own. A group's deadline is the latest one that any of its events asks for.
  std::function<Duration(std::string_view key, const Event&)> quiet_period;

  // The instant at which the group of this event closes; kNever: the event states none. See
  // EventMarks::close_at.
  std::function<EngineTime(std::string_view key, const Event&)> close_at;

  // The instant at which a group closes that an event of this stamp opened, for calendars, such as
  // nine o'clock of a zone; kNever: none. See StateOps::closing_time.
  std::function<EngineTime(EngineTime opened)> closing_time;

  // With FolderOptions::quiet_floor: the class of keys that learns its quiet period together, such
  // as a hash of the event's type; 0 is no class. See EventMarks::key_class.
  std::function<uint32_t(std::string_view key, const Event&)> key_class;

  // The name of the event among those of its key. A second event of one name is answered
  // kDuplicate, or kConflict if its `content` differs. A name is remembered for as long as an event
  // of that stamp would be accepted. Needs late.allowed_lateness, and OnLate::kReject.
  std::function<std::string_view(const Event&)> id;

  // A hash of all that the event says. Without this rule, events of one name have the same content.
  std::function<uint64_t(const Event&)> content;

  bool any() const noexcept {
    return starts || ends || condition || quiet_period || close_at || closing_time || key_class ||
           id;
  }
};

}  // namespace pleat::inline v0_1
