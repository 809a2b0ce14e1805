// Frames: what a store writes beside blocks, with a checksum.
//
//   0   4  "PS" and two letters that say what it is
//   4   4  bytes of fields
//   8      fields
//       8  checksum of all that
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "engine/store/binding.h"

namespace pleat::inline v0_1 {

inline constexpr size_t kFrameHeadBytes = 8;
inline constexpr size_t kFrameBytes = kFrameHeadBytes + 8;  // without fields
// A segment's index is the largest.
inline constexpr uint64_t kFrameFieldsMax = uint64_t{1} << 30;

inline std::string FrameOf(std::string_view letters, std::string_view fields,
                           const Binding& binding) {
  std::string frame("PS");
  frame += letters;
  frame.resize(kFrameHeadBytes);
  PutFixed(&frame[4], static_cast<uint32_t>(fields.size()));
  frame += fields;
  const uint64_t checksum = ChecksumOf(frame, binding);
  frame.resize(frame.size() + 8);
  PutFixed(&frame[frame.size() - 8], checksum);
  return frame;
}

// The bytes of the whole frame that begins so, if it can be one. REQUIRES: kFrameHeadBytes.
inline std::optional<uint64_t> FrameBytesIn(std::string_view letters, std::string_view begin) {
  const uint64_t fields = FixedAt<uint32_t>(begin.data() + 4);
  if (!begin.starts_with("PS") || begin.substr(2, 2) != letters || fields > kFrameFieldsMax) {
    return std::nullopt;
  }
  return fields + kFrameBytes;
}

// The fields of a frame, which are a view of it; nothing if it is damaged.
inline std::optional<std::string_view> FieldsIn(std::string_view letters, std::string_view frame,
                                                const Binding& binding) {
  if (frame.size() < kFrameBytes) return std::nullopt;
  const std::optional<uint64_t> bytes = FrameBytesIn(letters, frame);
  if (!bytes || *bytes != frame.size()) return std::nullopt;
  const std::string_view checked = frame.substr(0, frame.size() - 8);
  if (FixedAt<uint64_t>(frame.data() + checked.size()) != ChecksumOf(checked, binding)) {
    return std::nullopt;
  }
  return checked.substr(kFrameHeadBytes);
}

}  // namespace pleat::inline v0_1
