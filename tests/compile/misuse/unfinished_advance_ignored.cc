// Advance() with a budget may leave work behind; who drops its answer never learns of it.
#include <pleat/engine.h>

#ifdef MISUSE
void Use(pleat::Engine& engine) { engine.Advance(pleat::kEndOfTime, 100); }
#else
bool Use(pleat::Engine& engine) { return engine.Advance(pleat::kEndOfTime, 100); }
#endif
