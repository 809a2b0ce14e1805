#include "tools/pleat/named_files.h"

#include <sys/stat.h>

#include <charconv>
#include <climits>
#include <cstdlib>
#include <filesystem>
#include <optional>
#include <system_error>
#include <vector>

#include "tools/pleat/errno_status.h"

namespace pleat::cli {
namespace {

// Identifies a regular file under any of its names, by device and inode. A file that does not exist
// yet is identified by its directory and its name there.
struct Identity {
  dev_t device;
  ino_t inode;
  std::string name_to_be;

  friend bool operator==(const Identity&, const Identity&) = default;
};

// None if the path is no regular file, or if its directory does not exist: opening it will fail.
std::optional<Identity> IdentityOf(const NamedFile& file) {
  if (file.path.empty()) return std::nullopt;
  struct stat info{};
  const int failed =
      file.path == "-" ? fstat(file.standard, &info) : stat(file.path.c_str(), &info);
  if (failed == 0) {
    if (!S_ISREG(info.st_mode)) return std::nullopt;
    return Identity{info.st_dev, info.st_ino, ""};
  }
  const std::string place = FollowLinks(file.path);
  if (stat(DirectoryOf(place).c_str(), &info) != 0) return std::nullopt;
  return Identity{info.st_dev, info.st_ino, place.substr(place.rfind('/') + 1)};
}

bool IsDescriptor(const NamedFile& file) {
  return file.path == "-" || DescriptorNamed(file.path) >= 0;
}

// Whether some file right in `directory`, as all of a state directory are, is the output by now.
bool HasFile(const std::string& directory, const NamedFile& output) {
  const std::optional<Identity> identity = IdentityOf(output);
  if (!identity || !identity->name_to_be.empty()) return false;
  std::error_code error;
  std::filesystem::directory_iterator entry(directory, error);
  for (; !error && entry != std::filesystem::directory_iterator(); entry.increment(error)) {
    if (IdentityOf({.role = "", .path = entry->path()}) == identity) return true;
  }
  return false;
}

// Whether the path leads into the directory, or is it. Both are whole names.
bool LiesIn(const std::string& path, const std::string& directory) {
  return path == directory || path.starts_with(directory + "/");
}

absl::Status SameFile(const NamedFile& file, const NamedFile& other) {
  return absl::InvalidArgumentError(file.role + ": the same file as " + other.role);
}

}  // namespace

int DescriptorNamed(std::string_view path) {
  if (path == "/dev/stdout") return STDOUT_FILENO;
  if (path == "/dev/stderr") return STDERR_FILENO;
  for (const std::string_view prefix : {"/dev/fd/", "/proc/self/fd/"}) {
    if (path.substr(0, prefix.size()) != prefix) continue;
    const std::string_view digits = path.substr(prefix.size());
    int fd = -1;
    const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), fd);
    return error == std::errc() && end == digits.data() + digits.size() ? fd : -1;
  }
  return -1;
}

std::string DirectoryOf(std::string_view path) {
  const size_t slash = path.rfind('/');
  if (slash == std::string_view::npos) return ".";
  return slash == 0 ? "/" : std::string(path.substr(0, slash));
}

std::string FollowLinks(const std::string& path) {
  constexpr int kLinksMax = 40;  // as many as Linux follows
  std::filesystem::path place = path;
  for (int links = 0; links < kLinksMax; ++links) {
    std::error_code not_a_link;
    const std::filesystem::path target = std::filesystem::read_symlink(place, not_a_link);
    if (not_a_link) return place;
    place = place.parent_path() / target;
  }
  return path;
}

std::string WholeName(const std::string& path) {
  std::string place = path == "-" ? "/proc/self/fd/0" : FollowLinks(path);
  char whole[PATH_MAX];
  if (realpath(place.c_str(), whole) != nullptr) return whole;
  if (realpath(DirectoryOf(place).c_str(), whole) == nullptr) return place;
  return std::string(whole) + "/" + place.substr(place.rfind('/') + 1);
}

NamedFile NamedInput(const std::string& path) {
  return {path == "-" ? "standard input" : "the input " + Printable(path), path, STDIN_FILENO};
}

NamedFile NamedOutput(std::string_view option, const std::string& path, int standard) {
  const std::string_view stream = standard == STDERR_FILENO ? "standard error" : "standard output";
  return {std::string(path == "-" ? stream : option), path, standard};
}

absl::Status CheckNoneOverwritten(std::span<const NamedFile> inputs,
                                  std::span<const NamedFile> outputs) {
  std::vector<std::pair<const NamedFile*, Identity>> written;
  for (const NamedFile& output : outputs) {
    const std::optional<Identity> identity = IdentityOf(output);
    if (!identity) continue;
    for (const auto& [other, its_identity] : written) {
      const bool one_stream = IsDescriptor(output) && IsDescriptor(*other);
      if (*identity == its_identity && !one_stream) return SameFile(output, *other);
    }
    written.emplace_back(&output, *identity);
  }
  if (written.empty()) return absl::OkStatus();
  for (const NamedFile& input : inputs) {
    const std::optional<Identity> identity = IdentityOf(input);
    for (const auto& [output, its_identity] : written) {
      if (identity == its_identity) return SameFile(*output, input);
    }
  }
  return absl::OkStatus();
}

absl::Status CheckNoneInside(const NamedFile& directory, std::span<const NamedFile> outputs) {
  std::string plain = directory.path;
  while (plain.size() > 1 && plain.ends_with('/')) plain.pop_back();
  const std::string whole = WholeName(plain);
  for (const NamedFile& output : outputs) {
    if (output.path.empty()) continue;
    const std::string place = FollowLinks(output.path);
    const bool leads_there =
        !IsDescriptor(output) &&
        (LiesIn(WholeName(place), whole) || LiesIn(WholeName(DirectoryOf(place)), whole));
    if (!leads_there && !HasFile(whole, output)) continue;
    return absl::InvalidArgumentError(output.role + ": a file in the directory of " +
                                      directory.role + " " + Printable(directory.path) +
                                      ", which is for that alone");
  }
  return absl::OkStatus();
}

}  // namespace pleat::cli
