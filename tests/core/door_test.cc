// There is one door to a book: whatever changes one asks for an Instant, and only
// Partition::Do() makes one.
#include <algorithm>
#include <cctype>
#include <filesystem>
#include <fstream>
#include <regex>
#include <sstream>
#include <string>
#include <type_traits>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "engine/base/instant.h"

namespace pleat {
namespace {

static_assert(!std::is_default_constructible_v<Instant>);
static_assert(!std::is_aggregate_v<Instant>);
static_assert(!std::is_constructible_v<Instant, EngineTime, LeaseTime, uint64_t>);
static_assert(!std::is_copy_assignable_v<Instant>);

std::string Read(const std::string& path) {
  std::ifstream file(path);
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

// The member functions that a class declares before `private:`, without their bodies, comments and
// line breaks, as far as they are not const, static or the class's own.
std::vector<std::string> ChangesOf(const std::string& path, const std::string& name) {
  std::string text = std::regex_replace(Read(path), std::regex("//[^\n]*"), "");
  const size_t begin = text.find("class " + name + " ");
  EXPECT_NE(begin, std::string::npos) << path;
  text = text.substr(begin, text.find("\n private:", begin) - begin);
  text = text.substr(text.find("public:"));
  text = std::regex_replace(text, std::regex("\\s+"), " ");
  for (std::string before; before != text;) {
    before = text;
    text = std::regex_replace(text, std::regex("\\{[^{}]*\\}"), ";");
  }
  std::vector<std::string> changes;
  const std::regex function(
      "(static [^;{}()]*)?\\b([A-Za-z_]+)\\(([^()]*(?:\\([^()]*\\)[^()]*)*)\\)( const)?( noexcept)?"
      "( override| final)?(?: = 0)? ?[;{]");
  for (std::sregex_iterator it(text.begin(), text.end(), function), end; it != end; ++it) {
    const std::smatch& found = *it;
    const std::string function_name = found[2];
    if (found[1].matched || found[4].matched) continue;
    if (function_name == name || !std::isupper(function_name[0])) continue;
    changes.push_back(function_name + "(" + found[3].str() + ")");
  }
  return changes;
}

struct Place {
  const char* header;
  const char* name;
  std::vector<std::string> exempt;  // change nothing that an operation could see
};

// Saving changes nothing that an operation could see, and is no operation.
bool Saves(const std::string& change) {
  return change.starts_with("BeginSave(") || change.starts_with("SaveNext(") ||
         change.starts_with("EndSave(") || change.starts_with("Save(");
}

TEST(TheOneDoor, WhateverChangesABookAsksForAnInstant) {
  const Place places[] = {{"engine/base/book.h", "Book", {}},
                          {"engine/outbox/outbox.h", "Outbox", {}},
                          {"engine/fold/fold_book.h",
                           "FoldBook",
                           {"AddTo(GapStats& stats)", "Reserve(size_t groups, size_t key_bytes)"}},
                          {"engine/rollup/rollup_book.h", "RollupBook", {}},
                          {"engine/live/live_set_book.h", "LiveSetBook", {}},
                          {"engine/live/presence_book.h", "PresenceBook", {}}};
  for (const Place& place : places) {
    const std::vector<std::string> changes = ChangesOf(place.header, place.name);
    EXPECT_GE(changes.size(), 2u) << "is " << place.header << " read at all?";
    for (const std::string& change : changes) {
      if (std::ranges::count(place.exempt, change) > 0 || Saves(change)) continue;
      EXPECT_THAT(change, testing::HasSubstr("const Instant&")) << place.header;
    }
  }
}

TEST(TheOneDoor, OnlyAPartitionMakesInstants) {
  const std::string instant = Read("engine/base/instant.h");
  const std::regex friends("friend [^;]*;");
  std::sregex_iterator first(instant.begin(), instant.end(), friends);
  ASSERT_NE(first, std::sregex_iterator());
  EXPECT_EQ(first->str(), "friend class Partition;");
  EXPECT_EQ(++first, std::sregex_iterator());
}

// Time and positions come in with the Instant alone.
TEST(TheOneDoor, BooksSeeNoClockAndNoCounter) {
  for (const char* folder : {"engine/fold", "engine/outbox", "engine/rollup"}) {
    for (const auto& entry : std::filesystem::directory_iterator(folder)) {
      EXPECT_THAT(Read(entry.path()), testing::Not(testing::HasSubstr("timeline"))) << entry.path();
    }
  }
}

}  // namespace
}  // namespace pleat
