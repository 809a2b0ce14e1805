# Turns the C++ of a page into one source that a compiler can check. If the page has programs, with a main(), each
# block is a source of its own; otherwise all blocks in their order are one function.
/^```cpp$/ { inside = 1; ++blocks; text[blocks] = ""; next }
/^```$/ { inside = 0 }
inside && /^#include/ { print; next }
inside && sub(/^int main\(/, "void Main(") { programs = 1 }
inside { text[blocks] = text[blocks] $0 "\n" }
END {
  if (!blocks) print "#error \"the examples are gone\""
  if (!programs) print "#include \"tests/documents/examples.h\"\nvoid Page(pleat::EngineTime now) {"
  for (i = 1; i <= blocks; ++i) print programs ? "namespace program" i " {\n" text[i] "}" : text[i]
  if (!programs) print "}"
}
