# Turns the C++ examples of docs/features.md into one source that a compiler can check. The first block
# is the types and the second the set-up, which every other block adds its lines to.
BEGIN { print "#include \"tests/documents/examples.h\"\n" }
/^```cpp$/ { inside = 1; block = ""; next }
/^```$/ && inside {
  inside = 0
  ++blocks
  if (blocks == 1) print block
  else if (blocks == 2) setup = block
  else {
    returns = block ~ /co_await/ ? "boost::asio::awaitable<void>" : "void"
    print "[[maybe_unused]] " returns " Example" blocks "(PLEAT_EXAMPLE_PARAMETERS) {"
    print setup "{\n" block "}\n}\n"
  }
  next
}
inside { block = block $0 "\n" }
END { if (blocks < 30) { print "#error \"the examples of docs/features.md are gone\"" } }
