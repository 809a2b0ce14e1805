#include "tools/pleat/analyze/page_text.h"

#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/page/fixture.h"
#include "tools/pleat/quantity_text.h"

namespace pleat::cli {
namespace {

using namespace std::string_literals;

TEST(PageText, MarkupIsText) {
  EXPECT_EQ(Escaped(R"(<a href="x">'&amp;'</a>)"),
            "&lt;a href=&quot;x&quot;&gt;&#39;&amp;amp;&#39;&lt;/a&gt;");
  for (const std::string& text : HostileTexts())
    EXPECT_EQ(Escaped(text).find_first_of("<>\"'"), std::string::npos) << text;
}

TEST(PageText, WhatCannotBeSeenIsNamed) {
  EXPECT_EQ(Escaped("a\0b\n\x7F"s), "a[U+0000]b[U+000A][U+007F]");
  EXPECT_EQ(Escaped("\u202Egnp.exe"), "[U+202E]gnp.exe");
  EXPECT_EQ(Escaped("\u2028\u200B\uFEFF\u0085"), "[U+2028][U+200B][U+FEFF][U+0085]");
  EXPECT_EQ(Escaped("\uFFFE\U0001FFFF\U000E0041"), "[U+FFFE][U+1FFFF][U+E0041]");
}

TEST(PageText, TextOfAnyLanguageStays) {
  EXPECT_EQ(Escaped("Zürich 東京 שלום 👩‍🚀"), "Zürich 東京 שלום 👩‍🚀");
}

TEST(PageText, BytesThatAreNotUtf8AreReplaced) {
  EXPECT_EQ(Escaped("a\xFF z"), "a\uFFFD z");
  EXPECT_EQ(Escaped("\xC0\xAF"), "\uFFFD\uFFFD");            // "/" in more bytes than it takes
  EXPECT_EQ(Escaped("\xED\xA0\x80"), "\uFFFD\uFFFD\uFFFD");  // a surrogate
  EXPECT_EQ(Escaped("\xF4\x90\x80\x80"), "\uFFFD\uFFFD\uFFFD\uFFFD");  // past U+10FFFF
  EXPECT_EQ(Escaped("\xE2\x82"), "\uFFFD\uFFFD");                      // cut short
  EXPECT_EQ(Escaped("\xE2\x82<"), "\uFFFD\uFFFD&lt;");
}

TEST(PageText, LongTextIsCutBetweenCharacters) {
  EXPECT_EQ(Escaped("äöü", 3), "äöü");
  EXPECT_EQ(Escaped("äöü", 2), "äö…");
  EXPECT_EQ(Escaped("<<<", 2), "&lt;&lt;…");
}

TEST(PageText, RatesHaveTwoDigitsAtLeast) {
  EXPECT_EQ(RateText(0), "0.000");
  EXPECT_EQ(RateText(123'456.7), "123,457");
  EXPECT_EQ(RateText(12.34), "12.3");
  EXPECT_EQ(RateText(0.1492), "0.149");
  EXPECT_EQ(RateText(0.01492), "0.015");
  EXPECT_EQ(RateText(0.00001), "0.000010");
}

}  // namespace
}  // namespace pleat::cli
