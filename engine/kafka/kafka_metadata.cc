#include "engine/kafka/kafka_metadata.h"

#include <cstddef>
#include <optional>

#include <pleat/store_log.h>
#include <pleat/stored.h>

namespace pleat::inline v0_1 {
namespace {

constexpr std::string_view kDigits =
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

// Six bits a digit, the highest first; the last digit is filled with zeros.
std::string Base64(std::string_view bytes) {
  std::string text;
  text.reserve((bytes.size() * 8 + 5) / 6);
  uint32_t held = 0;
  int bits = 0;
  for (const char each : bytes) {
    held = held << 8 | static_cast<unsigned char>(each);
    for (bits += 8; bits >= 6;) text += kDigits[held >> (bits -= 6) & 63];
  }
  if (bits > 0) text += kDigits[held << (6 - bits) & 63];
  return text;
}

std::optional<std::string> BytesOfBase64(std::string_view text) {
  std::string bytes;
  bytes.reserve(text.size() * 6 / 8);
  uint32_t held = 0;
  int bits = 0;
  for (const char each : text) {
    const size_t digit = kDigits.find(each);
    if (digit == kDigits.npos) return std::nullopt;
    held = held << 6 | static_cast<uint32_t>(digit);
    bits += 6;
    if (bits >= 8) bytes += static_cast<char>(held >> (bits -= 8) & 255);
  }
  // What is left are zeros, and fewer than a digit.
  if (bits >= 6 || (held & ((1u << bits) - 1)) != 0) return std::nullopt;
  return bytes;
}

}  // namespace

std::string KafkaMetadata(const LogCommit& commit) {
  FieldWriter out;
  out.PutNumber(commit.offset);
  out.PutNumber(commit.offset - commit.needed);
  std::string bytes(out.bytes());
  bytes += commit.metadata;
  return std::string(kLaneMetadata) + Base64(bytes);
}

LogCommit KafkaCommit(int partition, uint64_t offset, std::string_view metadata) {
  LogCommit commit{.partition = partition, .offset = offset, .needed = offset, .metadata = {}};
  if (!metadata.starts_with(kLaneMetadata)) return commit;
  const std::optional<std::string> bytes = BytesOfBase64(metadata.substr(kLaneMetadata.size()));
  FieldReader in(bytes ? std::string_view(*bytes) : std::string_view());
  const uint64_t place = in.Number();
  const uint64_t further = in.Number();
  if (!bytes || !in.ok() || further > place) {
    commit.metadata = metadata;
  } else if (place == offset) {
    commit.needed = offset - further;
    commit.metadata = bytes->substr(bytes->size() - in.at_hand());
  }
  return commit;
}

}  // namespace pleat::inline v0_1
