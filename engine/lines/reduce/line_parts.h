// Parts of lines that the printers of live sets and of rollups have in common.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <pleat/json_lines.h>
#include <pleat/time.h>

#include "engine/lines/reduce/line_writer.h"
#include "engine/lines/time/timestamp.h"

namespace pleat::inline v0_1 {

// The names of output members, each in quotes and with its colon, for AppendScalars().
std::vector<std::string> LabelsOf(std::span<const KeyField> fields);

// Each appends a value behind its label.
void PutNumber(std::string_view label, uint64_t number, LineWriter& out);
// null outside of the years 0001 to 9999, as kNever is.
void PutTime(std::string_view label, EngineTime at, TimestampWriter& times, LineWriter& out);

}  // namespace pleat::inline v0_1
