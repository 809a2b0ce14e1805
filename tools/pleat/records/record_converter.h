// From the bytes of an input in another format to lines of JSON, one for each record.
//
// A record that is no record of the format becomes an invalid line, and the next one is found again. The
// lines do not depend on how the bytes are cut. Memory is bounded: that of one record of the limit of a
// line, and that of the lines which wait in RecordLines.
#pragma once

#include <cstddef>
#include <span>
#include <string_view>

#include <absl/status/status.h>
#include <absl/status/statusor.h>

#include "tools/pleat/records/record_lines.h"
#include "tools/pleat/records/table_options.h"

namespace pleat::cli {

class RecordConverter {
 public:
  virtual ~RecordConverter() = default;

  // Takes bytes off the front of `text`, and adds the lines of the records that they complete.
  // Returns how many. Those that are left are for the next call, which has room in `lines`.
  // Errors: kInvalidArgument if nothing behind can be read; nothing more is called then.
  virtual absl::StatusOr<size_t> Take(std::string_view text, RecordLines& lines) = 0;

  // The names that the header has more than once.
  virtual std::span<const DoubledName> doubled() const { return {}; }

  // Whether bytes that were taken are to be read anew: by Take(), if need be of an empty text.
  virtual bool HasMore() const { return false; }

  // Whether the bytes so far end within a record, or within an array of them.
  virtual bool Unfinished() const = 0;

  // Nothing follows: adds the line of the record that the end of the input completes, or cuts off. To be
  // called again if there is more to be read anew behind it.
  // Errors: as Take().
  virtual absl::Status End(RecordLines& lines) = 0;
};

}  // namespace pleat::cli
