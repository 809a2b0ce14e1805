#include "engine/kafka/kafka_keys.h"

#include <climits>

#include <gtest/gtest.h>

namespace pleat::inline v0_1 {
namespace {

// Of INT_MAX partitions, a key has the one that is its hash but for the sign.
int Murmur2(std::string_view key) { return JavaPartition(key, INT_MAX); }

// The hashes are those of Utils.murmur2() in Apache Kafka's UtilsTest.
TEST(KafkaKeysTest, HashesAsJavaDoes) {
  EXPECT_EQ(Murmur2("21"), -973'932'308 & INT_MAX);
  EXPECT_EQ(Murmur2("foobar"), -790'332'482 & INT_MAX);
  EXPECT_EQ(Murmur2("a-little-bit-long-string"), -985'981'536 & INT_MAX);
  EXPECT_EQ(Murmur2("a-little-bit-longer-string"), -1'486'304'829 & INT_MAX);
  EXPECT_EQ(Murmur2("lkjh234lh9fiuh90y23oiuhsafujhadof229phr9h19h89h8"), -58'897'971 & INT_MAX);
  EXPECT_EQ(Murmur2("abc"), 479'470'107);
  EXPECT_EQ(JavaPartition("abc", 10), 7);
}

// The check value that lists of CRCs have for CRC-32: cbf43926.
TEST(KafkaKeysTest, HashesAsLibrdkafkaDoes) {
  EXPECT_EQ(LibrdkafkaPartition("123456789", 1'000), 0xcbf43926u % 1'000);
  EXPECT_EQ(LibrdkafkaPartition("123456789", INT_MAX), 0xcbf43926u % INT_MAX);
}

TEST(KafkaKeysTest, CountsThePartitionsThatStatisticsTellOf) {
  const std::string_view json =
      R"({"name":"pleat","brokers":{"b:1/1":{"toppars":{"t-5":{"topic":"t","partition":5}}}},)"
      R"("topics":{"u":{"topic":"u","age":1,"partitions":{"0":{"partition":0}}},)"
      R"("t":{ "topic":"t", "batchsize":{"min":0},"partitions":{ "0":{ "partition":0,"x":{"9":1}})"
      R"(,"11":{"partition":11},"2":{},"-1":{"partition":-1}}},)"
      R"("v":{"topic":"v","partitions":{"-1":{}}}},"cgrp":{"9":{}}})";
  EXPECT_EQ(PartitionsIn(json, "t"), 12);
  EXPECT_EQ(PartitionsIn(json, "u"), 1);
  EXPECT_EQ(PartitionsIn(json, "v"), 0);
  EXPECT_EQ(PartitionsIn(json, "w"), 0);
  for (size_t size = 0; size < json.size(); ++size) {
    EXPECT_LE(PartitionsIn(json.substr(0, size), "t"), 12) << "what is cut off";
  }
}

}  // namespace
}  // namespace pleat::inline v0_1
