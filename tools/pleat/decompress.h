// Recognises gzip and zstd by their first bytes, never by a file's name, and decompresses them.
//
// Several gzip members or zstd frames in a row are one input, as `cat a.gz b.gz` makes them. Data
// that stops inside a member or frame is an error, not an end: missing lines would go unnoticed
// otherwise. Data that stops inside the magic number is an error too, unless it could be text. Zero
// bytes after a gzip member are padding (tape blocks); any other bytes there are an error.
#pragma once

#include <memory>
#include <string>

#include <absl/status/statusor.h>

#include "tools/pleat/byte_source.h"

namespace pleat::cli {

// Reads the first bytes of `raw`, only as many as it takes to tell, and returns a source of the
// plain bytes. `name` is for messages.
absl::StatusOr<std::unique_ptr<ByteSource>> Decompressed(std::unique_ptr<ByteSource> raw,
                                                         std::string name);

}  // namespace pleat::cli
