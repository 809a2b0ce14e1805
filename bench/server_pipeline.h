// Commands to a server that go out many at a time. The replies to one lot are read when the next
// one has been written, so that client and server work at once.
#pragma once

#include <cstddef>
#include <span>
#include <string_view>
#include <utility>

#include "tests/support/redis_server.h"

namespace pleat::bench {

class ServerPipeline {
 public:
  explicit ServerPipeline(RedisServer& server) : server_(server) {}

  // Sends a command: writes when `depth` of them have come together. `take` gets the replies, in
  // order.
  template <class Take>
  void Send(std::span<const std::string_view> command, size_t depth, const Take& take) {
    server_.Append(command);
    if (++appended_ < depth) return;
    server_.Write();
    Read(std::exchange(written_, appended_), take);
    appended_ = 0;
  }

  // Reads the replies to all that was sent.
  template <class Take>
  void Finish(const Take& take) {
    Read(written_ + appended_, take);
    written_ = appended_ = 0;
  }

 private:
  template <class Take>
  void Read(size_t replies, const Take& take) {
    for (; replies > 0; --replies) take(*server_.Read());
  }

  RedisServer& server_;
  size_t appended_ = 0;
  size_t written_ = 0;
};

}  // namespace pleat::bench
