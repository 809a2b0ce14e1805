// Does nothing: the program whose headers are precompiled for the tests (tests/CMakeLists.txt).
int main() {}
