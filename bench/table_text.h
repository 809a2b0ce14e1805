// A table of ten columns, as a web server's export has them, and its rows as lines of JSON.
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>

#include "tools/pleat/byte_source.h"

namespace pleat::bench {

// CSV with a header. `quote`: nothing, or a quotation mark about each field.
std::string TableText(size_t rows, std::string_view quote);

// Gives out a text that outlives the source.
std::unique_ptr<cli::ByteSource> SourceOf(std::string_view text);

// The lines of JSON that CSV becomes.
std::unique_ptr<cli::ByteSource> LinesOfTable(std::string_view table);

// Cuts `to` to all that the source has. REQUIRES: `to` is longer.
void ReadAll(cli::ByteSource& source, std::string& to);

}  // namespace pleat::bench
