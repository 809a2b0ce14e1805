// What a path is likely meant to be; pleat/json_lines.h has the hints for users.
#pragma once

#include <string>
#include <string_view>

#include <pleat/json_lines.h>

#include "engine/lines/scan/path.h"

namespace pleat::inline v0_1 {

// The steps of a text that may be written for jq or as JSONPath: .a, $.a, a[0].b, $['a'], or with
// slashes. There are none if nothing is named.
Path StepsMeant(std::string_view text);

// The text that ParsePath() reads as `path`: with dots, or if they would not do, as a JSON Pointer.
std::string FormatPath(const Path& path);

}  // namespace pleat::inline v0_1
