// Where bytes come from: a file, a pipe, a decompressor on top of one of them. Sources stack; each
// owns the one below it.
#pragma once

#include <cstddef>
#include <memory>

#include <absl/status/statusor.h>

namespace pleat::cli {

class ByteSource {
 public:
  virtual ~ByteSource() = default;

  // Reads between 1 and `size` bytes, or 0 at the end. Waits only if it has no byte to give, so
  // that a line is never held back by the bytes behind it. Errors: kCancelled when the waiter said
  // to stop; else the message names the input.
  virtual absl::StatusOr<size_t> Read(char* to, size_t size) = 0;
};

// Called before a read that could block: the pipe is open and silent, so this is the moment to hand
// out results. Returns false to stop reading.
class InputWaiter {
 public:
  virtual ~InputWaiter() = default;
  virtual bool AwaitInput(int fd) = 0;
};

}  // namespace pleat::cli
