// Where bytes come from: a file, a pipe, a decompressor on top of one of them. Sources stack; each
// owns the one below it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string_view>

#include <absl/status/statusor.h>

namespace pleat::cli {

inline constexpr std::string_view kByteOrderMark = "\xef\xbb\xbf";

// What becomes of a last line or record that nothing but the end of the input ends. A file that is
// being written often has one.
enum class UnfinishedEnd : uint8_t {
  kTaken,  // as if it were whole
  kLeft,   // for a later run, which finds it whole
};

class ByteSource {
 public:
  virtual ~ByteSource() = default;

  // Reads between 1 and `size` bytes, or 0 at the end. Waits only if it has no byte to give, so
  // that a line is never held back by the bytes behind it. Errors: kCancelled when the waiter said
  // to stop; else the message names the input.
  virtual absl::StatusOr<size_t> Read(char* to, size_t size) = 0;

  // Whether there is an unfinished end, and all but that has been given out before the last Read().
  virtual bool unfinished() const { return false; }
};

// Called before a read that could block: the pipe is open and silent, so this is the moment to hand
// out results. Returns false to stop reading.
class InputWaiter {
 public:
  virtual ~InputWaiter() = default;
  virtual bool AwaitInput(int fd) = 0;
};

}  // namespace pleat::cli
