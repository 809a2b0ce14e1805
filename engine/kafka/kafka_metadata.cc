#include "engine/kafka/kafka_metadata.h"

#include <optional>

#include <absl/strings/escaping.h>
#include <absl/strings/string_view.h>
#include <pleat/store_log.h>
#include <pleat/stored.h>

namespace pleat::inline v0_1 {
namespace {

// Without the padding, which says nothing that the length does not say.
std::string Base64(std::string_view bytes) {
  std::string text;
  absl::Base64Escape(absl::string_view(bytes.data(), bytes.size()), &text);
  text.erase(text.find_last_not_of('=') + 1);
  return text;
}

// Only what Base64() writes: abseil reads more forms of the same bytes, which are damage here.
std::optional<std::string> BytesOfBase64(std::string_view text) {
  std::string bytes;
  if (!absl::Base64Unescape(absl::string_view(text.data(), text.size()), &bytes)) {
    return std::nullopt;
  }
  if (Base64(bytes) != text) return std::nullopt;
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
