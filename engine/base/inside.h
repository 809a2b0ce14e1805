// Whether this thread is inside a call on an engine. Functions of the caller's run under
// partitions' locks, so a call from one of them could wait for itself, or, through another engine,
// for ever; it is told so instead.
#pragma once

#include <type_traits>

namespace pleat::inline v0_1 {

#if defined(__GNUC__)
[[gnu::tls_model("initial-exec")]]
#endif
inline constinit thread_local bool inside_a_call = false;

// One call. If it is `nested` in another one, it must not go on.
class Call {
 public:
  Call() noexcept : nested_(inside_a_call) { inside_a_call = true; }
  ~Call() { inside_a_call = nested_; }
  Call(const Call&) = delete;
  Call& operator=(const Call&) = delete;

  bool nested() const noexcept { return nested_; }
  // Whether one that begins now would be.
  static bool WouldBeNested() noexcept { return inside_a_call; }

 private:
  const bool nested_;
};

// What a nested call answers: kWouldDeadlock, where that is an answer or an outcome in it; else
// zero, false, or nothing.
template <class Answer>
Answer AnswerIfNested() noexcept {
  static_assert(
      !requires(const Answer& status) { status.ok(); }, "an OK status says that it was done");
  if constexpr (requires { Answer::kWouldDeadlock; }) {
    return Answer::kWouldDeadlock;
  } else if constexpr (requires(Answer& answer) { answer.outcome; }) {
    Answer answer{};
    answer.outcome = AnswerIfNested<decltype(answer.outcome)>();
    return answer;
  } else {
    return Answer();
  }
}

// `act()` as one call of a program's. It is not made inside another one; throwing ends the program.
template <class Act>
[[gnu::always_inline]] inline auto Guarded(const Act& act) noexcept {
  const Call call;
  return call.nested() ? AnswerIfNested<std::invoke_result_t<const Act&>>() : act();
}

}  // namespace pleat::inline v0_1
