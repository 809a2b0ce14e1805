# Turns the C++ of pages into one source that a compiler can check. Of a page with programs, which have a main(),
# each block is a source of its own; of any other page all blocks in their order are one function, and what no
# block opens is declared before it.
function flush(  i) {
  if (!blocks) print "#error \"a page has lost its examples\""
  source = source "namespace page" ++pages " {\n"
  if (!programs) source = source (awaits ? "boost::asio::awaitable<void>" : "void") " Page() {\n"
  for (i = 1; i <= blocks; ++i) {
    source = source (programs ? "namespace program" i " {\n" text[i] "}\n" : text[i])
  }
  source = source (programs ? "" : "}\n") "}\n"
  blocks = inside = programs = awaits = 0
}
FNR == 1 && NR > 1 { flush() }
/^```cpp$/ { inside = 1; ++blocks; text[blocks] = ""; next }
/^```$/ { inside = 0 }
inside && /^#include/ { print; next }
inside && sub(/^int main\(/, "void Main(") { programs = 1 }
inside { text[blocks] = text[blocks] $0 "\n"; awaits = awaits || /co_await/ }
END {
  flush()
  print "#include \"tests/documents/examples.h\""
  print "extern std::unique_ptr<pleat::Engine> engine;\nextern pleat::Driver& driver;"
  print "extern pleat::EngineTime now;"
  print source
}
