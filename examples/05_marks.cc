// Marks, a condition and partials: the baskets of a shop, each handed out when it is finished.
//
// A basket is finished when it is paid (an end mark on the event), when its worth reaches a limit
// (a condition on the state), or when its customer has gone (the quiet period). Before that, a live
// display gets the basket as it is, every ten seconds, if it has changed.
#include <chrono>
#include <iostream>
#include <string_view>

#include <pleat/engine.h>
#include <pleat/folder.h>

using namespace std::chrono_literals;

struct Step {
  int cents = 0;
  bool paid = false;
};

struct Basket {
  int cents = 0;
  void Fold(const Step& step) noexcept { cents += step.cents; }
};

int main() {
  pleat::FoldRules<Step, Basket> rules;
  rules.ends = [](const Step& step) { return step.paid; };
  rules.condition = [](const Basket& basket) { return basket.cents >= 100'000; };

  // On event time the stamps move the engine's time, so no call of Advance() is needed.
  auto engine = *pleat::Engine::Open({.axis = pleat::Axis::kEvent});
  pleat::Folder<Step, Basket> baskets(
      *engine, "baskets", {.quiet_period = 30min, .max_wait = 24h, .partial_every = 10s}, rules);

  const pleat::EngineTime noon = pleat::FromUnix(1'700'000'000s);
  baskets.Fold("Ann", {.cents = 1'200}, noon);
  baskets.Fold("Bob", {.cents = 60'000}, noon + 1s);
  baskets.Fold("Ann", {.cents = 800}, noon + 12s);  // Ann's first ten seconds are over
  baskets.Fold("Bob", {.cents = 55'000},
               noon + 13s);  // and so are Bob's; his basket reaches the limit
  baskets.Fold("Ann", {.paid = true}, noon + 14s);
  baskets.Fold("Cy", {.cents = 500}, noon + 15s);  // and then no more
  engine->Advance(noon + 1h);

  for (const auto& e : baskets.Pop(100)) {
    std::cout << e.key << ' ' << e.state.cents << ' ' << ReasonName(e.reason) << " at +"
              << (e.closed - noon) / 1s << " s, revision " << e.revision
              << (e.partial ? ", open\n" : "\n");
  }
}
