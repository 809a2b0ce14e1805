// Whole files of a StorageDirectory, in one call.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include <pleat/untyped/storage.h>

namespace pleat::inline v0_1 {

// Writes a file and syncs it. The directory is not synced.
inline absl::Status WriteFile(StorageDirectory& directory, std::string_view name,
                              std::string_view bytes) {
  absl::StatusOr<std::unique_ptr<StorageWriter>> writer = directory.CreateFile(name);
  if (!writer.ok()) return writer.status();
  if (absl::Status appended = (*writer)->Append(bytes); !appended.ok()) return appended;
  if (absl::Status synced = (*writer)->Sync(); !synced.ok()) return synced;
  return (*writer)->Close();
}

// The error as text, should there be one.
inline std::string ReadSome(StorageReader& reader, uint64_t offset, size_t bytes) {
  std::string buffer(bytes, '?');
  const absl::StatusOr<size_t> got = reader.ReadAt(offset, absl::MakeSpan(buffer));
  return got.ok() ? buffer.substr(0, *got) : got.status().ToString();
}

inline absl::StatusOr<std::string> ReadWhole(StorageDirectory& directory, std::string_view name) {
  absl::StatusOr<std::unique_ptr<StorageReader>> reader = directory.OpenFile(name);
  if (!reader.ok()) return reader.status();
  absl::StatusOr<uint64_t> size = (*reader)->Size();
  if (!size.ok()) return size.status();
  std::string bytes(*size, '\0');
  absl::StatusOr<size_t> got = (*reader)->ReadAt(0, absl::MakeSpan(bytes));
  if (!got.ok()) return got.status();
  bytes.resize(*got);
  return bytes;
}

}  // namespace pleat::inline v0_1
