// A command line as one text, which a test writes and a reader knows from the shell.
#pragma once

#include <wordexp.h>

#include <string>
#include <vector>

#include <gtest/gtest.h>

namespace pleat::inline v0_1 {

using Words = std::vector<std::string>;

// The words of a command line, as a shell reads them.
inline Words WordsOf(const std::string& text) {
  wordexp_t words;
  if (wordexp(text.c_str(), &words, WRDE_NOCMD | WRDE_UNDEF) != 0) {
    ADD_FAILURE() << "not the words of a shell: " << text;
    return {};
  }
  Words out(words.we_wordv, words.we_wordv + words.we_wordc);
  wordfree(&words);
  return out;
}

}  // namespace pleat::inline v0_1
