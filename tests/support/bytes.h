// A snapshot in memory.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <span>
#include <string>
#include <string_view>

#include <absl/status/status.h>
#include <absl/status/statusor.h>
#include <pleat/snapshot.h>

namespace pleat::inline v0_1 {

class StringSink final : public ByteSink {
 public:
  absl::Status Append(std::string_view more) override {
    bytes += more;
    return absl::OkStatus();
  }

  std::string bytes;
};

class StringSource final : public ByteSource {
 public:
  explicit StringSource(std::string_view bytes) : left_(bytes) {}

  absl::StatusOr<size_t> Read(std::span<char> room) override {
    const size_t size = std::min(room.size(), left_.size());
    std::memcpy(room.data(), left_.data(), size);
    left_.remove_prefix(size);
    return size;
  }

 private:
  std::string_view left_;
};

}  // namespace pleat::inline v0_1
