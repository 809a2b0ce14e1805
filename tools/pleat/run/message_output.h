// Where the messages of `pleat run` go: lines into files, records into another event store, or into a
// topic. Each line begins with the id of its message, and a record has it as its id.
//
// A file gets each message once, also after a kill: its last lines name those that it has, and they
// are left out. Others, such as a pipe, get messages again that were not confirmed, with the ids
// that they had.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <absl/status/status.h>
#include <absl/status/statusor.h>
#include <pleat/processor.h>
#include <pleat/time.h>

#include "tools/pleat/run/run_options.h"

namespace pleat::cli {

class MessageOutput {
 public:
  virtual ~MessageOutput() = default;

  virtual absl::Status Write(const Message& message, EngineTime now) = 0;
  // All that was written stays, whatever happens to this process. Errors: kAborted: the reader of
  // standard output has gone.
  virtual absl::Status Sync() = 0;
  // Those of the messages that stay, and were not returned before. `written`: since the last call.
  virtual absl::StatusOr<std::vector<MessageId>> TakeKept(std::span<const Message> written);
  // How many more may be written before some of them are kept.
  virtual size_t room() const { return SIZE_MAX; }

  // Messages that were written, and those that were there already.
  uint64_t written() const { return written_; }
  uint64_t repeated() const { return repeated_; }

 protected:
  uint64_t written_ = 0;
  uint64_t repeated_ = 0;
};

// The stream of messages about lines that are in no collection: see line_handler.h.
inline constexpr std::string_view kEmittedStream = "emitted";

// The key of a message, which is JSON: one that is a plain string is that string.
std::string PlainKey(std::string_view key);

// How many bytes of messages may wait to be confirmed, in all lanes together: so much of the end of
// a file is looked through for them.
inline constexpr uint64_t kUnconfirmedBytesMax = uint64_t{64} << 20;

// Opens the outputs that the options ask for, but topics. Errors: kInvalidArgument: a file holds something else, or
// is another output, or is in the store; others: it cannot be opened.
absl::StatusOr<std::unique_ptr<MessageOutput>> OpenOutput(const RunOptions& options);

// What OpenOutput() would find, for people: a line for each output. Changes nothing. Errors: as OpenOutput().
absl::StatusOr<std::string> OutputsText(const RunOptions& options);

}  // namespace pleat::cli
