// Tests that a document names, held against those that there are: a table of features with their tests is
// worth something only as long as the tests exist.
#pragma once

#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace pleat_structure {

// The `Suite.Name` of every TEST, TEST_F and TEST_P in a source.
std::set<std::string> TestsIn(std::string_view source);

// Every `Suite.Name` between backquotes in a row of a table of a Markdown document: two words of letters,
// digits and _, each of which begins with a capital.
std::vector<std::string> TestsNamedIn(std::string_view document);

// Every link of a Markdown document to a section of one beside it, as "file.md#section".
std::vector<std::string> SectionsLinkedIn(std::string_view document);

// What a link calls the sections of a Markdown document.
std::set<std::string> SectionsOf(std::string_view document);

}  // namespace pleat_structure
