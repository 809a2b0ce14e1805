// Runs a program as a shell would: with arguments, standard input, output and error on pipes.
//
// Nothing here sleeps or reads a clock. Every wait is a poll() on a descriptor that becomes ready
// when the thing waited for happens; its timeout is only there so that a broken program fails the
// test instead of hanging it. All pipes are served in one loop, so that no order of reading and
// writing can block both sides.
#pragma once

#include <fcntl.h>
#include <poll.h>
#include <pty.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <functional>
#include <iterator>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

namespace pleat::inline v0_1 {

class Subprocess {
 public:
  struct Setup {
    bool terminal_for_errors = false;  // standard error is a pseudo-terminal
    bool terminal_for_output = false;  // and standard output another one
    unsigned short columns = 80;       // of these
    std::vector<std::pair<std::string, std::string>> environment;  // on top of our own
  };

  explicit Subprocess(std::vector<std::string> argv) : Subprocess(std::move(argv), Setup()) {}
  Subprocess(std::vector<std::string> argv, Setup setup) { Start(std::move(argv), setup); }

  ~Subprocess() {
    for (int fd : {in_, out_, err_, life_}) {
      if (fd >= 0) close(fd);
    }
    if (pid_ > 0 && !reaped_) {
      kill(pid_, SIGKILL);
      waitpid(pid_, nullptr, 0);
    }
  }
  Subprocess(const Subprocess&) = delete;
  Subprocess& operator=(const Subprocess&) = delete;

  // Everything that came so far.
  const std::string& out() const { return out_text_; }
  const std::string& err() const { return err_text_; }

  // Queues input; it is written while we wait for something.
  void Write(std::string_view text) { pending_ += text; }
  void CloseInput() { close_input_ = true; }

  // Closes our end of its standard output.
  void CloseOutput() { Close(out_); }

  pid_t pid() const { return pid_; }
  void Signal(int number) const { kill(pid_, number); }
  // Returns once the process has stopped. SIGCONT lets it go on.
  void Pause() const {
    Signal(SIGSTOP);
    int status = 0;
    EXPECT_EQ(waitpid(pid_, &status, WUNTRACED), pid_);
    EXPECT_TRUE(WIFSTOPPED(status));
  }

  // Sends the signal again and again until the process has ended: signals that come before the first
  // one was delivered are lost, and nothing tells when that is.
  void SignalUntilEnd(int number) const {
    pollfd ended{life_, POLLIN, 0};
    for (int i = 0; i < kPatienceMs && poll(&ended, 1, 1) == 0; ++i) Signal(number);
  }

  // Waits until `text` has appeared on standard output, or error.
  [[nodiscard]] bool AwaitOut(std::string_view text) {
    return Serve([&] { return out_text_.find(text) != std::string::npos; });
  }
  // Waits until standard output has more text than now.
  [[nodiscard]] bool AwaitMoreOut() {
    return Serve([this, before = out_text_.size()] { return out_text_.size() > before; });
  }
  // Waits until a descriptor of the test's own can be read.
  [[nodiscard]] bool AwaitReadable(int fd) {
    pollfd readable{fd, POLLIN, 0};
    return Serve([&] { return poll(&readable, 1, 0) > 0; }, fd);
  }
  [[nodiscard]] bool AwaitErr(std::string_view text) {
    return Serve([&] { return err_text_.find(text) != std::string::npos; });
  }

  // Closes the input once it is written, waits for the end, and returns the exit code; -number if a
  // signal ended the process, -1000 if it did not end.
  int Wait() {
    CloseInput();
    return WaitWithInputOpen();
  }

  // The same for a program that should end although its input stays open.
  int WaitWithInputOpen() {
    if (!Serve([&] { return out_ < 0 && err_ < 0; })) return -1000;
    pollfd ended{life_, POLLIN, 0};
    if (poll(&ended, 1, kPatienceMs) <= 0) return -1000;
    int status = 0;
    waitpid(pid_, &status, 0);
    reaped_ = true;
    return WIFSIGNALED(status) ? -WTERMSIG(status) : WEXITSTATUS(status);
  }

 private:
  static constexpr int kPatienceMs = 300'000;

  void Start(std::vector<std::string> argv, const Setup& setup) {
    signal(SIGPIPE, SIG_IGN);  // a program that ends early must not end the test
    int in[2];
    int out[2];
    int err[2];
    int life[2];
    ASSERT_EQ(pipe2(in, O_CLOEXEC), 0);
    ASSERT_EQ(pipe2(life, O_CLOEXEC), 0);
    ASSERT_TRUE(OpenEnds(out, setup.terminal_for_output, setup.columns));
    ASSERT_TRUE(OpenEnds(err, setup.terminal_for_errors, setup.columns));
    std::vector<char*> arguments;
    for (std::string& argument : argv) arguments.push_back(argument.data());
    arguments.push_back(nullptr);
    pid_ = fork();
    ASSERT_GE(pid_, 0);
    if (pid_ == 0) {
      dup2(in[0], STDIN_FILENO);
      dup2(out[1], STDOUT_FILENO);
      dup2(err[1], STDERR_FILENO);
      fcntl(life[1], F_SETFD, 0);
      signal(SIGPIPE, SIG_DFL);
      for (const auto& [name, value] : setup.environment) setenv(name.c_str(), value.c_str(), 1);
      execv(arguments[0], arguments.data());
      _exit(127);
    }
    close(in[0]);
    close(out[1]);
    close(err[1]);
    in_ = in[1];
    out_ = out[0];
    err_ = err[0];
    fcntl(in_, F_SETFL, O_NONBLOCK);
    close(life[1]);
    life_ = life[0];
  }

  // To read from and to write to.
  static bool OpenEnds(int (&ends)[2], bool terminal, unsigned short columns) {
    if (!terminal) return pipe2(ends, O_CLOEXEC) == 0;
    const winsize size{.ws_row = 24, .ws_col = columns, .ws_xpixel = 0, .ws_ypixel = 0};
    if (openpty(&ends[0], &ends[1], nullptr, nullptr, &size) != 0) return false;
    for (const int fd : ends) fcntl(fd, F_SETFD, FD_CLOEXEC);
    return true;
  }

  // Moves bytes until `done`, which is asked again also when `other` can be read. False if nothing
  // moves any more.
  bool Serve(const std::function<bool()>& done, int other = -1) {
    for (;;) {
      if (close_input_ && pending_.empty()) Close(in_);
      if (done()) return true;
      if (out_ < 0 && err_ < 0 && (in_ < 0 || pending_.empty())) return false;
      pollfd ends[] = {{out_, POLLIN, 0},
                       {err_, POLLIN, 0},
                       {pending_.empty() ? -1 : in_, POLLOUT, 0},
                       {other, POLLIN, 0}};
      if (poll(ends, std::size(ends), kPatienceMs) <= 0) return false;
      if (ends[0].revents != 0) ReadSome(out_, out_text_);
      if (ends[1].revents != 0) ReadSome(err_, err_text_);
      if (ends[2].revents != 0) WriteSome();
    }
  }

  void ReadSome(int& fd, std::string& text) {
    char buffer[64 * 1024];
    const ssize_t got = read(fd, buffer, sizeof(buffer));
    if (got > 0) {
      text.append(buffer, static_cast<size_t>(got));
    } else if (got == 0 || errno != EINTR) {
      Close(fd);  // a terminal ends with EIO
    }
  }

  void WriteSome() {
    const ssize_t wrote = write(in_, pending_.data() + written_, pending_.size() - written_);
    if (wrote >= 0) {
      written_ += static_cast<size_t>(wrote);
      if (written_ < pending_.size()) return;
      pending_.clear();
      written_ = 0;
    } else if (errno != EAGAIN && errno != EINTR) {
      pending_.clear();
      Close(in_);
    }
  }

  static void Close(int& fd) {
    if (fd >= 0) close(fd);
    fd = -1;
  }

  pid_t pid_ = -1;
  int life_ = -1;  // a pipe that nothing is written to: it ends when the process does
  int in_ = -1;
  int out_ = -1;
  int err_ = -1;
  bool reaped_ = false;
  bool close_input_ = false;
  std::string pending_;  // input, of which written_ bytes are
  size_t written_ = 0;
  std::string out_text_;
  std::string err_text_;
};

// The lines of what a process has written, without their newlines. A process that was killed may
// leave a part of one at the end, and that says nothing.
inline std::vector<std::string> WholeLines(std::string_view text) {
  std::vector<std::string> lines;
  for (size_t end; (end = text.find('\n')) != std::string_view::npos;) {
    lines.emplace_back(text.substr(0, end));
    text.remove_prefix(end + 1);
  }
  return lines;
}

struct Finished {
  int code = 0;
  std::string out;
  std::string err;
};

// Runs a program to its end.
inline Finished RunToEnd(std::vector<std::string> argv, std::string_view input = "") {
  Subprocess process(std::move(argv));
  process.Write(input);
  const int code = process.Wait();
  return {code, process.out(), process.err()};
}

}  // namespace pleat::inline v0_1
