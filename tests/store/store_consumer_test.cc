// Consumers of a store: checkpoints that outlive the process and the power, and positions that are
// told from those of other records.
#include <cerrno>
#include <memory>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <pleat/event_store_reader.h>

#include "tests/support/faulty_storage.h"
#include "tests/support/start.h"
#include "tests/support/temporary_directory.h"

namespace pleat::inline v0_1 {
namespace {

using std::chrono_literals::operator""s;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

constexpr uint64_t kPowerLosses = 200;

std::unique_ptr<EventStore> OpenStore(Storage& storage, EventStoreOptions options = {}) {
  options.storage = &storage;
  options.partitions = 2;
  if (!options.identity) options.identity = 7;
  absl::StatusOr<std::unique_ptr<EventStore>> store = EventStore::Open("/d", options);
  EXPECT_TRUE(store.ok()) << store.status();
  return store.ok() ? *std::move(store) : nullptr;
}

std::unique_ptr<StoreConsumer> OpenConsumer(Storage& storage, std::string_view name = "mail") {
  absl::StatusOr<std::unique_ptr<StoreConsumer>> consumer =
      StoreConsumer::Open("/d", name, &storage);
  EXPECT_TRUE(consumer.ok()) << consumer.status();
  return consumer.ok() ? *std::move(consumer) : nullptr;
}

// Appends a record to partition 0.
void Append(EventStore& store, std::string_view payload) {
  ASSERT_EQ(store.Append({.key = "k", .payload = payload}, kT0, {.partition = 0}).outcome,
            AppendOutcome::kAppended);
}

class StoreConsumerTest : public testing::Test {
 protected:
  FaultyStorage storage_;
  std::unique_ptr<EventStore> store_ = OpenStore(storage_);
};

TEST_F(StoreConsumerTest, BeginsAtTheBeginningAndReadsOnWhereItWas) {
  {
    const auto mail = OpenConsumer(storage_);
    EXPECT_EQ(mail->partitions(), 2);
    EXPECT_EQ(mail->checkpoint(1).position, StorePosition(0));
    ASSERT_TRUE(mail->Commit({.partition = 1, .position = {17, 99}, .metadata = "a note"}).ok());
    EXPECT_EQ(mail->checkpoint(1).metadata, "a note");
  }
  const auto mail = OpenConsumer(storage_);
  EXPECT_EQ(mail->checkpoint(0).position, StorePosition(0));
  EXPECT_EQ(mail->checkpoint(1).position, StorePosition(17, 99));
  EXPECT_EQ(mail->checkpoint(1).metadata, "a note");
  EXPECT_EQ(OpenConsumer(storage_, "another")->checkpoint(1).position, StorePosition(0));
}

TEST_F(StoreConsumerTest, IsOneAtATime) {
  const auto mail = OpenConsumer(storage_);
  const absl::Status second = StoreConsumer::Open("/d", "mail", &storage_).status();
  EXPECT_TRUE(absl::IsUnavailable(second)) << second;
  EXPECT_THAT(second.message(), HasSubstr("consumers/mail"));
  EXPECT_TRUE(absl::IsUnavailable(StoreConsumer::Remove("/d", "mail", &storage_)));
}

TEST_F(StoreConsumerTest, HasANameThatIsOneOfADirectory) {
  for (const std::string& name :
       {std::string(), std::string("."), std::string("a/b"), std::string(".hidden"),
        std::string("-x"), std::string("a b"), std::string(65, 'a'), std::string("a\0b", 3)}) {
    EXPECT_TRUE(absl::IsInvalidArgument(StoreConsumer::Open("/d", name, &storage_).status()))
        << name;
  }
  EXPECT_NE(OpenConsumer(storage_, "a.b-C_9"), nullptr);
  EXPECT_NE(OpenConsumer(storage_, std::string(64, 'a')), nullptr);
}

TEST_F(StoreConsumerTest, IsOfAStoreThatIsThere) {
  EXPECT_TRUE(absl::IsNotFound(StoreConsumer::Open("/e", "mail", &storage_).status()));
  EXPECT_TRUE(absl::IsNotFound(StoreConsumer::Names("/e", &storage_).status()));
  EXPECT_THAT(storage_.Paths(), testing::Not(testing::Contains(HasSubstr("/e"))));
}

TEST_F(StoreConsumerTest, IsRefusedBesideAnotherStore) {
  ASSERT_TRUE(OpenConsumer(storage_)->Commit({.partition = 0, .position = 5}).ok());
  const std::string kept = storage_.Content("/d/consumers/mail/CHECKPOINT");
  FaultyStorage other;
  const auto store = OpenStore(other, {.identity = 8});
  OpenConsumer(other);
  other.SetContent("/d/consumers/mail/CHECKPOINT", kept);
  const absl::Status refused = StoreConsumer::Open("/d", "mail", &other).status();
  EXPECT_TRUE(absl::IsFailedPrecondition(refused)) << refused;
  EXPECT_THAT(refused.message(), HasSubstr("of another store: remove the consumer"));
  EXPECT_TRUE(StoreConsumer::Remove("/d", "mail", &other).ok());
  EXPECT_EQ(OpenConsumer(other)->checkpoint(0).position, StorePosition(0));
}

TEST_F(StoreConsumerTest, FindsEachDamagedByteAndEachLength) {
  ASSERT_TRUE(OpenConsumer(storage_)
                  ->Commit({.partition = 0, .position = {5, 6}, .metadata = "note"})
                  .ok());
  const std::string path = "/d/consumers/mail/CHECKPOINT";
  const std::string kept = storage_.Content(path);
  for (size_t i = 0; i < kept.size(); ++i) {
    std::string damaged = kept;
    damaged[i] ^= 0x10;
    for (const std::string& bytes : {damaged, kept.substr(0, i)}) {
      storage_.SetContent(path, bytes);
      const absl::Status refused = StoreConsumer::Open("/d", "mail", &storage_).status();
      EXPECT_TRUE(absl::IsDataLoss(refused)) << i << ": " << refused;
    }
  }
}

// Whatever call fails, or begins when the power goes, all partitions have the old checkpoints or all
// have the new ones; and the new ones if Commit() was OK.
TEST_F(StoreConsumerTest, CommitsAllOrNothingWhateverFails) {
  const auto checkpoint = [](int partition, uint64_t at) {
    return StoreCheckpoint{.partition = partition, .position = at};
  };
  for (size_t call = 0, calls = 1; call < calls; ++call) {
    FaultyStorage storage;
    const auto store = OpenStore(storage);
    const auto mail = OpenConsumer(storage);
    ASSERT_TRUE(mail->Commit(std::vector{checkpoint(0, 1), checkpoint(1, 1)}).ok());
    const size_t before = storage.calls();
    storage.Fail({.call = before + call, .error = EIO});
    const bool failed = !mail->Commit(std::vector{checkpoint(0, 2), checkpoint(1, 2)}).ok();
    EXPECT_EQ(mail->checkpoint(0).position.offset, failed ? 1u : 2u);
    ForEachPowerLoss(storage, kPowerLosses, call, [&](FaultyStorage left) {
      const auto found = OpenConsumer(left);
      const uint64_t at = found->checkpoint(0).position.offset;
      EXPECT_EQ(at, found->checkpoint(1).position.offset);
      EXPECT_TRUE(at == 2 || (failed && at == 1)) << at;
    });
    storage.Heal();
    const size_t begun = storage.calls();
    ASSERT_TRUE(mail->Commit({.partition = 1, .position = 3}).ok());
    calls = storage.calls() - begun;
    ForEachPowerLoss(storage, kPowerLosses, call, [&](FaultyStorage left) {
      EXPECT_EQ(OpenConsumer(left)->checkpoint(1).position.offset, 3u);
    });
  }
}

TEST_F(StoreConsumerTest, SurvivesAKillAtEachCallOfACommit) {
  ASSERT_TRUE(OpenConsumer(storage_)->Commit({.partition = 0, .position = 1}).ok());
  store_.reset();
  FaultyStorage storage = storage_;
  storage.Record();
  ASSERT_TRUE(OpenConsumer(storage)->Commit({.partition = 0, .position = 2}).ok());
  for (size_t call = 0; call <= storage.calls(); ++call) {
    FaultyStorage left = storage.At(call);
    const uint64_t at = OpenConsumer(left)->checkpoint(0).position.offset;
    EXPECT_TRUE(at == 2 || (call < storage.calls() && at == 1)) << call << ": " << at;
  }
}

TEST(StoreConsumers, AreNamedSeenAndRemoved) {
  const TemporaryDirectory directory;
  const std::string path = directory / "store";
  const auto store = *EventStore::Open(path, {.partitions = 2});
  EXPECT_THAT(*StoreConsumer::Names(path), IsEmpty());
  EXPECT_TRUE(absl::IsNotFound(StoreConsumer::Look(path, "mail").status()));
  const auto mail = *StoreConsumer::Open(path, "mail");
  const auto bills = *StoreConsumer::Open(path, "bills");
  const auto idle = *StoreConsumer::Open(path, "idle");
  ASSERT_TRUE(mail->Commit({.partition = 1, .position = 4, .metadata = "n"}).ok());
  ASSERT_TRUE(bills->Commit({.partition = 0, .position = 5}).ok());
  EXPECT_THAT(*StoreConsumer::Names(path), ElementsAre("bills", "idle", "mail"));
  const absl::StatusOr<std::vector<StoreCheckpoint>> seen = StoreConsumer::Look(path, "mail");
  ASSERT_TRUE(seen.ok()) << seen.status();
  EXPECT_EQ(seen->at(1).position.offset, 4u);
  EXPECT_EQ(seen->at(1).metadata, "n");
  EXPECT_TRUE(absl::IsUnavailable(StoreConsumer::Remove(path, "mail")));
  EXPECT_TRUE(absl::IsNotFound(StoreConsumer::Remove(path, "nobody")));
}

TEST_F(StoreConsumerTest, OpensTheStoreBesideIt) {
  ASSERT_TRUE(OpenConsumer(storage_)->Commit({.partition = 0, .position = 1}).ok());
  store_.reset();
  EXPECT_NE(OpenStore(storage_), nullptr);
}

// A page that ends there needs no second look; another one compares the record before.
TEST_F(StoreConsumerTest, ReadsOnFromAPositionWithAMark) {
  for (const char* payload : {"one", "two", "three"}) Append(*store_, payload);
  ASSERT_TRUE(store_->Commit().ok());
  StorePage page;
  ASSERT_EQ(*store_->Read(0, 0, 1 << 20, page), ReadOutcome::kRecords);
  const StorePosition end = page.position();
  EXPECT_EQ(end.offset, 3u);
  EXPECT_NE(end.mark, 0u);
  EXPECT_EQ(page.PositionAfter(2), end);
  const StorePosition middle = page.PositionAfter(0);
  EXPECT_EQ(middle.offset, 1u);
  StorePage another;
  EXPECT_EQ(*store_->Read(0, middle, 1 << 20, another), ReadOutcome::kRecords);
  EXPECT_EQ(*store_->Read(0, StorePosition(1, end.mark), 1 << 20, another),
            ReadOutcome::kPositionLost);
  EXPECT_EQ(*store_->Read(0, end, 1 << 20, page), ReadOutcome::kEnd);
  Append(*store_, "four");
  ASSERT_TRUE(store_->Commit().ok());
  StorePage other;
  for (StorePage* const each : {&page, &other}) {
    ASSERT_EQ(*store_->Read(0, end, 1 << 20, *each), ReadOutcome::kRecords);
    EXPECT_EQ(each->records()[0].payload, "four");
    EXPECT_EQ(*store_->Read(0, StorePosition(3, end.mark ^ 1), 1 << 20, *each),
              ReadOutcome::kPositionLost);
    EXPECT_THAT(each->records(), IsEmpty());
    EXPECT_EQ(*store_->Read(0, StorePosition(2, end.mark), 1 << 20, *each),
              ReadOutcome::kPositionLost);
    EXPECT_EQ(*store_->Read(0, StorePosition(9, end.mark), 1 << 20, *each),
              ReadOutcome::kPositionLost);
  }
}

// In kProcess a consumer may have read records that the power takes. Other records get their offsets,
// and the consumer is told: it does not read on in them.
TEST(StorePositions, TellRecordsThatCameInThePlaceOfLostOnes) {
  FaultyStorage storage;
  auto store = OpenStore(storage, {.durability = StoreDurability::kProcess});
  Append(*store, "kept");
  ASSERT_TRUE(store->Sync().ok());
  for (const char* payload : {"lost", "lost too"}) Append(*store, payload);
  ASSERT_TRUE(store->Commit().ok());
  StorePage page;
  ASSERT_EQ(*store->Read(0, 0, 1 << 20, page), ReadOutcome::kRecords);
  while (page.next() < 3) ASSERT_EQ(*store->Read(0, page.next(), 1, page), ReadOutcome::kRecords);
  ASSERT_TRUE(OpenConsumer(storage)->Commit({.partition = 0, .position = page.position()}).ok());
  FaultyStorage left = storage.Reboot([](uint32_t) { return 0; });
  store = OpenStore(left, {.durability = StoreDurability::kProcess});
  ASSERT_EQ(store->Durable(0), 1u);
  for (const char* payload : {"new", "new too", "new as well"}) Append(*store, payload);
  ASSERT_TRUE(store->Commit().ok());
  const StorePosition from = OpenConsumer(left)->checkpoint(0).position;
  EXPECT_EQ(*store->Read(0, from, 1 << 20, page), ReadOutcome::kPositionLost);
  const auto reader = *EventStoreReader::Open("/d", &left);
  EXPECT_EQ(*reader->Read(0, from, 1 << 20, page), ReadOutcome::kPositionLost);
  EXPECT_EQ(*reader->Read(0, from.offset, 1 << 20, page), ReadOutcome::kRecords);
}

}  // namespace
}  // namespace pleat::inline v0_1
