#include "tools/pleat/console.h"

#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <string>

#include "tools/pleat/errno_status.h"

namespace pleat::cli {

int Print(std::string_view text) {
  const bool taken = std::fwrite(text.data(), 1, text.size(), stdout) == text.size();
  if ((taken && std::fflush(stdout) == 0) || errno == EPIPE) return kExitDone;
  WriteLine(std::string("pleat: <stdout>: ") + std::strerror(errno));
  return kExitFailed;
}

void WriteLine(std::string_view line) {
  std::string text(line);
  for (char& c : text) {
    if (c != '\n' && IsControl(c)) c = '?';
  }
  if (!text.ends_with('\n')) text += '\n';
  [[maybe_unused]] const ssize_t ignored = write(STDERR_FILENO, text.data(), text.size());
}

int Complain(std::string_view command, const absl::Status& status) {
  const std::string program = "pleat " + std::string(command);
  std::string line = program + ": " + Printable(std::string(status.message()));
  const bool usage = absl::IsInvalidArgument(status);
  const bool hinted = line.find("did you mean") != std::string::npos;
  if (usage && !hinted) line += " (see " + program + " --help)";
  WriteLine(line);
  return usage ? kExitUsage : kExitFailed;
}

}  // namespace pleat::cli
