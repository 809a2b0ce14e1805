// What a lane's commit looks like to a broker: an offset, and metadata of printable ASCII, since the
// protocol takes metadata for text, and brokers alter what is none.
//
//   PL1 BASE64(offset, offset - needed, the lane's metadata)
//
// Base64 is that of RFC 4648, section 4, without padding. The numbers are those of FieldWriter. 750
// bytes of a lane come to less than 1,024 characters, which is as much as any broker takes, while
// offsets are below 2^48.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include <pleat/untyped/partitioned_log.h>

namespace pleat::inline v0_1 {

std::string KafkaMetadata(const LogCommit& commit);

// The commit of an offset and its metadata. Metadata of another program, or that goes with another
// offset since somebody has moved the group, counts as none: a lane begins a new life there. Metadata
// that is ours and damaged comes as it is, so that the lane refuses it.
LogCommit KafkaCommit(int partition, uint64_t offset, std::string_view metadata);

}  // namespace pleat::inline v0_1
