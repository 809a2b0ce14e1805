#include "engine/lines/reduce/element_set.h"

#include <string>

#include <gtest/gtest.h>

namespace pleat {
namespace {

class ElementSetTest : public ::testing::Test {
 protected:
  ~ElementSetTest() override { set_.Clear(); }

  std::string Joined() const {
    LineWriter out;
    set_.AppendTo(out);
    return std::string(out.text());
  }

  ElementSet set_{};
};

TEST_F(ElementSetTest, KeepsEachOnceInOrderOfFirstAppearance) {
  for (const char* element : {"3", "1", "3", "2", "1", "\"1\"", "1"}) set_.Add(element);
  EXPECT_EQ(Joined(), R"(3,1,2,"1")");
}

// Few and many, with and without an index; each is kept as it came first.
TEST_F(ElementSetTest, EqualNumbersAreOneElement) {
  set_.Add("1");
  set_.AddOdd("1.0");
  set_.AddOdd("2.0");
  set_.Add("2");
  set_.AddOdd("20e-1");
  set_.Add("\"2.0\"");
  set_.AddOdd("[1.0]");
  set_.Add("[1]");
  EXPECT_EQ(Joined(), R"(1,2.0,"2.0",[1.0])");
  std::string expected = Joined();
  for (int round = 0; round < 3; ++round) {
    for (int i = 3; i < 2000; ++i) {
      const std::string plain = std::to_string(i);
      const bool odd = (i + round) % 2 == 0;
      odd ? set_.AddOdd(plain + ".0") : set_.Add(plain);
      if (round == 0) expected += "," + plain + (odd ? ".0" : "");
    }
  }
  EXPECT_EQ(Joined(), expected);
}

TEST_F(ElementSetTest, ABoundHoldsForOddNumbersToo) {
  set_.AddOdd("1.0", 2);
  set_.Add("1", 2);
  set_.AddOdd("2.0", 2);
  EXPECT_FALSE(set_.cut());
  set_.AddOdd("1e0", 2);
  EXPECT_FALSE(set_.cut());
  set_.AddOdd("3.0", 2);
  EXPECT_TRUE(set_.cut());
  EXPECT_EQ(Joined(), "1.0,2.0");
}

// A set that would fit in place is on the heap if it has an odd number, and is loaded so; so is a copy.
TEST_F(ElementSetTest, StoredAndCopiedItKnowsItsOddNumbers) {
  for (int count : {1, 2, 11, 12, 13, 200}) {
    set_.Clear();
    for (int i = 0; i < count; ++i) set_.AddOdd(std::to_string(i) + ".0");
    set_.AddOdd("0e0");
    ElementSet copy = set_;
    copy.Detach();
    FieldWriter out;
    copy.Save(out);
    ElementSet again{};
    FieldReader in(out.bytes());
    again.Load(in, /*may_be_odd=*/true);
    EXPECT_TRUE(in.done());
    EXPECT_EQ(again.heap_bytes() > 0, true);
    for (int i = 0; i < count; ++i) again.Add(std::to_string(i));
    LineWriter lines;
    again.AppendTo(lines);
    EXPECT_EQ(lines.text(), Joined());
    EXPECT_EQ(again.count(), static_cast<uint64_t>(count));
    copy.Clear();
    again.Clear();
  }
}

TEST_F(ElementSetTest, KeepsToThatWhenLarge) {
  std::string expected;
  for (int round = 0; round < 2; ++round) {
    for (int i = 0; i < 20'000; ++i) {
      const std::string element = std::to_string(i * 7919 % 20'000);
      set_.Add(element);
      if (round == 0) expected += (i == 0 ? "" : ",") + element;
    }
  }
  EXPECT_EQ(Joined(), expected);
}

TEST_F(ElementSetTest, TakesElementsOfAnyLength) {
  const std::string large = "\"" + std::string(1'000'000, 'x') + "\"";
  for (int i = 0; i < 30; ++i) {
    set_.Add(large);
    set_.Add(std::to_string(i));
  }
  EXPECT_EQ(Joined().substr(0, large.size() + 4), large + ",0,1");
}

TEST_F(ElementSetTest, PushTakesWhatIsIn) {
  std::string expected;
  for (int i = 0; i < 100; ++i) {
    set_.Push("1");
    expected += i == 0 ? "1" : ",1";
    EXPECT_EQ(Joined(), expected);
    EXPECT_EQ(set_.count(), static_cast<uint64_t>(i) + 1);
  }
  EXPECT_FALSE(set_.cut());
}

TEST_F(ElementSetTest, TakesAnyNumberOfEmptyTexts) {
  for (int i = 1; i <= 200; ++i) {
    set_.Push("");
    EXPECT_EQ(set_.count(), static_cast<uint64_t>(i));
    EXPECT_EQ(Joined(), std::string(static_cast<size_t>(i) - 1, ','));
  }
  // Each with a length of four bytes, in a block, which counts itself.
  EXPECT_GE(set_.heap_bytes(), 200u * 4);
}

TEST_F(ElementSetTest, CutsTheFirstOneOverItsBound) {
  for (const uint64_t bound : {1, 2, 11, 12, 13, 100}) {
    for (uint64_t i = 0; i < bound; ++i) set_.Add(std::to_string(i), bound);
    for (uint64_t i = 0; i < bound; ++i) set_.Add(std::to_string(i), bound);
    EXPECT_FALSE(set_.cut());
    const std::string before = Joined();
    const size_t heap = set_.heap_bytes();
    for (uint64_t i = 0; i < bound; ++i) set_.Add("more" + std::to_string(i), bound);
    EXPECT_TRUE(set_.cut());
    EXPECT_EQ(Joined(), before);
    EXPECT_EQ(set_.count(), bound);
    EXPECT_EQ(set_.heap_bytes(), heap);
    set_.Clear();
    EXPECT_FALSE(set_.cut());
    EXPECT_TRUE(set_.empty());
  }
}

TEST_F(ElementSetTest, DetachedCopyGoesItsOwnWay) {
  for (const int size : {0, 3, 11, 12, 500}) {
    for (int i = 0; i < size; ++i) set_.Add(std::to_string(i));
    const std::string before = Joined();
    ElementSet copy = set_;
    copy.Detach();
    EXPECT_LE(copy.heap_bytes(), set_.heap_bytes());
    for (int i = 0; i < 600; ++i) copy.Add(std::to_string(599 - i));
    EXPECT_EQ(copy.count(), 600u);
    EXPECT_EQ(Joined(), before);
    copy.Clear();
    set_.Add("last");
    EXPECT_EQ(Joined(), before + (size == 0 ? "last" : ",last"));
    set_.Clear();
  }
}

TEST_F(ElementSetTest, CountsWhatItOwns) {
  EXPECT_EQ(set_.heap_bytes(), 0u);
  size_t before = 0;
  for (int i = 0; i < 1000; ++i) {
    set_.Add(std::to_string(i));
    EXPECT_GE(set_.heap_bytes(), before);
    before = set_.heap_bytes();
  }
  EXPECT_GE(before, Joined().size());
  EXPECT_LE(before, 100'000u);
}

}  // namespace
}  // namespace pleat
