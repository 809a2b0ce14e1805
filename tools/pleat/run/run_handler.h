// What the handlers of `pleat run` have in common: the payload of each record is a line for the
// collections of the lane, and what becomes of lines that are in none is counted and told.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include <pleat/json_lines.h>
#include <pleat/processor.h>

#include "tools/pleat/run/run_options.h"

namespace pleat::cli {

// Of all lanes of a thread, since the run has begun; records that are replayed count again.
struct RunCounts {
  uint64_t records = 0;
  uint64_t bytes = 0;       // their payloads
  uint64_t invalid = 0;     // for a collection
  uint64_t late = 0;        // the same
  uint64_t over_limit = 0;  // the same
  std::string first_invalid;
  std::string unit_advice;  // whether the unit of --time-unit is right; empty: nothing to say
};

// The first letter of the payload of a message of Lane::Emit(): why a line is not in a collection.
inline constexpr char kInvalidMark = 'i';
inline constexpr char kLateMark = 'l';

class RunHandler : public Handler {
 public:
  // REQUIRES: in MakeHandler. The collections' lines become messages of streams of their names.
  virtual void PublishIn(Lane& lane) = 0;

 protected:
  RunHandler(const RunOptions& options, RunCounts& counts) : options_(options), counts_(counts) {}

  const RunOptions& options() const { return options_; }
  RunCounts& counts() { return counts_; }

  // Begins and ends the handling of records, of which lines may be unusual.
  void Begin(std::span<const LogRecord> records);
  void End();
  void NoteUnusual(const UnusualLine& line, std::string_view collection, Lane& lane);

  virtual StampCounts stamps() const = 0;

  // Appends the payload as a line, without a newline.
  static void AppendLine(const LogRecord& record, std::string& to);

 private:
  const LogRecord* RecordOf(const UnusualLine& line) const;
  void Tell(char mark, std::string_view reason, std::string_view collection,
            const UnusualLine& line, Lane& lane);

  const RunOptions& options_;
  RunCounts& counts_;
  std::span<const LogRecord> records_;  // that are being handled
  bool has_looked_at_stamps_ = false;
};

}  // namespace pleat::cli
