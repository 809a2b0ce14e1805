// The fast and the plain tokenizer give the same tokens and the same reasons, for any bytes.
#include <filesystem>
#include <fstream>
#include <functional>
#include <iterator>
#include <random>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "engine/base/utf8.h"
#include "engine/lines/scan/reasons.h"
#include "engine/lines/scan/tokens.h"
#include "tests/lines/lines.h"
#include "tests/support/source_dir.h"

namespace pleat {
namespace {

using ::testing::IsEmpty;
using ::testing::Not;

class BothTokenizers : public testing::Test {
 protected:
  void SetUp() override {
    if (fast_ == nullptr) GTEST_SKIP() << "simdjson has no kernel for this machine";
  }

  void ExpectTheSame(std::string_view text) {
    const PaddedLine line(text);
    const std::string_view fast = fast_->Index(line.view());
    const std::string_view plain = plain_->Index(line.view());
    ASSERT_EQ(plain, fast) << testing::PrintToString(std::string(text));
    if (!fast.empty()) return;
    ASSERT_EQ(Offsets(*plain_), Offsets(*fast_)) << testing::PrintToString(std::string(text));
  }

  // Texts of random words, some of them longer than the 64-byte blocks of simdjson.
  void ExpectTheSameOfRandomTexts(const std::vector<std::string>& words) {
    std::mt19937 random(14);
    for (int i = 0; i < 20'000 && !HasFatalFailure(); ++i) {
      std::string text;
      for (size_t left = random() % 100; left > 0; --left) text += words[random() % words.size()];
      ExpectTheSame(text);
    }
  }

 private:
  static std::vector<uint32_t> Offsets(const Tokenizer& tokenizer) {
    return {tokenizer.tokens().begin(), tokenizer.tokens().end()};
  }

  const std::unique_ptr<Tokenizer> fast_ = MakeFastTokenizer();
  const std::unique_ptr<Tokenizer> plain_ = MakePlainTokenizer();
};

TEST_F(BothTokenizers, AgreeOnTheTestSuiteOfDocuments) {
  size_t files = 0;
  const std::string corpus = SourceDir() + "/fuzz/corpus/differential";
  for (const auto& entry : std::filesystem::directory_iterator(corpus)) {
    std::ifstream file(entry.path(), std::ios::binary);
    ExpectTheSame(std::string(std::istreambuf_iterator<char>(file), {}));
    ++files;
  }
  EXPECT_GT(files, 100u);
}

TEST_F(BothTokenizers, AgreeOnPiecesOfJson) {
  ExpectTheSameOfRandomTexts({"{",        "}",       "[",      "]",      ":",
                              ",",        "\"",      "\"",     "\\",     " ",
                              "\n",       "a",       "-1",     "\"k\":", "\"a longer string\"",
                              "\xc3\xa9", "\\u00e9", "\\\\\\", "true",   "\t"});
}

TEST_F(BothTokenizers, AgreeOnStringsAcrossBlocks) {
  ExpectTheSameOfRandomTexts(
      {"\"", "\\", "\\\"", "\\\\", std::string(63, ' '), std::string(31, 'x'), "{\"", "\"}"});
}

TEST_F(BothTokenizers, AgreeOnControlCharactersAndOtherBytes) {
  std::vector<std::string> bytes;
  for (int c = 0; c < 256; ++c) bytes.emplace_back(1, static_cast<char>(c));
  for (const std::string& each : bytes) {
    ExpectTheSame(each);
    ExpectTheSame("{\"" + each + "\":" + each + "}");
    ExpectTheSame("[1" + each + "2," + each + "\"\"" + each + "]");
  }
  ExpectTheSameOfRandomTexts(bytes);
}

TEST_F(BothTokenizers, AgreeOnUtf8) {
  ExpectTheSameOfRandomTexts({"\"", "\"", "a", "\xc3\xa9", "\xe2\x82\xac", "\xf0\x9f\x98\x80",
                              "\xed\x9f\xbf", "\xee\x80\x80", "\xf4\x8f\xbf\xbf"});
  // Every second byte behind every lead byte, in a sequence of up to four.
  for (int lead = 0x80; lead < 0x100; ++lead) {
    for (int second = 0; second < 0x100; ++second) {
      std::string text = {'[', '"', static_cast<char>(lead), static_cast<char>(second)};
      for (int more = 0; more < 3; ++more, text += '\x80') ExpectTheSame(text + "\"]");
    }
  }
}

TEST_F(BothTokenizers, AgreeOnATextOfTokensAlone) {
  for (const size_t size : {1u, 63u, 64u, 65u, 65'535u, 65'536u, 65'537u, 1'048'576u}) {
    ExpectTheSame(std::string(size, '['));
  }
}

TEST(Utf8, IsWhatRfc3629SaysItIs) {
  for (const char* good : {"", "a", "\x7f", "\xc2\x80", "\xdf\xbf", "\xe0\xa0\x80", "\xed\x9f\xbf",
                           "\xee\x80\x80", "\xf0\x90\x80\x80", "\xf4\x8f\xbf\xbf", "a\xc3\xa9z"}) {
    EXPECT_TRUE(IsUtf8(good)) << testing::PrintToString(good);
  }
  for (const char* invalid :
       {"\x80", "\xc0\x80", "\xc1\xbf", "\xc2", "\xc2\xc2", "\xe0\x9f\xbf", "\xed\xa0\x80",
        "\xe2\x82", "\xf0\x8f\xbf\xbf", "\xf4\x90\x80\x80", "\xf5\x80\x80\x80", "\xff", "a\xc3"}) {
    EXPECT_FALSE(IsUtf8(invalid)) << testing::PrintToString(invalid);
  }
}

TEST(CheckTokenizer, IsContentWithBoth) {
  EXPECT_THAT(CheckTokenizer(*MakeTokenizer()), IsEmpty());
  EXPECT_THAT(CheckTokenizer(*MakePlainTokenizer()), IsEmpty());
}

// A tokenizer that has changed, as a later simdjson might.
class Changed : public Tokenizer {
 public:
  using Index_ = std::function<std::string_view(std::string_view, std::vector<uint32_t>&)>;
  explicit Changed(Index_ change) : change_(std::move(change)) {}

  std::string_view Index(std::string_view text) noexcept override {
    const std::string_view wrong = plain_->Index(text);
    offsets_.assign(plain_->tokens().begin(), plain_->tokens().end());
    const std::string_view changed = change_(wrong, offsets_);
    tokens_ = offsets_;
    return changed;
  }

 private:
  const std::unique_ptr<Tokenizer> plain_ = MakePlainTokenizer();
  const Index_ change_;
  std::vector<uint32_t> offsets_;
};

TEST(CheckTokenizer, SeesEveryChange) {
  for (const std::string_view accepted :
       {invalid_line::kNotUtf8, invalid_line::kControl, invalid_line::kUnclosedString,
        invalid_line::kNotIndexed}) {
    Changed changed([=](std::string_view wrong, std::vector<uint32_t>&) {
      return wrong == accepted ? std::string_view() : wrong;
    });
    EXPECT_THAT(CheckTokenizer(changed), Not(IsEmpty())) << accepted;
  }
  const std::vector<std::function<void(std::vector<uint32_t>&)>> changes = {
      [](auto& offsets) { offsets.erase(offsets.begin() + 3); },
      [](auto& offsets) { offsets.pop_back(); },
      [](auto& offsets) { offsets.push_back(offsets.back()); },
      [](auto& offsets) { ++offsets[5]; },
      [](auto& offsets) { offsets.back() += 1; },
  };
  for (size_t i = 0; i < changes.size(); ++i) {
    Changed changed([&](std::string_view wrong, std::vector<uint32_t>& offsets) {
      if (wrong.empty()) changes[i](offsets);
      return wrong;
    });
    EXPECT_THAT(CheckTokenizer(changed), Not(IsEmpty())) << i;
  }
}

}  // namespace
}  // namespace pleat
