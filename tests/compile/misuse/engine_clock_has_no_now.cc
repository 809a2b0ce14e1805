// Time is an argument; the clock that gives EngineTime its type cannot be read.
#include <pleat/engine.h>

#ifdef MISUSE
auto Use(const pleat::Engine&) { return pleat::EngineClock::now(); }
#else
auto Use(const pleat::Engine& engine) { return engine.now(); }
#endif
