// Peek() answers with a copy; a state that can only move can be folded, but not peeked at.
#include <memory>

#include <pleat/folder.h>

#ifdef MISUSE
using Held = std::unique_ptr<int>;
#else
using Held = std::shared_ptr<int>;
#endif

struct State {
  Held held;
  void Fold(const int&) noexcept {}
};

bool Use(pleat::Folder<int, State>& folder) { return folder.Peek("key").has_value(); }
