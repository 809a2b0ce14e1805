// Whether the fast tokenizer works with the simdjson that was found; see PleatTokenizer.cmake. It stops
// with a message if not.
#include "engine/lines/scan/tokens.h"

int main() { return pleat::MakeFastTokenizer() == nullptr ? 1 : 0; }
