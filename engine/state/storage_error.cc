#include "engine/state/storage_error.h"

#include <algorithm>
#include <cerrno>

namespace pleat::inline v0_1 {
namespace {

absl::StatusCode CodeOfSystemError(int error) {
  switch (error) {
    case ENOENT: return absl::StatusCode::kNotFound;
    case EEXIST: return absl::StatusCode::kAlreadyExists;
    case EACCES:
    case EPERM:
    case EROFS: return absl::StatusCode::kPermissionDenied;
    case ENOSPC:
    case EDQUOT:
    case EFBIG:
    case EMFILE:
    case ENFILE:
    case ENOMEM: return absl::StatusCode::kResourceExhausted;
    case ELOOP:
    case ENOTDIR:
    case EISDIR: return absl::StatusCode::kFailedPrecondition;
    case ENAMETOOLONG: return absl::StatusCode::kInvalidArgument;
    default: return absl::StatusCode::kInternal;
  }
}

bool IsProcessNumber(std::string_view text) {
  return !text.empty() && std::ranges::all_of(text, [](char c) { return c >= '0' && c <= '9'; });
}

}  // namespace

absl::Status StorageError(int error, std::string_view what, std::string_view path) {
  std::string text = "cannot ";
  text.append(what).append(" ").append(path);
  // For its text, which it gets in a way that is safe with threads.
  const absl::Status told = absl::ErrnoToStatus(error, text);
  return {CodeOfSystemError(error), told.message()};
}

absl::Status WrongKindError(std::string_view path, std::string_view kind) {
  return absl::FailedPreconditionError(std::string(path).append(" is ").append(kind));
}

absl::Status LockedError(std::string_view path, std::string_view owner) {
  std::string text(path);
  text.append(" is locked by ");
  if (IsProcessNumber(owner)) {
    text.append("process ").append(owner);
  } else {
    text.append("another process");
  }
  return absl::UnavailableError(text);
}

absl::Status ClosedError(std::string_view path) {
  return absl::FailedPreconditionError(std::string(path).append(" is closed"));
}

absl::Status CheckFileName(std::string_view directory, std::string_view name) {
  const bool is_plain = !name.empty() && name != "." && name != ".." && name != kLockName &&
                        name.find('/') == name.npos && name.find('\0') == name.npos;
  if (is_plain) return absl::OkStatus();
  std::string text = "\"";
  text.append(name).append("\" cannot be the name of a file in ").append(directory);
  return absl::InvalidArgumentError(text);
}

std::string PathIn(std::string_view directory, std::string_view name) {
  std::string path(directory);
  if (!path.ends_with('/')) path += '/';
  return path.append(name);
}

}  // namespace pleat::inline v0_1
