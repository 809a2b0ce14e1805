// Compressed input is recognised by its bytes, read whole, and never silently cut short.
#include "tools/pleat/decompress.h"

#include "tests/cli/fixtures.h"

namespace pleat::cli {
namespace {

std::string Plain(std::string bytes, size_t at_once = SIZE_MAX) {
  auto source = Decompressed(std::make_unique<TextSource>(std::move(bytes), at_once), "in");
  return source.ok() ? ReadAll(**source) : std::string(source.status().message());
}

// Incompressible enough that the compressed form is larger than the buffers.
std::string LongText() {
  std::string text;
  for (uint32_t i = 0, x = 1; i < 300'000; ++i) {
    x = x * 1664525 + 1013904223;
    text += static_cast<char>('0' + (x >> 24) % 64);
  }
  return text;
}

TEST(Decompress, EmptyInputIsEmpty) {
  EXPECT_EQ(Plain(""), "");
  EXPECT_EQ(Plain(Gzip("")), "");
  EXPECT_EQ(Plain(Zstd("")), "");
}

TEST(Decompress, BytesMayArriveOneByOne) {
  EXPECT_EQ(Plain(Gzip("one\ntwo\n"), 1), "one\ntwo\n");
  EXPECT_EQ(Plain(Zstd("one\ntwo\n"), 1), "one\ntwo\n");
  EXPECT_EQ(Plain("one\ntwo\n", 1), "one\ntwo\n");
  EXPECT_EQ(Plain("(one", 1), "(one");  // begins like zstd
}

TEST(Decompress, SeveralGzipMembersAreOneInput) {
  EXPECT_EQ(Plain(Gzip("one") + Gzip("") + Gzip("two")), "onetwo");
  EXPECT_EQ(Plain(Gzip("one") + Gzip("two"), 1), "onetwo");
}

TEST(Decompress, SeveralZstdFramesAreOneInput) {
  EXPECT_EQ(Plain(Zstd("one") + Zstd("") + Zstd("two")), "onetwo");
  EXPECT_EQ(Plain(Zstd("one") + Zstd("two"), 1), "onetwo");
}

TEST(Decompress, SkippableFrameMayComeFirst) {
  const std::string skippable("\x50\x2a\x4d\x18\x02\0\0\0xx", 10);
  EXPECT_EQ(Plain(skippable + Zstd("one")), "one");
}

TEST(Decompress, LongDataSurvivesAnyReadSize) {
  const std::string text = LongText();
  EXPECT_EQ(Plain(Gzip(text)), text);
  EXPECT_EQ(Plain(Zstd(text)), text);
  EXPECT_EQ(Plain(Gzip(text), 1000), text);
  EXPECT_EQ(Plain(Zstd(text), 1000), text);
}

TEST(Decompress, TruncatedGzipIsAnErrorAtEveryCut) {
  const std::string whole = Gzip("one\ntwo\n");
  for (size_t size = 1; size < whole.size(); ++size) {
    EXPECT_NE(Plain(whole.substr(0, size)).find("in: truncated gzip data"), std::string::npos)
        << size;
  }
}

TEST(Decompress, TruncatedZstdIsAnErrorAtEveryCut) {
  const std::string whole = Zstd("one\ntwo\n");
  for (size_t size = 2; size < whole.size(); ++size) {
    EXPECT_NE(Plain(whole.substr(0, size)).find("in: truncated zstd data"), std::string::npos)
        << size;
  }
}

TEST(Decompress, CutThatCouldBeTextIsText) {
  for (const char* text : {"(", "P", "P*", "P*M", "["}) EXPECT_EQ(Plain(text), text);
}

TEST(Decompress, CorruptionIsAnError) {
  std::string gzip = Gzip("one\ntwo\n");
  gzip[gzip.size() - 6] ^= 1;  // in the checksum
  EXPECT_NE(Plain(gzip).find("in: corrupt gzip data"), std::string::npos);
  std::string zstd = Zstd("one\ntwo\n");
  zstd[4] = static_cast<char>(zstd[4] | 0x08);  // a reserved bit of the frame header
  EXPECT_NE(Plain(zstd).find("in: corrupt zstd data"), std::string::npos);
}

TEST(Decompress, ZerosAfterGzipArePaddingAndAnythingElseIsNot) {
  EXPECT_EQ(Plain(Gzip("one") + std::string(1000, '\0')), "one");
  EXPECT_EQ(Plain(Gzip("one") + std::string(3, '\0') + Gzip("two")), "onetwo");
  EXPECT_NE(Plain(Gzip("one") + "{}\n").find("in: corrupt gzip data"), std::string::npos);
}

TEST(Decompress, ErrorsBelowPassThrough) {
  auto source = Decompressed(
      std::make_unique<TextSource>("{}\n", 1, absl::UnavailableError("in: unplugged")), "in");
  ASSERT_TRUE(source.ok());
  EXPECT_EQ(ReadAll(**source), "{}\n[in: unplugged]");
}

}  // namespace
}  // namespace pleat::cli
