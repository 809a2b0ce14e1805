// Which inputs of a note the FILEs of a run begin with, and which FILE gets which.
#include "tools/pleat/known_files.h"

#include <sys/stat.h>

#include <filesystem>
#include <memory>

#include <gmock/gmock.h>

#include "tests/cli/fixtures.h"
#include "tests/support/source_dir.h"
#include "tests/support/temporary_directory.h"
#include "tools/pleat/text_digest.h"

namespace pleat::cli {
namespace {

using testing::HasSubstr;

constexpr size_t kHead = RunNote::Input::kHeadBytes;

uint64_t DigestOf(std::string_view text) {
  TextDigest digest;
  digest.Add(text);
  return digest.value();
}

// That `text` was read of a file of this name. It had another inode than any file of a test.
RunNote::Input Read(const std::string& name, const std::string& text) {
  return {.name = name,
          .bytes = text.size(),
          .digest = DigestOf(text),
          .head = DigestOf(text.substr(0, kHead)),
          .read_whole = true};
}

class KnownFilesTest : public testing::Test {
 protected:
  // The device and inode of a file, and nothing that proves it unchanged.
  static FileStamp PlaceOf(const std::string& path) {
    struct stat info{};
    EXPECT_EQ(stat(path.c_str(), &info), 0);
    return {.device = info.st_dev, .inode = info.st_ino};
  }

  absl::StatusOr<std::vector<KnownFile>> Try(const std::vector<std::string>& paths) {
    return KnownFiles(inputs_, "j")
        .Find(paths, [this](const std::string& path, UnfinishedEnd /*end*/) {
          looked_at_.push_back(path);
          return LineReader(std::make_unique<TextSource>(Content(path), 1000));
        });
  }
  std::vector<KnownFile> Find(const std::vector<std::string>& paths) {
    const auto files = Try(paths);
    EXPECT_TRUE(files.ok()) << files.status();
    return files.ok() ? *files : std::vector<KnownFile>(paths.size());
  }

  TemporaryDirectory dir_;
  std::vector<RunNote::Input> inputs_;
  std::vector<std::string> looked_at_;
};

TEST_F(KnownFilesTest, AFileIsTheOneThatItBeginsWith) {
  const std::string text(2 * kHead, 'x');
  inputs_ = {Read("/a", "a\n"), Read("/x", text), Read("/b", "b\n")};
  const auto files = Find({dir_.Write("1", text + "\n"), dir_.Write("2", text.substr(0, kHead)),
                           dir_.Write("3", "b\n"), dir_.Write("4", "")});
  EXPECT_EQ(files[0].input, 1u);
  EXPECT_FALSE(files[0].nothing_new);
  EXPECT_TRUE(files[0].is_renamed);
  EXPECT_FALSE(files[1].input);
  EXPECT_EQ(files[2].input, 2u);
  EXPECT_TRUE(files[2].nothing_new);
  EXPECT_FALSE(files[3].input);
}

TEST_F(KnownFilesTest, TheLongerBeginningCounts) {
  inputs_ = {Read("/a", "1\n"), Read("/b", "1\n2\n"), Read("/c", "1\n2\n3\n")};
  EXPECT_EQ(Find({dir_.Write("f", "1\n2\n4\n")})[0].input, 1u);
}

TEST_F(KnownFilesTest, WhatWasReadIsOfOneFile) {
  const std::string f = dir_.Write("f", "1\n");
  const std::string g = dir_.Write("g", "1\n2\n");
  inputs_ = {Read("/a", "1\n")};
  const std::string h = dir_.Write("h", "1\n3\n");
  const auto files = Find({f, g, h});
  EXPECT_FALSE(files[0].input);
  EXPECT_EQ(files[1].input, 0u) << "it goes on";
  EXPECT_FALSE(files[2].input);
}

TEST_F(KnownFilesTest, DeviceAndInodeCountBeforeTheNameAndThatBeforeTheContent) {
  const std::string f = dir_.Write("f", "1\n2\n");
  const std::string g = dir_.Write("g", "1\n2\n");
  const std::string h = dir_.Write("h", "1\n2\n");
  inputs_ = {Read("/gone", "1\n2\n"), Read(f, "1\n"), Read(f, "1\n2\n")};
  inputs_[2].stamp = PlaceOf(g);
  const auto files = Find({h, g, f});
  EXPECT_EQ(files[1].input, 2u);
  EXPECT_EQ(files[2].input, 1u);
  EXPECT_EQ(files[0].input, 0u);
}

// The file that a rename replaces leaves its inode to the next one that is made.
TEST_F(KnownFilesTest, AFileWithTheInodeOfOneThatIsGoneIsAnother) {
  const FileStamp gone{.device = 1, .inode = 2, .born_ns = 3};
  EXPECT_FALSE(gone.IsSameFile({.device = 1, .inode = 2, .born_ns = 4}));
  EXPECT_TRUE(gone.IsSameFile({.device = 1, .inode = 2, .born_ns = 3}));
  EXPECT_TRUE(gone.IsSameFile({.device = 1, .inode = 2})) << "where births are not known";
}

// What a later run makes of that end is not known: the copy is not done with.
TEST_F(KnownFilesTest, ACopyWithARecordThatHasNoEndHasARest) {
  class Records : public TextSource {
   public:
    using TextSource::TextSource;
    bool unfinished() const override { return true; }
  };
  inputs_ = {Read("/a", "1\n2\n")};
  const std::vector<std::string> paths = {dir_.Write("original", "1\n2\n3\n"),
                                          dir_.Write("copy", "1\n")};
  for (const bool has_rest : {false, true}) {
    const auto files =
        KnownFiles(inputs_, "j").Find(paths, [&](const std::string& path, UnfinishedEnd end) {
          const std::string text = Content(path);
          return has_rest ? LineReader(std::make_unique<Records>(text, 1000), end)
                          : LineReader(std::make_unique<TextSource>(text, 1000), end);
        });
    ASSERT_TRUE(files.ok());
    EXPECT_EQ((*files)[1].copy_of, paths[0]);
    EXPECT_EQ((*files)[1].content->has_rest, has_rest);
  }
}

TEST_F(KnownFilesTest, NothingIsReadOfAFileThatHasNotChanged) {
  const std::string f = SourceDir() + "/LICENSE";  // for longer than a second
  inputs_ = {Read("/a", "1\n")};
  inputs_[0].stamp = *Find({f})[0].stamp;
  looked_at_.clear();
  EXPECT_TRUE(Find({f})[0].nothing_new);
  EXPECT_TRUE(looked_at_.empty());
  inputs_[0].stamp.changed_ns = 0;  // the file might have changed again in that instant
  EXPECT_FALSE(Find({f})[0].input);
  EXPECT_EQ(looked_at_.size(), 1u);
}

TEST_F(KnownFilesTest, AnEditBehindTheHeadIsAnErrorUnlessTheContentIsFoundElsewhere) {
  const std::string head(kHead, 'x');
  const std::string f = dir_.Write("f", head + "2\n");
  inputs_ = {Read(f, head + "1\n")};
  EXPECT_THAT(Try({f}).status().message(), HasSubstr("f: has changed since"));
  dir_.Write("f", head);
  EXPECT_THAT(Try({f}).status().message(), HasSubstr("f: has become shorter since"));
  const std::string g = dir_.Write("g", head + "1\n");
  EXPECT_EQ(Find({f, g})[0].copy_of, g);
  dir_.Write("f", head + "2\n");
  const auto files = Find({f, g});
  EXPECT_TRUE(files[0].is_successor);
  EXPECT_EQ(files[1].input, 0u);
}

TEST_F(KnownFilesTest, ALastLineThatHadNoEndHasToStayAsItWas) {
  const std::string f = dir_.Write("f", "1\n2");
  inputs_ = {Read(f, "1\n")};
  inputs_[0].last_bytes = 1;
  inputs_[0].last_digest = DigestOf("1\n2");
  EXPECT_TRUE(Find({f})[0].nothing_new);
  for (const char* const text : {"1\n2\n", "1\n2\r\n"}) {
    EXPECT_TRUE(Find({dir_.Write("f", text)})[0].nothing_new) << "only its end has come";
  }
  for (const char* const text : {"1\n2\n\n", "1\n2 \n", "1\n", "1\n3"}) {
    dir_.Write("f", text);
    EXPECT_THAT(Try({f}).status().message(), HasSubstr("f: the last line, which had no end"));
  }
}

// --- Copies

TEST_F(KnownFilesTest, AFileThatAnotherOneBeginsWithIsACopyIfSomethingWasReadOfThat) {
  const std::string text = std::string(2 * kHead, 'x') + "\n";
  const std::string f = dir_.Write("f", text + "more\n");
  inputs_ = {Read(f, text)};
  const std::vector<std::string> copies = {text + "more\n",
                                           text,
                                           text + "mo",
                                           text.substr(0, kHead),
                                           text.substr(0, 3 * kHead / 2),
                                           "x"};
  for (const std::string& copy : copies) {
    const std::string g = dir_.Write("g", copy);
    for (const auto& paths : {std::vector{f, g}, std::vector{g, f}}) {
      const auto files = Find(paths);
      const size_t of_f = files[0].path == f ? 0 : 1;
      EXPECT_EQ(files[of_f].input, 0u);
      EXPECT_EQ(files[of_f].copy_of, "");
      EXPECT_EQ(files[1 - of_f].copy_of, f) << copy.size();
      EXPECT_FALSE(files[1 - of_f].input);
    }
  }
  for (const std::string& other : {text + "less\n", text + "more\n\n", text.substr(0, kHead) + "y",
                                   std::string("xy"), std::string()}) {
    EXPECT_EQ(Find({f, dir_.Write("g", other)})[1].copy_of, "") << other.size();
  }
  inputs_ = {Read("/gone", "y\n")};
  EXPECT_EQ(Find({f, dir_.Write("g", text)})[1].copy_of, "") << "nothing was read of f";
}

TEST_F(KnownFilesTest, ACopyWithoutItsOriginalIsThatFile) {
  const std::string g = dir_.Write("g", "1\n2\n3\n");
  inputs_ = {Read(dir_ / "f", "1\n2\n")};
  const auto files = Find({g, dir_.Write("f", "4\n")});
  EXPECT_EQ(files[0].input, 0u);
  EXPECT_EQ(files[0].copy_of, "");
  EXPECT_TRUE(files[1].is_successor);
}

TEST_F(KnownFilesTest, ManyCopiesAreOfTheirOriginals) {
  const std::string f = dir_.Write("f", "1\n2\n3\n");
  const std::string g = dir_.Write("g", "1\n2\n4\n");
  inputs_ = {Read(f, "1\n2\n3\n"), Read(g, "1\n2\n4\n")};
  const auto files = Find({dir_.Write("f1", "1\n2\n3\n"), dir_.Write("g1", "1\n2\n4\n"), f, g,
                           dir_.Write("x", "1\n2\n"), dir_.Write("y", "1\n2\n5\n")});
  EXPECT_EQ(files[0].copy_of, f);
  EXPECT_EQ(files[1].copy_of, g);
  EXPECT_THAT(files[4].copy_of, testing::AnyOf(f, g));
  EXPECT_EQ(files[5].copy_of, "");
}

TEST_F(KnownFilesTest, ACopyOfWhatIsGoneIsAlikeUpToItsLastMarkAndEndsBeforeTheNext) {
  inputs_ = {Read("/gone", "1\n2\n3\n4\n5\n"), Read("/other", "1\n3\n5\n")};
  const auto mark = [](const std::string& text) { return LineEnd{text.size(), DigestOf(text)}; };
  inputs_[0].line_ends = {mark("1\n"), mark("1\n2\n"), mark("1\n2\n3\n4\n")};
  inputs_[1].line_ends = {mark("1\n"), mark("1\n3\n"), mark("1\n3\n5\n")};
  for (const std::string text : {"1\n2\n", "1\n2\n3\n", "1\n2\n4", "1\n2\n3\n4\n5"}) {
    EXPECT_EQ(Find({dir_.Write("f", text)})[0].copy_of, "/gone") << text;
  }
  for (const std::string text : {"", "1", "2\n", "1\n4\n5\n", "1\n2\n4\n4\n", "1\n2\n3\n4\n6\n"}) {
    EXPECT_EQ(Find({dir_.Write("f", text)})[0].copy_of, "") << text;
  }
  EXPECT_EQ(Find({dir_.Write("f", "1\n3\n")})[0].copy_of, "/other");
  inputs_[0].stamp = PlaceOf(dir_.Write("f", "1\n2\n"));
  EXPECT_EQ(Find({dir_ / "f"})[0].copy_of, "") << "cut, and the file itself";
}

// ---

// Read to the end that it had in its middle, and then another file has its name.
TEST_F(KnownFilesTest, AFileThatIsReplacedWhileItIsLookedAtIsAnError) {
  const std::string f = dir_.Write("f", "1\n2\n");
  inputs_ = {Read("/gone", "1\n")};
  const std::vector<std::string> paths = {f};
  const auto found =
      KnownFiles(inputs_, "j").Find(paths, [&](const std::string& path, UnfinishedEnd /*end*/) {
        std::filesystem::rename(dir_.Write("g", "1\n"), f);
        return LineReader(std::make_unique<TextSource>(Content(path)));
      });
  EXPECT_THAT(found.status().message(), HasSubstr("f: was replaced while it was looked at"));
}

TEST_F(KnownFilesTest, ALineWithoutAnEndThatWasAllIsFoundUnderAnyName) {
  inputs_ = {Read("/gone", "")};
  inputs_[0].last_bytes = 1;
  inputs_[0].last_digest = DigestOf("1");
  EXPECT_EQ(Find({dir_.Write("f", "1")})[0].input, 0u);
  EXPECT_EQ(Find({dir_.Write("f", "1\n")})[0].input, 0u);
  EXPECT_THAT(Try({dir_.Write("f", "1\n2\n")}).status().message(),
              HasSubstr("f: the last line, which had no end"));
  EXPECT_FALSE(Find({dir_.Write("f", "12\n")})[0].input) << "another line";
  // As converted records have it: each with its newline.
  inputs_[0].last_bytes = 2;
  inputs_[0].last_digest = DigestOf("1\n");
  EXPECT_THAT(Try({dir_.Write("f", "1\n2\n")}).status().message(), HasSubstr("f: the last line"));
}

TEST(RunNote, OtherFormatsAreRefused) {
  RunNote note;
  note.inputs = {Read("/a", "1\n")};
  std::string text = note.Text();
  EXPECT_EQ(RunNote::Parse(text)->inputs[0].name, "/a");
  const char format = text[0];
  text[0] = static_cast<char>(format - 1);
  EXPECT_THAT(RunNote::Parse(text).status().message(), HasSubstr("an older version of pleat"));
  text[0] = static_cast<char>(format + 1);
  EXPECT_THAT(RunNote::Parse(text).status().message(), HasSubstr("a newer version of pleat"));
}

}  // namespace
}  // namespace pleat::cli
