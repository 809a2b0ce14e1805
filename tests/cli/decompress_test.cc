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

// The two formats.
struct Format {
  std::string name;
  std::string (*compress)(std::string_view);
  size_t told_by;  // so many bytes
};
const Format kFormats[] = {{"gzip", Gzip, 1}, {"zstd", Zstd, 2}};

TEST(Decompress, SeveralMembersOrFramesAreOneInput) {
  for (const auto& [name, compress, told_by] : kFormats) {
    EXPECT_EQ(Plain(compress("one") + compress("") + compress("two")), "onetwo");
    EXPECT_EQ(Plain(compress("one") + compress("two"), 1), "onetwo");
  }
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

TEST(Decompress, TruncationIsAnErrorAtEveryCut) {
  for (const auto& [name, compress, told_by] : kFormats) {
    const std::string whole = compress("one\ntwo\n");
    for (size_t size = told_by; size < whole.size(); ++size) {
      EXPECT_NE(Plain(whole.substr(0, size)).find("in: truncated " + name + " data"),
                std::string::npos)
          << size;
    }
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
