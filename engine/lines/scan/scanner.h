// The one gate for text: checks a whole line and picks out the values that a spec asks for.
//
// Two things that RFC 8259 leaves to its readers, or does not have, are taken as many write them. A name
// that comes twice in an object spoils a line only where it matters: if some path leads to it, if it is
// within a value that a path leads to, or if the whole line is asked for. NaN, Infinity and
// -Infinity are nulls, which are counted.
//
// One walk over the tokens checks everything that json_lines.h promises. Six things make it cheap:
//   - the walk first checks that the last token is a '}'. Only the end of an object can consume that
//     token, so the walk checks for the end of the line nowhere else;
//   - a line without a backslash, which is nearly every line, has no escapes to look at and no name
//     or string to rewrite; one search over the line decides;
//   - a string ends at the last byte before the next token that is not white space, because whatever
//     follows a string is a token. The walk looks at the first and the last byte of a string only: the
//     tokenizer has checked those between (tokens.h says what the walk relies on);
//   - the lines of a log repeat their names in the same order, and a name in a known place needs no
//     further check (name_tree.h);
//   - other repeated names are found by 32-bit fingerprints, looked up one by one in small objects and
//     sorted in large ones, so that an object of n members costs O(n log n) whoever chose the names;
//   - many lines are tokenized at once. A text in which a string contains a newline has no tokens, so
//     each line has the same tokens as by itself.
// A scanner allocates nothing in the steady state.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "engine/lines/scan/name_tree.h"
#include "engine/lines/scan/path.h"
#include "engine/lines/scan/tokens.h"
#include "engine/lines/scan/value.h"

namespace pleat::inline v0_1 {

class Scanner {
 public:
  // Borrows `paths`.
  explicit Scanner(const PathTree& paths, std::unique_ptr<Tokenizer> tokenizer = MakeTokenizer());

  // Checks `line`; returns why it is invalid, or nothing. REQUIRES: not blank, and kLinePaddingBytes
  // readable bytes behind it.
  std::string_view Scan(std::string_view line);

  // The same for the lines of `text`, which are handed to ScanNext() one after the other. Returns
  // false if they have to be scanned one by one. REQUIRES: as Scan().
  bool Index(std::string_view text);

  // Checks the next line of that text. Returns false if it is blank; else `wrong` is as of Scan().
  bool ScanNext(std::string_view line, std::string_view& wrong);

  // After a good line: the value of a path, until the next line.
  const Value& value(int slot) const noexcept { return values_[static_cast<size_t>(slot)]; }

  // After a good line: whether a number in it may be in another form than the normal one (normal.h), and
  // how many of its values are NaN or an infinity.
  bool may_have_odd_numbers() const noexcept { return line_.odd_numbers; }
  uint32_t not_numbers() const noexcept { return line_.not_numbers; }

  // After a good line: writes where the values of all paths are in it, a word for each. With them the
  // line need not be scanned again.
  void WritePlaces(std::string_view line, uint32_t* places) const noexcept;

  // Scans `line` by its places, as they were written for the same bytes.
  void ScanPlaces(std::string_view line, std::span<const uint32_t> places) noexcept;

 private:
  struct Name {
    const char* data;
    uint32_t size;
    uint32_t fingerprint;
    uint32_t place;  // of the token, or 0 of a name from the tree

    std::string_view text() const noexcept { return {data, size}; }
  };

  // What is noted of one line.
  struct LineNotes {
    bool backslashes = false;  // somewhere in the line
    bool odd_numbers = false;  // some number is no short integer
    bool twice = false;        // twice_ is of this line
    uint32_t not_numbers = 0;
  };

  struct OpenObject {
    int node;           // of the path tree, or kNone
    size_t first_name;  // in names_
    size_t members;     // so far, those that come twice included
    uint64_t seen;      // a bit for each fingerprint; tells most new names from all earlier ones
  };

  // A place among the tokens. Each Scan function takes the first token of a value and returns the
  // token behind the value. If the value is invalid, it notes the reason and returns null.
  using Token = const uint32_t*;

  std::string_view Check(std::string_view line, Token first);
  std::string_view CheckTwice();
  void Prepare(std::string_view line, bool backslashes);
  bool HasBackslash(std::string_view line) noexcept;
  Token EndOfLine(Token first, uint32_t end) const noexcept;
  Token Fail(std::string_view reason) noexcept;
  Token FailTwice(std::string_view name);
  bool MayComeTwice(int node, const Name& name);

  char CharAt(Token token) const noexcept { return text_[*token]; }
  std::string_view TextOf(Token token) const noexcept;

  Token ScanObject(Token token, NameTree::Id begin, int depth);
  Token ScanNewNames(Token token, NameTree::Id last, int depth);
  Token ScanArray(Token token, int depth);
  Token ScanElements(Token token, int node, int depth);
  Token ScanValue(Token token, NameTree::Id name, int depth);
  Token ScanContainer(Token token, NameTree::Id name, int depth);
  bool NextName(Token token, NameTree::Id& name);
  bool CheckString(std::string_view token, bool& plain);
  bool ReadName(Token token, std::string_view& name);

  void AddNamesBefore(NameTree::Id last);
  void ReserveNames(size_t more);
  bool AddName(const Name& name, OpenObject& object);
  bool CheckManyNames(const OpenObject& object);
  bool ScanNotNumber(std::string_view text);

  const PathTree& paths_;
  NameTree known_;
  const std::unique_ptr<Tokenizer> tokenizer_;
  std::vector<Value> values_;

  const char* text_ = nullptr;
  Token last_ = nullptr;  // behind the line's last token
  LineNotes line_;

  // Of the text given to Index().
  Token next_ = nullptr;                  // the first token of the lines still to come
  Token end_ = nullptr;                   // behind the last one of all
  size_t tokens_a_line_ = 1;              // in the line before, and so likely in the next
  const char* next_backslash_ = nullptr;  // or the end of the text
  const char* text_end_ = nullptr;

  // The names, other than known ones, of all objects that are open, outermost first. The vectors
  // only grow.
  std::vector<Name> names_;
  std::vector<uint32_t> fingerprints_;  // of names_, side by side for fast comparison
  size_t names_used_ = 0;
  std::vector<Name> twice_;      // names that came twice where no path leads
  std::vector<char> unescaped_;  // names that had escapes
  size_t unescaped_used_ = 0;

  std::string_view reason_;
  std::string reason_text_;
};

}  // namespace pleat::inline v0_1
