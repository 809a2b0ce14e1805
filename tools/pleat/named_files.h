// Names of files on a command line: which file a name means, and whether two names mean one file.
#pragma once

#include <unistd.h>

#include <span>
#include <string>
#include <string_view>

#include <absl/status/status.h>

namespace pleat::cli {

// The descriptor of this process that a name such as /dev/stdout or /dev/fd/3 stands for, or -1.
int DescriptorNamed(std::string_view path);

// The directory that a name is in: "." if it names none.
std::string DirectoryOf(std::string_view path);

// Where the file of this name is, or will be made: symbolic links are followed, also one that leads
// to nothing yet. `path` itself if they go round in circles.
std::string FollowLinks(const std::string& path);

// From the root on, without symbolic links; "-" is standard input. A file that does not exist yet has
// the name that it will have.
std::string WholeName(const std::string& path);

// A file that a run reads or writes, as the command line has it.
struct NamedFile {
  std::string role;   // for messages, such as "--late"
  std::string path;   // empty: there is none
  int standard = -1;  // the descriptor that "-" stands for
};

// The file that `pleat COMMAND path` reads, and the file that `option path` writes.
NamedFile NamedInput(const std::string& path);
NamedFile NamedOutput(std::string_view option, const std::string& path,
                      int standard = STDOUT_FILENO);

// Refuses an output that would overwrite an input or another output, under whatever name. Only
// regular files count: a device or a pipe may be named several times. So may a descriptor that is
// open already, as an output: the texts written to it follow one another, as after `2>&1`.
// Errors: kInvalidArgument, with both roles.
absl::Status CheckNoneOverwritten(std::span<const NamedFile> inputs,
                                  std::span<const NamedFile> outputs);

// Refuses an output that is one of the files in `directory`, or would be, at any depth and under
// whatever name; the directory may not be there yet. Errors: kInvalidArgument, with both.
absl::Status CheckNoneInside(const NamedFile& directory, std::span<const NamedFile> outputs);

}  // namespace pleat::cli
