// A const function that gives what may be written is found in any shape, and no other is.
#include "tests/structure/const_views.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace pleat_structure {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

TEST(ConstViews, WhatMayBeWrittenIsFound) {
  EXPECT_THAT(
      ConstThatWritesIn("class A {\n"
                        " public:\n"
                        "  Entry& a(uint32_t number) const noexcept { return e_[number]; }\n"
                        "  [[nodiscard]] std::byte* b() const;\n"
                        "  template <class T, int kBits>\n"
                        "  std::map<int, T>& c(Ref<int(int)> f) const;\n"
                        "  virtual std::span<Entry> d() const = 0;\n"
                        "  Slab<Cold>::Part* e(\n"
                        "      uint32_t number) const;\n"
                        "};\n"
                        "A::Entry& A::f() const { return e_[0]; }\n"),
      ElementsAre("a", "b", "c", "d", "e", "f"));
}

TEST(ConstViews, WhatIsReadOrNotConstIsNone) {
  EXPECT_THAT(ConstThatWritesIn("class A {\n"
                                " public:\n"
                                "  const Entry& a(uint32_t number) const noexcept;\n"
                                "  [[nodiscard]] const std::byte* b() const;\n"
                                "  template <class T>\n"
                                "  const T* c() const;\n"
                                "  std::span<const Entry> d() const;\n"
                                "  Entry& e(const Entry& from) noexcept { return e_[0]; }\n"
                                "  int f(Entry& to) const { return size() * count() + by_; }\n"
                                "  void g(const Entry* entry) const;\n"
                                "  // Entry& h() const;\n"
                                "};\n"),
              IsEmpty());
}

}  // namespace
}  // namespace pleat_structure
