// Blocks end at newlines, long lines come in pieces, and read sizes never show.
#include "tools/pleat/line_reader.h"

#include "tests/cli/fixtures.h"

namespace pleat::cli {
namespace {

struct Seen {
  std::vector<std::string> lines;       // without newline
  bool unfinished = false;              // the last of them, or what was left
  std::vector<std::string> long_lines;  // with it
  std::string error;
};

Seen ReadLines(LineReader reader) {
  Seen seen;
  for (;;) {
    absl::StatusOr<LineBlock> block = reader.Next();
    if (!block.ok()) {
      seen.error = std::string(block.status().message());
      return seen;
    }
    std::string_view text = block->text;
    seen.unfinished |= block->unfinished;
    switch (block->kind) {
      case LineBlock::Kind::kEnd: return seen;
      case LineBlock::Kind::kLines:
        while (!text.empty()) {
          const size_t size = std::min(text.find('\n'), text.size());
          seen.lines.emplace_back(text.substr(0, size));
          text.remove_prefix(std::min(size + 1, text.size()));
        }
        break;
      case LineBlock::Kind::kLongBegin:
        EXPECT_GE(text.size(), kLineBytesShown);
        seen.long_lines.emplace_back(text);
        break;
      case LineBlock::Kind::kLongMore:
      case LineBlock::Kind::kLongEnd: seen.long_lines.back() += text; break;
    }
  }
}

Seen ReadLines(std::string text, size_t at_once = SIZE_MAX) {
  return ReadLines(LineReader(std::make_unique<TextSource>(std::move(text), at_once)));
}

// With a last line that has no newline left.
Seen ReadWholeLines(std::string text, size_t at_once = SIZE_MAX) {
  return ReadLines(
      LineReader(std::make_unique<TextSource>(std::move(text), at_once), UnfinishedEnd::kLeft));
}

using Lines = std::vector<std::string>;

TEST(LineReader, CutsAtNewlines) {
  EXPECT_EQ(ReadLines("a\nb\n\nc\n").lines, (Lines{"a", "b", "", "c"}));
}

TEST(LineReader, NothingGivesNothing) { EXPECT_EQ(ReadLines("").lines, Lines{}); }

TEST(LineReader, ByteOrderMarkAtTheBeginningIsSkipped) {
  const std::string mark = "\xef\xbb\xbf";
  for (const size_t at_once : {size_t{1}, size_t{2}, SIZE_MAX}) {
    EXPECT_EQ(ReadLines(mark + "a\nb\n", at_once).lines, (Lines{"a", "b"}));
    EXPECT_EQ(ReadLines(mark + "\na", at_once).lines, (Lines{"", "a"}));
    EXPECT_EQ(ReadLines(mark, at_once).lines, Lines{});
    EXPECT_EQ(ReadLines("a\n" + mark + "b\n", at_once).lines, (Lines{"a", mark + "b"}));
    EXPECT_EQ(ReadLines(mark + mark + "a\n", at_once).lines, (Lines{mark + "a"}));
    for (const size_t cut : {1, 2}) {
      EXPECT_EQ(ReadLines(mark.substr(0, cut), at_once).lines, (Lines{mark.substr(0, cut)}));
      EXPECT_EQ(ReadLines(mark.substr(0, cut) + "\n", at_once).lines, (Lines{mark.substr(0, cut)}));
    }
  }
  // It does not count for the length of its line.
  const std::string longest(kLineBytesMax, 'x');
  EXPECT_EQ(ReadLines(mark + longest, kLineBytesMax / 4).lines, (Lines{longest}));
  EXPECT_EQ(ReadLines(mark + longest + "x").long_lines, (Lines{longest + "x"}));
}

TEST(LineReader, LineIsHandedOnAsSoonAsItsNewlineHasArrived) {
  LineReader reader(std::make_unique<TextSource>("a\nb\nc", 3));
  EXPECT_EQ((*reader.Next()).text, "a\n");
  EXPECT_EQ((*reader.Next()).text, "b\n");
  EXPECT_EQ((*reader.Next()).text, "c");
  EXPECT_EQ((*reader.Next()).kind, LineBlock::Kind::kEnd);
}

TEST(LineReader, PaddingCanBeReadBehindTheLastLine) {
  LineReader reader(std::make_unique<TextSource>("abc"));
  const std::string_view text = (*reader.Next()).text;
  unsigned sum = 0;  // a sanitizer would speak up
  for (size_t i = 0; i < kLinePaddingBytes; ++i) {
    sum += static_cast<unsigned char>(text.data()[text.size() + i]);
  }
  EXPECT_LE(sum, 255 * kLinePaddingBytes);
}

TEST(LineReader, LinesOfEveryLengthAroundTheLimitKeepTheirBytes) {
  for (size_t extra = 0; extra < 4; ++extra) {
    const std::string line(kLineBytesMax + extra, 'x');
    for (const size_t at_once : {SIZE_MAX, size_t{100'000}}) {
      const Seen seen = ReadLines("a\n" + line + "\nb\n", at_once);
      ASSERT_EQ(seen.lines.size() + seen.long_lines.size(), 3u) << extra;
      if (seen.long_lines.empty()) {
        EXPECT_EQ(seen.lines, (Lines{"a", line, "b"}));
      } else {
        EXPECT_EQ(seen.lines, (Lines{"a", "b"}));
        EXPECT_EQ(seen.long_lines, (Lines{line + "\n"}));
        EXPECT_GE(line.size(), kLineBytesShown);
      }
    }
  }
}

TEST(LineReader, LinesAfterALongOneAreAllFound) {
  const std::string line(3 * kLineBytesMax, 'x');
  const Seen seen = ReadLines(line + "\na\nb\nc");
  EXPECT_EQ(seen.long_lines, (Lines{line + "\n"}));
  EXPECT_EQ(seen.lines, (Lines{"a", "b", "c"}));
}

TEST(LineReader, ReadSizesDoNotShow) {
  std::string text;
  for (int i = 0; i < 2000; ++i) text += std::string(static_cast<size_t>(i % 37), 'x') + "\n";
  const Lines expected = ReadLines(text).lines;
  ASSERT_EQ(expected.size(), 2000u);
  for (const size_t at_once : {1, 2, 7, 64, 1000})
    EXPECT_EQ(ReadLines(text, at_once).lines, expected);
}

TEST(LineReader, HalfALineBeforeAnErrorIsDropped) {
  const Seen seen = ReadLines(
      LineReader(std::make_unique<TextSource>("a\nb", 3, absl::DataLossError("in: truncated"))));
  EXPECT_EQ(seen.lines, (Lines{"a"}));
  EXPECT_EQ(seen.error, "in: truncated");
}

TEST(LineReader, ALastLineWithoutANewlineCanBeLeft) {
  for (const size_t at_once : {size_t{1}, size_t{2}, SIZE_MAX}) {
    for (const std::string last : {"c", " ", "\xef", "\xef\xbb"}) {
      const Seen left = ReadWholeLines("a\nb\n" + last, at_once);
      EXPECT_EQ(left.lines, (Lines{"a", "b"}));
      EXPECT_TRUE(left.unfinished);
      EXPECT_EQ(ReadWholeLines(last, at_once).lines, Lines{});
      const Seen taken = ReadLines("a\nb\n" + last, at_once);
      EXPECT_EQ(taken.lines, (Lines{"a", "b", last}));
      EXPECT_TRUE(taken.unfinished);
    }
    EXPECT_EQ(ReadWholeLines("a\nb\n", at_once).lines, (Lines{"a", "b"}));
    EXPECT_FALSE(ReadWholeLines("a\nb\n", at_once).unfinished);
    EXPECT_FALSE(ReadLines("a\nb\n", at_once).unfinished);
    EXPECT_FALSE(ReadWholeLines("", at_once).unfinished);
  }
}

TEST(LineReader, ALastLineOverTheLimitIsNotLeft) {
  const std::string line(kLineBytesMax + 1, 'x');
  const Seen seen = ReadWholeLines("a\n" + line);
  EXPECT_EQ(seen.long_lines, (Lines{line}));
  EXPECT_FALSE(seen.unfinished) << "what follows is read on, and no further line";
}

TEST(LineReader, GoesOnInALongLine) {
  const std::string text = "a\n" + std::string(kLineBytesMax + 1, 'x') + "yy\nb\nc\n";
  for (const size_t at_once : {size_t{2}, size_t{100'000}, SIZE_MAX}) {
    for (const size_t read : {text.size() - 7, text.size() - 6, text.size() - 5}) {
      LineReader reader(std::make_unique<TextSource>(text, at_once));
      TextDigest digest;
      ASSERT_EQ(*reader.Skip(read, digest), read);
      reader.GoOnInLongLine();
      std::string rest;
      for (;;) {
        const LineBlock block = *reader.Next();
        rest += block.text;
        if (block.kind == LineBlock::Kind::kLongEnd) break;
        ASSERT_EQ(block.kind, LineBlock::Kind::kLongMore);
      }
      EXPECT_EQ(rest, text.substr(read, text.size() - 4 - read));
      EXPECT_EQ(ReadLines(std::move(reader)).lines, (Lines{"b", "c"}));
    }
  }
}

}  // namespace
}  // namespace pleat::cli
