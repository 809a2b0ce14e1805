# Turns the C++ of a page into one source that a compiler can check. If the page has programs, with a main(), each
# block is a source of its own; otherwise all blocks in their order are one function, and what no block opens is
# declared before it.
/^```cpp$/ { inside = 1; ++blocks; text[blocks] = ""; next }
/^```$/ { inside = 0 }
inside && /^#include/ { print; next }
inside && sub(/^int main\(/, "void Main(") { programs = 1 }
inside { text[blocks] = text[blocks] $0 "\n"; awaits = awaits || /co_await/ }
END {
  if (!blocks) print "#error \"the examples are gone\""
  if (!programs) {
    print "#include <memory>\n#include \"tests/documents/examples.h\""
    print "extern std::unique_ptr<pleat::Engine> engine;\nextern pleat::Driver& driver;"
    print "extern pleat::EngineTime now;"
    print awaits ? "boost::asio::awaitable<void> Page() {" : "void Page() {"
  }
  for (i = 1; i <= blocks; ++i) print programs ? "namespace program" i " {\n" text[i] "}" : text[i]
  if (!programs) print "}"
}
