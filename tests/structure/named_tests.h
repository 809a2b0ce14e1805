// Tests, files and sections that a document names, to be compared with those that exist: a table of
// features with their tests is worth something only as long as the tests exist.
#pragma once

#include <cstddef>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace pleat_structure {

// The `Suite.Name` of every TEST, TEST_F and TEST_P in a source.
std::set<std::string> TestsIn(std::string_view source);

// The names of the stories in a file of tests/stories.
std::set<std::string> StoriesIn(std::string_view text);

// Every `Suite.Name` between backquotes in a row of a table of a Markdown document: two words of
// letters, digits and _, each of which begins with a capital.
std::vector<std::string> TestsNamedIn(std::string_view document);

// Every file or folder of the tree between backquotes in a Markdown document, such as
// "engine/base/lock.h". Names with a wildcard or a placeholder are left out.
std::vector<std::string> PathsNamedIn(std::string_view document);

// Every link of a Markdown document to a section, as "folder/file.md#section", or as "#section" for
// a section of its own.
std::vector<std::string> SectionsLinkedIn(std::string_view document);

// Every file or folder that a Markdown document links to, as the link names it.
std::vector<std::string> FilesLinkedIn(std::string_view document);

// The names by which links refer to the sections of a Markdown document: of all sections, or of
// those whose heading has `level` marks, such as 2 for "## Limits".
std::set<std::string> SectionsOf(std::string_view document, size_t level = 0);

}  // namespace pleat_structure
