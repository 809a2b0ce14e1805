#include "tests/support/redis_server.h"

#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <stdexcept>
#include <utility>
#include <vector>

namespace pleat::inline v0_1 {
namespace {

constexpr auto kPatience = std::chrono::seconds(60);  // a busy machine takes its time

// A directory that nobody else can look into, for as long as this object lives. Signals that would
// end the program wait until it is gone.
class PrivateDirectory {
 public:
  PrivateDirectory() {
    sigset_t ending;
    sigemptyset(&ending);
    for (int signal : {SIGINT, SIGTERM, SIGHUP}) sigaddset(&ending, signal);
    sigprocmask(SIG_BLOCK, &ending, &before_);
    path_ = std::filesystem::temp_directory_path() / "pleat-redis-XXXXXX";
    if (mkdtemp(path_.data()) == nullptr) throw std::runtime_error("cannot make " + path_);
  }
  ~PrivateDirectory() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
    sigprocmask(SIG_SETMASK, &before_, nullptr);
  }
  PrivateDirectory(const PrivateDirectory&) = delete;
  PrivateDirectory& operator=(const PrivateDirectory&) = delete;

  const std::string& path() const { return path_; }
  const sigset_t& signals_before() const { return before_; }

 private:
  std::string path_;
  sigset_t before_;
};

// Whether `pid`, a child, ended within `milliseconds`; it is then no more.
bool Ended(pid_t pid, int milliseconds) {
  const int fd = static_cast<int>(syscall(SYS_pidfd_open, pid, 0));
  pollfd end{.fd = fd, .events = POLLIN, .revents = 0};
  const bool ended = fd >= 0 && poll(&end, 1, milliseconds) == 1;
  if (fd >= 0) close(fd);
  return ended && waitpid(pid, nullptr, 0) == pid;
}

}  // namespace

RedisServer::RedisServer(const std::string& program, const std::vector<std::string>& options) {
  const PrivateDirectory directory;
  try {
    Start(program, directory.path(), directory.signals_before(), options);
    Connect(directory.path() + "/socket");
  } catch (...) {
    Stop();
    throw;
  }
}

RedisServer::~RedisServer() { Stop(); }

void RedisServer::Start(const std::string& program, const std::string& directory,
                        const sigset_t& signals, const std::vector<std::string>& options) {
  const std::string socket = directory + "/socket";
  std::vector<const char*> arguments = {program.c_str(),
                                        "--port",
                                        "0",
                                        "--unixsocket",
                                        socket.c_str(),
                                        "--save",
                                        "",
                                        "--appendonly",
                                        "no",
                                        "--daemonize",
                                        "no",
                                        "--dir",
                                        directory.c_str(),
                                        "--logfile",
                                        "/dev/null"};
  for (const std::string& option : options) arguments.push_back(option.c_str());
  arguments.push_back(nullptr);
  const pid_t parent = getpid();
  pid_ = fork();
  if (pid_ < 0) throw std::runtime_error("cannot fork");
  if (pid_ > 0) return;
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (getppid() != parent) _exit(1);  // it died before the line above
  sigprocmask(SIG_SETMASK, &signals, nullptr);
  execvp(program.c_str(), const_cast<char* const*>(arguments.data()));
  _exit(127);
}

void RedisServer::Connect(const std::string& socket) {
  const auto deadline = std::chrono::steady_clock::now() + kPatience;
  for (;;) {
    connection_ = redisConnectUnix(socket.c_str());
    if (connection_ != nullptr && connection_->err == 0) break;
    redisFree(std::exchange(connection_, nullptr));
    if (Ended(pid_, 5)) {
      pid_ = -1;
      throw std::runtime_error("the server ended before it answered");
    }
    if (std::chrono::steady_clock::now() > deadline) {
      throw std::runtime_error("the server does not answer");
    }
  }
  set_patience(std::chrono::seconds(60));
  Call({"PING"});
}

void RedisServer::set_patience(std::chrono::seconds patience) {
  redisSetTimeout(connection_, timeval{.tv_sec = patience.count(), .tv_usec = 0});
}

void RedisServer::Stop() noexcept {
  if (connection_ != nullptr) redisFree(connection_);
  if (pid_ <= 0) return;
  kill(pid_, SIGTERM);
  if (Ended(pid_, std::chrono::milliseconds(kPatience).count())) return;
  kill(pid_, SIGKILL);
  waitpid(pid_, nullptr, 0);
}

void RedisServer::Append(std::span<const std::string_view> command) {
  thread_local std::vector<const char*> words;
  thread_local std::vector<size_t> sizes;
  words.clear();
  sizes.clear();
  for (std::string_view word : command) {
    words.push_back(word.data());
    sizes.push_back(word.size());
  }
  const int count = static_cast<int>(words.size());
  if (redisAppendCommandArgv(connection_, count, words.data(), sizes.data()) != REDIS_OK) {
    throw std::runtime_error(connection_->errstr);
  }
}

void RedisServer::Write() {
  for (int done = 0; done == 0;) {
    if (redisBufferWrite(connection_, &done) != REDIS_OK) {
      throw std::runtime_error(connection_->errstr);
    }
  }
}

RedisServer::Reply RedisServer::Read() {
  void* reply = nullptr;
  if (redisGetReply(connection_, &reply) != REDIS_OK) {
    throw std::runtime_error(connection_->errstr);
  }
  Reply owned(static_cast<redisReply*>(reply));
  if (owned->type == REDIS_REPLY_ERROR) throw std::runtime_error(owned->str);
  return owned;
}

bool RedisServer::WaitForReply(std::chrono::milliseconds patience) {
  const redisReader& reader = *connection_->reader;
  if (reader.pos < reader.len) return true;
  pollfd socket{.fd = connection_->fd, .events = POLLIN, .revents = 0};
  return poll(&socket, 1, static_cast<int>(patience.count())) > 0;
}

RedisServer::Reply RedisServer::Call(std::initializer_list<std::string_view> command) {
  Append(std::span(command.begin(), command.size()));
  return Read();
}

double RedisServer::Info(std::string_view section, std::string_view field) {
  const Reply info = Call({"INFO", section});
  const std::string name = "\n" + std::string(field) + ":";
  const size_t at = std::string_view(info->str, info->len).find(name);
  if (at == std::string_view::npos) throw std::runtime_error("INFO tells no " + std::string(field));
  return std::strtod(info->str + at + name.size(), nullptr);
}

double RedisServer::UsedMemory() { return Info("memory", "used_memory"); }

double RedisServer::UsedCpuSeconds() {
  return Info("cpu", "used_cpu_user_main_thread") + Info("cpu", "used_cpu_sys_main_thread");
}

}  // namespace pleat::inline v0_1
