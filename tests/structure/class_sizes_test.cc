// Data members are counted whatever they are initialized with, and nothing else is.
#include "tests/structure/class_sizes.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace pleat_structure {
namespace {

using testing::ElementsAre;
using testing::Pair;

TEST(ClassSizes, MembersOfAnyShapeAreCounted) {
  EXPECT_THAT(DataMembersIn("class PLEAT_EXPORT Base final : public A, B<int> {\n"
                            " public:\n"
                            "  const int& a_;\n"
                            "  std::map<int, T*> b_{};\n"
                            "  Table* const c_ = nullptr;  // int no_;\n"
                            "  std::array<int, 3> d_ = {1, 2};\n"
                            "  uint32_t e_ : 3 = 0;\n"
                            "  mutable Shown f_[kMax];\n"
                            "  int g_ ABSL_GUARDED_BY(lock_) = 0;\n"
                            "  std::string h_ = \"}; int no_;\";\n"
                            "  char i_ = '}';\n"
                            "};\n"),
              ElementsAre(Pair("Base", 9)));
}

TEST(ClassSizes, FunctionsTypesAndLocalVariablesAreNotCounted) {
  EXPECT_THAT(
      DataMembersIn("class A {\n"
                    "  explicit A(int a) : a_(a), b_{a} { int local_ = a; }\n"
                    "  int b() const noexcept { return b_; }\n"
                    "  using Each = B;\n"
                    "  static int Of(const A& a);\n"
                    "  class Inner {\n"
                    "    int c_;\n"
                    "  };\n"
                    "  enum class Kind { kOne };\n"
                    "  struct Open {\n"
                    "    int seen = 0;\n"
                    "  };\n"
                    "  int a_;\n"
                    "  int b_ = 1'000;\n"
                    "};\n"
                    "template <class T>\n"
                    "int Free(T& t) {\n"
                    "  int local_ = 0;\n"
                    "}\n"
                    "int global_ = 0;\n"),
      ElementsAre(Pair("A", 2), Pair("A::Inner", 1), Pair("A::Kind", 0), Pair("A::Open", 0)));
}

}  // namespace
}  // namespace pleat_structure
