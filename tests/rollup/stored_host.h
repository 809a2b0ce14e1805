// One rollup book, with the partition, the store and the consumers around it, for tests that save
// and load books. Every call answers with a text; two hosts whose books are equal give equal texts
// to equal calls.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include <pleat/rollup.h>

#include "engine/base/hash.h"
#include "engine/partition/partition.h"
#include "engine/rollup/rollup_book.h"

namespace pleat::inline v0_1 {

// The options that may change, but for limits, leases and on_late.
struct Periods {
  Duration retention{0};
  Duration forget_after = kForever;

  void SetIn(RollupOptions& options) const {
    options.retention = retention;
    options.forget_after = forget_after;
  }
};

// One call on a host; which fields mean something depends on `what`.
struct StoredCall {
  enum What : uint8_t {
    kAdd,
    kClear,
    kRead,
    kVisit,
    kPop,
    kLend,
    kAck,
    kNack,
    kDeadLetters,
    kExpire,
    kPublish,
    kOthers,  // another instance publishes
    kCloseAll,
    kSetOptions,
    kWhats
  };
  What what = kRead;
  EngineTime now;  // of the call
  std::string key = "key";
  Delta delta = 1;
  EngineTime at;
  std::string id;
  uint64_t number = 0;  // how many, or which one
  bool fails = false;   // the store does
  Periods periods = {};
};

class StoredHost {
 public:
  // `secret`: of the tables' hashes, another one in each process.
  StoredHost(const RollupOptions& options, uint64_t secret);
  // A host after a restart of `before`: the same world, and a new book.
  StoredHost(const StoredHost& before, uint64_t secret);

  std::string Apply(const StoredCall& call);

  std::string Save();
  // Whether all bytes were read, and rightly.
  bool Load(std::string_view bytes);

  // All that shows without a call, but for ids that are over: when a table drops these, with a
  // budget, depends on how it was filled.
  std::string Look();
  EngineTime next_due() const { return book_.NextDue(); }
  void CheckWhole() const { book_.CheckWhole(); }
  RollupBook& book() { return book_; }

  std::string Add(std::string_view key, EngineTime at, EngineTime now, Delta delta = 1,
                  std::string_view id = {});
  // Adds events as a batch does, which looks ahead.
  void AddTogether(const std::vector<StoredCall>& events);
  // Everything that a user can ask about a key.
  std::string Read(const std::string& key, EngineTime now);
  std::string Pop(uint64_t max, EngineTime now);
  std::shared_ptr<const SharedCount> Share(std::string_view key, EngineTime now);
  // The steps of a Publish(): what is begun and not ended has no answer.
  size_t BeginPublish(uint64_t max, EngineTime now);
  std::string EndPublish(bool fails, EngineTime now);
  bool publishes() const { return !asked_.empty(); }
  std::map<std::string, Checkpoint>& store() { return store_; }

 private:
  template <class Change>
  auto Do(EngineTime now, const Change& change) {
    LockGuard guard(partition_.lock());
    return partition_.DoOneOfMany(partition_.CopyFirst(), book_, now, LeaseTime(now), position_++,
                                  change);
  }
  uint64_t HashOf(const PackedKey& key) const { return key.HashWith(hash_key_); }
  std::string Clear(const StoredCall& call);
  std::string Visit(const StoredCall& call);
  std::string Lend(const StoredCall& call);
  std::string EndLease(const StoredCall& call);
  std::string RetryDeadLetters(const StoredCall& call);
  std::string CloseAll(const StoredCall& call);
  std::string SetOptions(const StoredCall& call);
  absl::StatusOr<Checkpoint> Keep(const std::string& key, const Checkpoint& ours, bool fails);

  RollupOptions options_;
  const HashKey hash_key_;
  const HashKey name_key_ = MakeHashKey(17, 4);
  PagePool pool_;
  Schedule schedule_{Schedule::Clock::kEngine};
  Schedule leases_{Schedule::Clock::kLeases};
  Partition partition_{schedule_, leases_};
  const Outbox::Listeners listeners_;
  RollupBook book_;

  // The world, which a restart leaves as it is.
  uint64_t position_ = 0;
  std::map<std::string, Checkpoint> store_;
  std::vector<LeaseToken> tokens_;

  std::vector<std::string> asked_;  // keys whose Publish() is under way
};

}  // namespace pleat::inline v0_1
