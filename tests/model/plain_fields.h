// The members of an event that every command reads, for the models: those that name its key, and its time.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include <pleat/time.h>

#include "tests/model/plain_path.h"
#include "tests/support/plain_json.h"

namespace pleat::inline v0_1 {

struct PlainField {
  std::string name;  // in the output
  PlainPath path;
};

bool IsPlainScalar(const PlainJson& value);

// The text of a value; equal for values that differ in the spelling of their numbers.
std::string WritePlainValue(const PlainJson& value);

// Whether a name that comes twice matters: one that a path goes through, or one within the value at a path;
// with `whole` any.
bool NameTwiceSpoils(const PlainJson& event, const std::vector<PlainPath>& paths, bool whole);

// The members of the output that these are: "a":1,"b":"x". With `by_value` equal text is equal type and
// value. Nothing if one is absent or no scalar.
std::optional<std::string> ReadPlainFields(const PlainJson& event,
                                           const std::vector<PlainField>& fields,
                                           bool by_value = false);

// An instant, in UTC if it states no zone, or a number in `unit`, also in quotes. Nothing if there is none;
// `no_unit` says whether only the unit is missing.
std::optional<EngineTime> ReadPlainTime(const PlainJson& event, const PlainPath& path,
                                        const std::string& unit, bool& no_unit);

// Members of an object, each with a comma before it but perhaps the first one, as the object.
std::string PlainObject(const std::string& members);

// NAME=PATH and PATH with commas between them; empty: none. Quotes are not known here. The text must be
// right.
void AddPlainFields(std::string text, std::vector<PlainField>& fields);

// Takes all before the first `separator` off `text`; nothing if there is none.
std::string TakeUntil(char separator, std::string& text);

// A number of bytes, such as 64Ki. The text must be right.
size_t ReadPlainBytes(const std::string& text);

}  // namespace pleat::inline v0_1
