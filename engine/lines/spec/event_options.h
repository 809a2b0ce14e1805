// The options of the EventSpec that every spec has, for the tables of all of them.
#pragma once

#include "engine/lines/spec/option_table.h"
#include "engine/lines/spec/option_text.h"
#include "engine/lines/time/instant_text.h"

namespace pleat::inline v0_1 {

// The event of a spec, which may be one itself.
template <class Spec>
constexpr auto& EventOf(Spec& spec) {
  if constexpr (requires { spec.event; }) {
    return spec.event;
  } else {
    return spec;
  }
}
#define PLEAT_AT_EVENT(place) ([](auto& spec) -> auto& { return EventOf(spec) place; })

template <class Spec>
inline constexpr Option<Spec> kKeyOptions[] = {As<Spec, KeyText>("key", PLEAT_AT_EVENT(.key))};

template <class Spec>
inline constexpr Option<Spec> kTimeOptions[] = {
    As<Spec, TimePathText>("time", PLEAT_AT_EVENT(.time)),
    As<Spec, ChoiceText<kTimeUnits>>("time-unit", PLEAT_AT_EVENT(.time_unit)),
    As<Spec, ZoneText>("time-zone", PLEAT_AT_EVENT(.time_zone)),
    As<Spec, TimeFormatText>("time-format", PLEAT_AT_EVENT(.time_format)),
    As<Spec, YearText>("time-year", PLEAT_AT_EVENT(.time_year)),
    As<Spec, DurationText>("reorder", PLEAT_AT_EVENT(.reorder)),
};

template <class Spec>
inline constexpr Option<Spec> kSelectionOptions[] = {
    As<Spec, DurationText>("future-limit", PLEAT_AT_EVENT(.future_limit)),
    As<Spec, EventConditionText>("where", PLEAT_AT_EVENT(.where)),
    As<Spec, InstantText<&EventSpec::from>>("from", PLEAT_AT_EVENT()),
    As<Spec, InstantText<&EventSpec::to>>("to", PLEAT_AT_EVENT()),
};

}  // namespace pleat::inline v0_1
