// A JSON parser for tests, as plain as we could make it: one recursive function per rule of the
// grammar, every value a tree of copies, no speed. It shares nothing with engine/lines, so that the
// two can be held against each other: what one takes, the other must take, with the same meaning.
//
// It is strict: RFC 8259 to the last byte, valid UTF-8 (no surrogates, nothing overlong), no byte
// order mark, no lone surrogate escapes, no member name twice in one object (compared after
// unescaping), at most 64 levels of arrays and objects, at most 1,024 members an object. Numbers
// stay as they were written.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace pleat::inline v0_1 {

struct PlainJson {
  enum class Kind { kNull, kBool, kNumber, kString, kArray, kObject };

  Kind kind = Kind::kNull;
  std::string text;                 // "true" or "false"; a number's spelling; a string, unescaped
  std::vector<std::string> names;   // of an object's members, in order, unescaped
  std::vector<PlainJson> elements;  // of an array; of an object, the values that belong to `names`

  // The value of the member `name`; null if there is none or this is not an object.
  const PlainJson* Member(std::string_view name) const;
};

// The one value that `text` consists of, white space around it allowed; nothing if it is not valid.
std::optional<PlainJson> ParsePlainJson(std::string_view text);

// The same for text as others write it: names may come twice in an object, and NaN, Infinity and -Infinity
// are null.
std::optional<PlainJson> ParseLoosePlainJson(std::string_view text);

// Whether a name comes twice in one of the objects of a value.
bool HasNameTwice(const PlainJson& value);

// `value` as text without spaces: numbers as they were written; in strings only ", \ and control
// characters escaped.
std::string WritePlainJson(const PlainJson& value);

// `text` as a JSON string, quotes included.
std::string QuotePlainJson(std::string_view text);

}  // namespace pleat::inline v0_1
