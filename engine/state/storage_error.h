// The errors of a Storage when the system refuses: the codes of storage.h for the system's numbers, so
// that every storage tells one trouble alike. The names that it refuses by itself are here, too.
#pragma once

#include <string>
#include <string_view>

#include <absl/status/status.h>

namespace pleat::inline v0_1 {

// The file whose lock is that of its directory.
inline constexpr char kLockName[] = "LOCK";

// "cannot <what> <path>: <reason>". `error` is a number of errno.
absl::Status StorageError(int error, std::string_view what, std::string_view path);

// kFailedPrecondition, which says what `path` is: "a symbolic link", "no regular file".
absl::Status WrongKindError(std::string_view path, std::string_view kind);

// kUnavailable. `owner` is the text of the file LOCK: a number, or something else if its writer did
// not come to write it.
absl::Status LockedError(std::string_view path, std::string_view owner);

// Of a writer that was closed.
absl::Status ClosedError(std::string_view path);

// Whether `name` can be that of a file in `directory`, as StorageDirectory has it.
absl::Status CheckFileName(std::string_view directory, std::string_view name);

// As messages have it.
std::string PathIn(std::string_view directory, std::string_view name);

}  // namespace pleat::inline v0_1
