#include "bench/kafka/process.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <fstream>
#include <sstream>
#include <stdexcept>
#include <utility>

namespace pleat::bench {

Process::Process(std::vector<std::string> words, std::string log) : log_(std::move(log)) {
  std::vector<char*> argv;
  for (std::string& each : words) argv.push_back(each.data());
  argv.push_back(nullptr);
  pid_ = fork();
  if (pid_ < 0) throw std::runtime_error("cannot fork");
  if (pid_ > 0) return;
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  const int out = open(log_.c_str(), O_WRONLY | O_CREAT | O_APPEND, 0644);
  dup2(out, STDOUT_FILENO);
  dup2(out, STDERR_FILENO);
  execvp(argv[0], argv.data());
  _exit(127);
}

double Process::CpuSeconds() const {
  std::ifstream file("/proc/" + std::to_string(pid_) + "/stat");
  std::string text;
  std::getline(file, text);
  // The second field is a name in parentheses, and may hold blanks; user and system are 14 and 15.
  std::istringstream fields(text.substr(text.rfind(')') + 1));
  std::string skipped;
  for (int field = 3; field < 14; ++field) fields >> skipped;
  double user = 0, system = 0;
  fields >> user >> system;
  return (user + system) / static_cast<double>(sysconf(_SC_CLK_TCK));
}

double Process::PeakBytes() const {
  return 1024 * static_cast<double>(NumberIn("status", "VmHWM:"));
}

uint64_t Process::BytesToDisk() const { return NumberIn("io", "write_bytes:"); }

uint64_t Process::NumberIn(const char* file, const char* name) const {
  std::ifstream in("/proc/" + std::to_string(pid_) + "/" + file);
  for (std::string word; in >> word;) {
    uint64_t number = 0;
    if (word == name && in >> number) return number;
  }
  throw std::runtime_error(std::string("/proc does not say ") + name);
}

void Process::CheckRuns() {
  if (waitpid(pid_, nullptr, WNOHANG) == 0) return;
  pid_ = -1;
  throw std::runtime_error("a contestant has ended by itself; see " + log_);
}

void Process::Stop() { End(SIGTERM); }
void Process::Kill() { End(SIGKILL); }

void Process::End(int signal) {
  if (pid_ < 0) return;
  kill(pid_, signal);
  waitpid(pid_, nullptr, 0);
  pid_ = -1;
}

}  // namespace pleat::bench
