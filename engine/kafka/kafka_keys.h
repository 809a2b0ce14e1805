// Which partition of a topic a key belongs to.
//
// Producers choose it by a hash of the record's key: those in Java by murmur2, those of librdkafka by
// CRC-32 unless they are told otherwise. Who reads can so tell, key by key, whether a topic is keyed by
// what it folds by.
#pragma once

#include <string_view>

namespace pleat::inline v0_1 {

// REQUIRES: partitions > 0.
int JavaPartition(std::string_view key, int partitions);
int LibrdkafkaPartition(std::string_view key, int partitions);

// How many partitions of the topic librdkafka's statistics tell of; 0: the topic is not among them yet.
int PartitionsIn(std::string_view statistics, std::string_view topic);

}  // namespace pleat::inline v0_1
