// A MessageStream has the messages of a lane that came of one collection, or of Lane::Emit(), in
// their order: made, decided, lent, confirmed. Messages that an earlier owner has confirmed are
// counted, and not kept.
//
// The messages of a key form a line, of which only the first can be lent. Messages are looked at in
// their order, once; those before `looked_at_` that can be lent are in `ready_`, and those that are
// lent in `leases_`. So a message that is lent once and confirmed in its turn takes O(1), and any
// other O(log messages), however many wait and whatever their keys are.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include <absl/container/btree_map.h>
#include <absl/container/btree_set.h>
#include <absl/container/flat_hash_set.h>
#include <absl/functional/function_ref.h>
#include <absl/hash/hash.h>
#include <absl/strings/string_view.h>
#include <pleat/batch.h>
#include <pleat/processor.h>
#include <pleat/time.h>

#include "engine/lanes/lane_checkpoint.h"

namespace pleat::inline v0_1 {

class MessageStream {
 public:
  struct Entry {
    std::string key;
    std::string payload;
    size_t key_hash = 0;
    uint64_t before = kNone;  // of its line: the messages of its key that are not confirmed
    uint64_t behind = kNone;
    uint64_t lent_by = 0;  // the last call of Lend()
    EngineTime lent_until = kBeginningOfTime;
    bool is_lent = false;
  };

  explicit MessageStream(std::string_view name)
      : name_(name), name_hash_(static_cast<uint32_t>(StablePartitionHash(name))) {}
  MessageStream(const MessageStream&) = delete;
  MessageStream& operator=(const MessageStream&) = delete;

  const std::string& name() const { return name_; }
  uint32_t name_hash() const { return name_hash_; }
  // How many messages were made, and their digest.
  uint64_t made() const { return made_; }
  uint64_t digest() const { return digest_; }
  // The number of the first message that is not confirmed, or is to come.
  uint64_t confirmed() const { return made_ - entries_.size(); }
  uint64_t waiting() const { return waiting_; }
  uint64_t bytes() const { return bytes_; }

  void Add(std::string_view key, std::string payload);

  // Before the first message: what a snapshot says of those that are made, and what the last commit
  // says of those that are confirmed.
  void StartAt(uint64_t made, uint64_t digest, const StreamCheckpoint& last);

  // Behind that: one that was set aside counts as confirmed.
  void CountConfirmed(uint64_t number);

  // For a commit; and when it was taken: messages before `decided` may be lent.
  StreamCheckpoint Checkpoint() const;
  void SetDecided(uint64_t decided) { decided_ = decided; }
  bool has_undecided() const { return decided_ < made_; }

  // Lends up to `max` messages until then, in their order. A message whose key has one before that
  // is not confirmed waits, unless the call lends that, too, and may.
  using Take = absl::FunctionRef<void(uint64_t number, const Entry& entry)>;
  size_t Lend(size_t max, EngineTime now, EngineTime until, LeaseKeys keys, Take take);
  // One that is decided, and not confirmed. Null: there is none.
  const Entry* FindDecided(uint64_t number) const {
    return number < decided_ ? Find(number) : nullptr;
  }
  // False: no such message waits.
  bool Confirm(uint64_t number);
  // False: no such message is lent.
  bool LendAgain(uint64_t number, EngineTime at);

 private:
  static constexpr uint64_t kNone = UINT64_MAX;

  // Of the last message of a line, by its key.
  struct Key {
    std::string_view bytes;
    size_t hash;
  };
  struct KeyHash {
    using is_transparent = void;
    const MessageStream* stream;
    size_t operator()(uint64_t number) const { return stream->at(number).key_hash; }
    size_t operator()(const Key& key) const { return key.hash; }
  };
  struct KeyEqual {
    using is_transparent = void;
    const MessageStream* stream;
    bool operator()(uint64_t a, uint64_t b) const { return a == b; }
    bool operator()(uint64_t a, const Key& key) const { return stream->at(a).key == key.bytes; }
    bool operator()(const Key& key, uint64_t a) const { return stream->at(a).key == key.bytes; }
  };
  struct LeaseEnd {
    EngineTime until;
    uint64_t number;

    // For a heap whose front ends first.
    friend bool operator<(const LeaseEnd& a, const LeaseEnd& b) { return a.until > b.until; }
  };

  static uint64_t BytesIn(const Entry& entry) {
    return sizeof(Entry) + entry.key.size() + entry.payload.size();
  }
  Entry& at(uint64_t number) { return *entries_[number - confirmed()]; }
  const Entry& at(uint64_t number) const { return *entries_[number - confirmed()]; }
  // Null: it is confirmed, or was not made.
  const Entry* Find(uint64_t number) const {
    const bool is_here = number >= confirmed() && number < made_;
    return is_here ? entries_[number - confirmed()].get() : nullptr;
  }
  bool WasConfirmed(uint64_t number) const;
  void AddConfirmed(uint64_t number);
  bool CanBeLent(uint64_t number, LeaseKeys keys) const;
  bool MakeReady(uint64_t number);
  void LeaveLine(uint64_t number, const Entry& entry);
  void SetLease(uint64_t number, EngineTime until);
  bool IsCurrent(const LeaseEnd& lease) const;
  void EndLeases(EngineTime now);

  const std::string name_;
  const uint32_t name_hash_;
  uint64_t made_ = 0;
  uint64_t digest_ = 0;
  uint64_t decided_ = 0;
  // The last ones that were made, from the first that is not confirmed on; null are confirmed.
  std::deque<std::unique_ptr<Entry>> entries_;
  uint64_t waiting_ = 0;  // of these
  absl::flat_hash_set<uint64_t, KeyHash, KeyEqual> last_of_keys_{0, KeyHash{this}, KeyEqual{this}};
  uint64_t looked_at_ = 0;  // the messages before this number
  absl::btree_set<uint64_t> ready_;
  std::vector<LeaseEnd> leases_;  // a heap by the end; those that ended otherwise are here still
  uint64_t lent_ = 0;
  uint64_t lend_calls_ = 0;
  // Begin and end of the numbers that are confirmed and lie above the first that is not.
  absl::btree_map<uint64_t, uint64_t> confirmed_above_;
  uint64_t confirmed_before_ = 0;  // by the owner before, as far as messages were made again
  uint64_t bytes_ = 0;
};

}  // namespace pleat::inline v0_1
