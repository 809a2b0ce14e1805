// The options of all kinds of collections: which of them may differ in a collection that takes over
// a snapshot, which may change while it runs, and how their values read. docs/durability.md has the
// same table, with the effect of each change.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace pleat::inline v0_1 {

// When an option may be another one than before.
enum class MayChange : uint8_t {
  kFixed,      // stored things have their meaning, or their layout, from it
  kAtRestart,  // when a new process takes over a snapshot
  kAnyTime,    // then, and by SetOptions()
};

struct OptionRow {
  std::string_view kind;    // of collections, as Description::kind
  std::string_view option;  // as the message of an error names it
  MayChange may_change;     // but for what SetOptions() of the kind excludes by other options
  // Of an enum: the names of its values in their order, with a space behind each.
  std::string_view values = {};
  // The value of a collection whose description does not name the option, if that is a default.
  std::string_view absent = {};
};

std::span<const OptionRow> OptionTable();

// Null: it is none of the kind's own, such as the paths of a JSON folder.
const OptionRow* FindOption(std::string_view kind, std::string_view option);

// A value of a description as a program writes it: the name of an enum's value for its number, and
// anything else as it is.
std::string ValueInWords(std::string_view kind, std::string_view option, std::string_view value);

}  // namespace pleat::inline v0_1
