// The one gate for text: checks a whole line and picks out the values that a spec asks for.
//
// One walk over the tokens checks everything promised in json.h. What makes it cheap:
//   - a line without a backslash, which is nearly every line, has no escapes to look at and no name
//     or string to rewrite; one search over the line decides;
//   - a string ends at the last byte before the next token that is not white space, because the
//     tokenizer marks whatever follows a string as a token; so its bytes are not looked at again;
//   - repeated names are found by 32-bit fingerprints, compared all to all in small objects and
//     sorted in large ones, so that an object of n members costs O(n log n) whoever chose the names.
// In the steady state it allocates nothing.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "engine/json/path.h"
#include "engine/json/tokens.h"
#include "engine/json/value.h"

namespace pleat::inline v0 {

class Scanner {
 public:
  // Borrows `paths`.
  explicit Scanner(const PathTree& paths);

  // Checks `line`; returns why it is bad, or nothing. REQUIRES: not blank, and kLinePaddingBytes
  // readable bytes behind it.
  std::string_view Scan(std::string_view line);

  // After a good line: the value of a path, until the next Scan().
  const Value& value(int slot) const noexcept { return values_[static_cast<size_t>(slot)]; }

 private:
  struct Name {
    const char* data;
    uint32_t size;
    uint32_t fingerprint;

    std::string_view text() const noexcept { return {data, size}; }
  };

  bool Fail(std::string_view reason) noexcept;
  bool FailTwice(std::string_view name);

  bool more() const noexcept { return token_ != last_; }
  const char* here() const noexcept { return text_ + *token_; }
  bool At(char c) const noexcept { return more() && *here() == c; }
  bool Take(char c) noexcept;
  std::string_view TakeToken() noexcept;

  bool ScanObject(int node, int depth);
  bool ScanArray(int depth);
  bool ScanMember(int node, int depth, size_t first_name);
  bool ScanValue(int node, int depth);
  bool ScanContainer(int node, int depth, Value& value);
  bool ScanString(std::string_view& inside, bool& plain);
  bool ScanName(std::string_view& name);

  bool AddName(std::string_view name, size_t first_name);
  bool NoNameTwice(size_t first_name);

  const PathTree& paths_;
  Tokenizer tokenizer_;
  std::vector<Value> values_;

  const char* text_ = nullptr;
  const uint32_t* token_ = nullptr;  // the next token
  const uint32_t* last_ = nullptr;   // behind the last token: the line's size
  bool backslashes_ = false;         // somewhere in the line

  // The names of all objects that are open, outermost first.
  std::vector<Name> names_;
  std::vector<uint32_t> fingerprints_;  // of names_, side by side for fast comparison
  std::vector<char> unescaped_;         // names that had escapes
  size_t unescaped_used_ = 0;

  std::string_view reason_;
  std::string reason_text_;
};

}  // namespace pleat::inline v0
