// Collections refer to their engine; a copy would leave them with the old one.
#include <pleat/engine.h>

#ifdef MISUSE
int Use(pleat::Engine engine) { return engine.partitions(); }
int Call(const pleat::Engine& engine) { return Use(engine); }
#else
int Use(const pleat::Engine& engine) { return engine.partitions(); }
int Call(const pleat::Engine& engine) { return Use(engine); }
#endif
