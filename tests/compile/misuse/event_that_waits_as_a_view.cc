// An event that waits behind a bound of disorder outlives the call that pushed it.
#include <string>
#include <string_view>

#include <pleat/engine.h>
#include <pleat/folder.h>
#include <pleat/intake.h>

struct View {
  std::string_view user;
};
struct Owned {
  std::string user;
  template <class F>
  void Stored(F& f) {
    f(user);
  }
};
template <class Event>
struct Count {
  int events = 0;
  void Fold(const Event&) noexcept { ++events; }
};

void Use(pleat::Engine& engine, const pleat::Folder<View, Count<View>>& views,
         const pleat::Folder<Owned, Count<Owned>>& owned) {
#ifdef MISUSE
  pleat::Intake<View> intake(engine, {.reorder = std::chrono::seconds(1)});
#else
  pleat::Intake<View> in_order(engine);
  in_order.Feed(views);
  pleat::Intake<Owned> intake(engine, {.reorder = std::chrono::seconds(1)});
  intake.Feed(owned);
#endif
}
