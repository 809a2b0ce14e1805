// The judgement of the scanner on every document in fuzz/corpus/differential, by the first letter of
// its file's name: y has to be accepted, n has to be rejected, and of i, where RFC 8259 leaves it
// open, the table below pins what we do and why. Each document is judged as a line by itself, which
// has to be an object, and as the value of a member. The plain parser of tests/support has to agree.
//
// With scanner_test.cc, which knows the reasons, this is group F of the nasty cases.
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "engine/lines/scan/reasons.h"
#include "engine/lines/scan/scanner.h"
#include "tests/lines/lines.h"
#include "tests/support/plain_json.h"
#include "tests/support/source_dir.h"

namespace pleat {
namespace {

struct Pinned {
  std::string_view file;
  bool alone;     // accepted as a line by itself
  bool as_value;  // accepted as the value of a member
  std::string_view why;
};

constexpr Pinned kPinned[] = {
    {"i_object_name_twice.json", false, false,
     "RFC 8259 only asks for unique names; two values for one name have no one meaning"},
    {"i_object_name_twice_same_value.json", false, false, "likewise, whatever the values are"},
    {"i_object_name_twice_far_apart.json", false, false,
     "likewise, in an object large enough to be sorted"},
    {"i_object_name_twice_behind_33.json", false, false,
     "likewise, of the first name that is not remembered from line to line"},
    {"i_object_name_twice_at_the_end.json", false, false, "likewise, of neighbours"},
    {"i_object_name_twice_inside.json", false, false, "likewise, where nobody looks"},
    {"i_object_name_twice_escaped.json", false, false, "names are compared after unescaping"},
    {"i_object_name_twice_escaped_both.json", false, false, "likewise, both escaped"},
    {"i_object_name_twice_escaped_quote.json", false, false,
     "likewise, of a name that needs an escape"},
    {"i_object_name_twice_escaped_slash.json", false, false,
     "likewise, of an escape that is never needed"},
    {"i_object_name_twice_surrogates.json", false, false,
     "likewise, of a surrogate pair and its UTF-8"},
    {"i_object_name_twice_empty.json", false, false, "the empty name is a name"},
    {"i_object_name_twice_null.json", false, false, "null is a value"},
    {"i_object_name_with_nul.json", true, true,
     "U+0000 is a character like any other; names are compared by all their bytes"},
    {"i_object_members_1024.json", true, true, "1,024 members an object are allowed"},
    {"i_object_members_1025.json", false, false, "one more is not"},
    {"i_object_members_1025_inside.json", false, false, "nor in an inner object"},
    {"i_object_members_700_twice.json", true, true, "the limit is for each object by itself"},
    {"i_depth_63_object.json", true, true, "64 levels are allowed, that of the line included"},
    {"i_depth_64_object.json", true, false, "as a value it is at 65 levels"},
    {"i_depth_64_arrays_in_object.json", true, false, "likewise, of arrays"},
    {"i_depth_65_object.json", false, false, "65 levels are too many"},
    {"i_depth_65_arrays_in_object.json", false, false, "likewise, of arrays"},
    {"i_depth_64_array.json", false, false, "as a value it is at 65 levels; alone it is no object"},
    {"i_depth_65_mixed.json", false, false, "arrays and objects count alike"},
    {"i_depth_500_array.json", false, false, "far too deep, and well formed"},
    {"i_depth_1500_array.json", false, false, "deeper than simdjson goes"},
    {"i_depth_64_wide.json", true, false,
     "the depth is that of the deepest value, wherever it stands"},
    {"i_number_1e309.json", false, true,
     "beyond a double; text to us, until a sum asks for its value"},
    {"i_number_negative_1e309.json", false, true, "likewise"},
    {"i_number_1e400_with_zeros.json", false, true, "spelled at length and within a double"},
    {"i_number_1e_minus_400.json", false, true, "below a double; as a number it is zero"},
    {"i_number_zero_with_huge_exponent.json", false, true, "zero, whatever the exponent"},
    {"i_number_huge_exponent.json", false, true,
     "an exponent beyond 64 bits is still a number by the grammar"},
    {"i_number_huge_negative_exponent.json", false, true, "likewise"},
    {"i_number_uint64_max_plus_one.json", false, true,
     "beyond 64 bits; an identifier keeps all its digits"},
    {"i_number_int64_min_minus_one.json", false, true, "likewise"},
    {"i_number_30_digits.json", false, true, "likewise"},
    {"i_number_400_digits.json", false, true, "likewise, and beyond a double"},
    {"i_number_2000_fraction_digits.json", false, true, "a number may be as long as a line"},
    {"i_number_30_digits_in_object.json", true, true, "kept as it is written"},
    {"i_string_escape_nul.json", false, true, "U+0000 is a character like any other"},
    {"i_string_escape_nul_in_object.json", true, true, "likewise, in a key"},
    {"i_string_noncharacters.json", false, true, "noncharacters are characters to JSON"},
    {"i_string_noncharacters_raw.json", false, true, "likewise, in UTF-8"},
    {"i_string_private_use.json", false, true, "nor are these any different"},
    {"i_string_surrogate_high.json", false, false,
     "the grammar takes a lone surrogate; it stands for no character"},
    {"i_string_surrogate_high_upper.json", false, false, "likewise"},
    {"i_string_surrogate_low.json", false, false, "likewise"},
    {"i_string_surrogate_low_highest.json", false, false, "likewise"},
    {"i_string_surrogate_high_high.json", false, false, "likewise"},
    {"i_string_surrogate_low_high.json", false, false, "likewise"},
    {"i_string_surrogate_high_then_letter.json", false, false, "likewise"},
    {"i_string_surrogate_high_then_escape.json", false, false, "likewise"},
    {"i_string_surrogate_high_then_other.json", false, false, "likewise"},
    {"i_string_surrogate_high_then_above.json", false, false, "likewise"},
    {"i_string_surrogate_high_cut.json", false, false, "likewise"},
    {"i_string_surrogate_pair_then_low.json", false, false, "likewise"},
    {"i_string_surrogate_high_then_utf8.json", false, false, "likewise"},
    {"i_object_name_lone_surrogate.json", false, false, "likewise, in a name"},
    {"i_encoding_byte_order_mark.json", false, false,
     "a parser may ignore a byte order mark; we refuse it"},
    {"i_encoding_byte_order_mark_array.json", false, false, "likewise"},
};

struct Document {
  std::string name;
  std::string text;
};

const std::vector<Document>& Corpus() {
  static const std::vector<Document> documents = [] {
    namespace fs = std::filesystem;
    std::vector<Document> all;
    for (const auto& entry :
         fs::directory_iterator(fs::path(SourceDir()) / "fuzz/corpus/differential")) {
      std::ifstream in(entry.path(), std::ios::binary);
      all.push_back(
          {entry.path().filename().string(), std::string(std::istreambuf_iterator<char>(in), {})});
    }
    std::sort(all.begin(), all.end(),
              [](const Document& a, const Document& b) { return a.name < b.name; });
    return all;
  }();
  return documents;
}

std::string AsValue(std::string_view text) { return "{\"k\":" + std::string(text) + "}"; }

std::string_view Trimmed(std::string_view text) {
  constexpr std::string_view kSpace = " \t\r\n";
  const size_t begin = std::min(text.find_first_not_of(kSpace), text.size());
  return text.substr(begin);
}

// As a document that all parsers read alike: no name twice, no NaN. Blank text is no line at all, which is
// not accepted either.
bool Accepts(std::string_view text) {
  if (Trimmed(text).empty()) return false;
  PathTree all;
  all.AskForAll();
  const PaddedLine line(text);
  Scanner scanner(all);
  return scanner.Scan(line.view()).empty() && scanner.not_numbers() == 0;
}

// The same where no name is asked for, and NaN and the infinities are nulls.
bool AcceptsLoosely(std::string_view text) {
  if (Trimmed(text).empty()) return false;
  const PathTree none;
  const PaddedLine line(text);
  return Scanner(none).Scan(line.view()).empty();
}

bool IsObject(std::string_view text) { return Trimmed(text).starts_with('{'); }

TEST(JsonSuite, HasDocumentsOfAllThreeKinds) {
  std::map<char, int> documents;
  for (const Document& document : Corpus()) {
    ASSERT_TRUE(document.name.size() > 7 && document.name[1] == '_' &&
                document.name.ends_with(".json"))
        << document.name;
    ++documents[document.name[0]];
  }
  EXPECT_GE(documents['y'], 100);
  EXPECT_GE(documents['n'], 200);
  EXPECT_EQ(documents['i'], static_cast<int>(std::size(kPinned)));
  EXPECT_EQ(documents.size(), 3u);
}

TEST(JsonSuite, AcceptsWhatIsValid) {
  for (const Document& document : Corpus()) {
    if (document.name[0] != 'y') continue;
    EXPECT_EQ(Accepts(document.text), IsObject(document.text)) << document.name;
    EXPECT_TRUE(Accepts(AsValue(document.text))) << document.name;
  }
}

TEST(JsonSuite, RejectsWhatIsNotValid) {
  for (const Document& document : Corpus()) {
    if (document.name[0] != 'n') continue;
    EXPECT_FALSE(Accepts(document.text)) << document.name;
    EXPECT_FALSE(Accepts(AsValue(document.text))) << document.name;
  }
}

TEST(JsonSuite, PinsWhatTheStandardLeavesOpen) {
  for (const Pinned& pinned : kPinned) {
    const auto document = std::ranges::find(Corpus(), pinned.file, &Document::name);
    ASSERT_NE(document, Corpus().end()) << pinned.file;
    EXPECT_EQ(Accepts(document->text), pinned.alone) << pinned.file << ": " << pinned.why;
    EXPECT_EQ(Accepts(AsValue(document->text)), pinned.as_value)
        << pinned.file << ": " << pinned.why;
  }
}

TEST(JsonSuite, ThePlainParserAgrees) {
  for (const Document& document : Corpus()) {
    const bool plain = ParsePlainJson(document.text).has_value();
    EXPECT_EQ(Accepts(document.text), plain && IsObject(document.text)) << document.name;
    const std::string as_value = AsValue(document.text);
    EXPECT_EQ(Accepts(as_value), ParsePlainJson(as_value).has_value()) << document.name;
    EXPECT_EQ(AcceptsLoosely(as_value), ParseLoosePlainJson(as_value).has_value()) << document.name;
  }
}

TEST(JsonSuite, OnlyNamesThatComeTwiceAndThreeWordsAreTakenBesidesValidDocuments) {
  for (const Document& document : Corpus()) {
    const std::string as_value = AsValue(document.text);
    if (AcceptsLoosely(as_value) == Accepts(as_value)) continue;
    EXPECT_TRUE(document.name.find("_twice") != std::string::npos ||
                document.name == "n_number_nan.json" || document.name == "n_number_infinity.json" ||
                document.name == "n_number_negative_infinity.json")
        << document.name << " " << document.text;
  }
}

// One line after the other through one scanner, which remembers names: no document changes the
// judgement of a later one.
TEST(JsonSuite, JudgesEveryDocumentAloneWhateverCameBefore) {
  PathTree all;
  all.AskForAll();
  Scanner scanner(all);
  for (int round = 0; round < 2; ++round) {
    for (const Document& document : Corpus()) {
      const std::string as_value = AsValue(document.text);
      const PaddedLine line(as_value);
      const bool valid = scanner.Scan(line.view()).empty() && scanner.not_numbers() == 0;
      EXPECT_EQ(valid, Accepts(as_value)) << document.name;
    }
  }
}

// Lines too long for a file in the tree.

TEST(JsonSuite, RejectsBracketsByTheHundredThousand) {
  const std::string brackets(100'000, '[');
  EXPECT_FALSE(Accepts(brackets));
  const PathTree none;
  const std::string as_value = AsValue(brackets + std::string(100'000, ']'));
  const PaddedLine line(as_value);
  EXPECT_EQ(Scanner(none).Scan(line.view()), invalid_line::kDepth);
}

TEST(JsonSuite, TakesALineOfOneMebibyteAndNoMore) {
  const std::string frame = AsValue("\"\"");
  for (const std::string_view unit : {"x", "\\n", "\\u00e9", "\xc3\xa9"}) {
    std::string inside;
    while (frame.size() + inside.size() + unit.size() <= kLineBytesMax) inside += unit;
    std::string line = AsValue("\"" + inside + "\"");
    line.resize(kLineBytesMax, ' ');
    EXPECT_TRUE(Accepts(line)) << unit;
    EXPECT_FALSE(Accepts(line + ' ')) << unit;
  }
}

// Two pages, of which only the first can be read; its end is the end of the padding.
TEST(JsonSuite, ReadsNothingBehindThePadding) {
  const auto page = static_cast<size_t>(sysconf(_SC_PAGESIZE));
  void* const pages =
      mmap(nullptr, 2 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  ASSERT_NE(pages, MAP_FAILED);
  ASSERT_EQ(mprotect(static_cast<char*>(pages) + page, page, PROT_NONE), 0);
  const PathTree none;
  Scanner scanner(none);
  for (const Document& document : Corpus()) {
    const std::string text = AsValue(document.text);
    if (text.size() + kLinePaddingBytes > page) continue;
    char* const begin = static_cast<char*>(pages) + page - kLinePaddingBytes - text.size();
    std::memcpy(begin, text.data(), text.size());
    EXPECT_EQ(scanner.Scan({begin, text.size()}).empty(), AcceptsLoosely(text)) << document.name;
  }
  munmap(pages, 2 * page);
}

}  // namespace
}  // namespace pleat
