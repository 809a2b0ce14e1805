// The StateOps of a pair of types, with rules or without. An implementation detail of folder.h.
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <new>
#include <string_view>
#include <type_traits>
#include <utility>

#include <pleat/detail/export.h>
#include <pleat/detail/stored_ops.h>
#include <pleat/stored.h>
#include <pleat/untyped/state_ops.h>

namespace pleat::inline v0_1 {

template <class Event, class State>
struct FoldRules;  // in folder.h

template <class State>
concept HasHeapBytes = requires(const State& state) {
  { state.HeapBytes() } noexcept -> std::convertible_to<size_t>;
};

// Does not compile, and says why, unless a folder can fold events of this type into a State.
template <class Event, class State>
consteval bool CheckState() {
  static_assert(std::default_initializable<State>, "a State must be default constructible");
  static_assert(std::is_nothrow_move_constructible_v<State>, "moving a State must be noexcept");
  constexpr bool folds = requires(State& state, const Event& event) {
    { state.Fold(event) } noexcept;
  };
  static_assert(folds, "a State must have `void Fold(const Event&) noexcept`");
  static_assert(
      HasHeapBytes<State> || !requires(State state) { state.HeapBytes(); },
      "HeapBytes() must be `size_t HeapBytes() const noexcept`");
  static_assert(alignof(State) <= 64, "a State is aligned to at most 64 bytes, a cache line");
  return true;
}

// The one StateOps of a pair of types without rules.
template <class Event, class State>
const StateOps& StateOpsFor() noexcept {
  static constexpr StateOps kOps = [] {
    StateOps ops;
    ops.size = sizeof(State);
    ops.align = alignof(State);
    ops.open = [](void*, void* state) { ::new (state) State(); };
    ops.fold = [](void*, void* state_bytes, const void* event) -> int64_t {
      State& state = *static_cast<State*>(state_bytes);
      if constexpr (HasHeapBytes<State>) {
        const size_t before = state.HeapBytes();
        state.Fold(*static_cast<const Event*>(event));
        return static_cast<int64_t>(state.HeapBytes() - before);
      } else {
        state.Fold(*static_cast<const Event*>(event));
        return 0;
      }
    };
    ops.relocate = [](void*, void* to, void* from) {
      State* source = static_cast<State*>(from);
      ::new (to) State(std::move(*source));
      source->~State();
    };
    ops.destroy = [](void*, void* state) { static_cast<State*>(state)->~State(); };
    if constexpr (HasHeapBytes<State>) {
      ops.heap_bytes = [](void*, const void* state) -> size_t {
        return static_cast<const State*>(state)->HeapBytes();
      };
    }
    if constexpr (std::is_copy_constructible_v<State>) {
      ops.copy = [](void*, void* to, const void* from) {
        ::new (to) State(*static_cast<const State*>(from));
      };
    }
    if constexpr (Storable<State>) detail::AddStored<State>(ops);
    return ops;
  }();
  return kOps;
}

// The same with rules, which become the context: they have to live as long as the collection.
template <class Event, class State>
StateOps StateOpsWith(FoldRules<Event, State>& rules) noexcept {
  using Rules = FoldRules<Event, State>;
  StateOps ops = StateOpsFor<Event, State>();
  ops.context = &rules;
  if (rules.starts || rules.ends || rules.quiet_period || rules.close_at || rules.key_class ||
      rules.id) {
    ops.marks = [](void* context, std::string_view key, const void* event_bytes) {
      const Rules& rule = *static_cast<const Rules*>(context);
      const Event& event = *static_cast<const Event*>(event_bytes);
      EventMarks marks;
      marks.starts = rule.starts && rule.starts(event);
      marks.ends = rule.ends && rule.ends(event);
      if (rule.quiet_period) marks.quiet_period = rule.quiet_period(key, event);
      if (rule.close_at) marks.close_at = rule.close_at(key, event);
      if (rule.key_class) marks.key_class = rule.key_class(key, event);
      if (rule.id) marks.id = rule.id(event);
      if (rule.content) marks.content = rule.content(event);
      return marks;
    };
  }
  ops.has_ids = static_cast<bool>(rules.id);
  ops.has_close_at = static_cast<bool>(rules.close_at);
  if (rules.closing_time) {
    ops.closing_time = [](void* context, EngineTime opened) {
      return static_cast<const Rules*>(context)->closing_time(opened);
    };
  }
  if (rules.condition) {
    ops.condition = [](void* context, const void* state) {
      return static_cast<const Rules*>(context)->condition(*static_cast<const State*>(state));
    };
  }
  return ops;
}

}  // namespace pleat::inline v0_1
