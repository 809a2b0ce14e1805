// A Redis or Valkey server for one test or benchmark, and a connection to it.
//
// The server listens on a unix socket in a private directory and nowhere else, keeps nothing on
// disk, and ends with this object; if this program dies, the kernel ends it. The directory is gone
// as soon as the connection stands, so nothing is left behind either way.
#pragma once

#include <signal.h>
#include <sys/types.h>

#include <chrono>
#include <initializer_list>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <hiredis/hiredis.h>

namespace pleat::inline v0_1 {

class RedisServer {
 public:
  struct FreeReply {
    void operator()(redisReply* reply) const { freeReplyObject(reply); }
  };
  using Reply = std::unique_ptr<redisReply, FreeReply>;

  // Starts `program`, a path or a name to be found in PATH, and connects to it. Throws
  // std::runtime_error if it does not answer. `options`: of its command line; they come last.
  explicit RedisServer(const std::string& program, const std::vector<std::string>& options = {});
  ~RedisServer();
  RedisServer(const RedisServer&) = delete;
  RedisServer& operator=(const RedisServer&) = delete;

  // Puts a command into the output buffer. Each wants one Read(), in the order of the commands.
  void Append(std::span<const std::string_view> command);
  // Writes what was appended, without waiting for an answer.
  void Write();
  // How long a reply may take; a minute unless told.
  void set_patience(std::chrono::seconds patience);
  // Throws std::runtime_error if the reply is an error, or does not come.
  Reply Read();
  // Waits until the server has said something that was not read yet, or until `patience` is over.
  // Returns whether it has.
  bool WaitForReply(std::chrono::milliseconds patience);

  Reply Call(std::initializer_list<std::string_view> command);

  // The server's own figures.
  double UsedMemory();      // bytes
  double UsedCpuSeconds();  // of its main thread

 private:
  void Start(const std::string& program, const std::string& directory, const sigset_t& signals,
             const std::vector<std::string>& options);
  void Connect(const std::string& socket);
  void Stop() noexcept;
  double Info(std::string_view section, std::string_view field);

  pid_t pid_ = -1;
  redisContext* connection_ = nullptr;
};

}  // namespace pleat::inline v0_1
