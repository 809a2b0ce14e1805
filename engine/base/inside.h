// Whether this thread is inside a call on an engine. Functions of the caller's run under
// partitions' locks, so a call from one of them could wait for itself, or, through another engine,
// for ever; it is told so instead.
#pragma once

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

}  // namespace pleat::inline v0_1
