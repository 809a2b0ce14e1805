// The formats that inputs may have, and how the others become lines of JSON.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "tools/pleat/byte_source.h"
#include "tools/pleat/records/line_map.h"
#include "tools/pleat/records/table_options.h"

namespace pleat::cli {

enum class InputFormat : uint8_t {
  kNdjson,
  kCsv,
  kTsv,
  kLogfmt,
  kJson,
  kAccess,
  kZeek,
  kW3c,
  kSse
};

// Their names, in that order.
inline constexpr std::array<std::string_view, 9> kInputFormats = {
    "ndjson", "csv", "tsv", "logfmt", "json", "access", "zeek", "w3c", "sse"};

// Gives out the lines of JSON that the records of `bytes` become, as refused_record.h says where one
// is none. `name` is the input's, for messages. `map` must outlive the source. `end`: what becomes of
// a record that the end of the input cuts off.
// Errors of the source: kInvalidArgument if the input has no usable header, or is UTF-16; those of
// `bytes`. REQUIRES: another format than kNdjson.
std::unique_ptr<ByteSource> ConvertedInput(InputFormat format, std::unique_ptr<ByteSource> bytes,
                                           std::string name, LineMap& map,
                                           UnfinishedEnd end = UnfinishedEnd::kTaken,
                                           const TableOptions& table = {});

}  // namespace pleat::cli
