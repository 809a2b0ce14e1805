// BuriedMessages are the messages of a lane that are not to be delivered until a person has looked at
// them. Each is kept whole, and counts as confirmed, so that nothing waits for it: no later message of
// its key, no snapshot, no stop.
//
// All of them are a *book* of their own, which is kept before the commit that counts a new one. One that
// is revived is lent again, beside the messages of its stream, and stays in the book until it is acked.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <absl/functional/function_ref.h>
#include <pleat/processor.h>
#include <pleat/time.h>

namespace pleat::inline v0_1 {

class BuriedMessages {
 public:
  using Name = std::pair<uint32_t, uint64_t>;  // of the stream, by its hash; and the number
  struct Entry {
    std::string key;
    std::string payload;
    std::string reason;
    bool is_revived = false;
    EngineTime lent_until = kBeginningOfTime;

    template <class F>
    void Stored(F& f) {
      f(key, payload, reason, is_revived);
    }
  };

  explicit BuriedMessages(const ProcessorOptions& options) : options_(options) {}

  const std::map<Name, Entry>& all() const { return entries_; }
  bool Has(Name name) const { return entries_.contains(name); }

  // The names of streams by their hashes, of all messages that were buried here, and of those that
  // the book has.
  const std::map<uint32_t, std::string>& streams() const { return streams_; }

  // False: no room.
  bool Bury(Name name, std::string_view stream, std::string_view key, std::string_view payload,
            std::string_view reason);
  // False: there is none, or it is not revived.
  bool BuryAgain(Name name, std::string_view reason);
  bool Confirm(Name name);
  bool LendAgain(Name name, EngineTime at);
  // False: there is none, or it is revived.
  bool Revive(Name name);
  // False: there is none.
  bool Drop(Name name);

  // Lends up to `max` revived ones, of a key one at a time. O(all) if there is any.
  using Take = absl::FunctionRef<void(const Name& name, const Entry& entry)>;
  size_t Lend(size_t max, EngineTime now, EngineTime until, Take take);

  // --- The book

  bool has_book() const { return !entries_.empty(); }
  std::string Book(uint64_t life) const;
  // False: the bytes are not such a book of that life.
  bool ReadBook(std::string_view bytes, uint64_t life, uint64_t number);
  // Whether it differs from the one that was kept last, whose number follows.
  bool is_changed() const { return is_changed_; }
  std::optional<uint64_t> number() const { return number_; }
  void SetNumber(std::optional<uint64_t> number);
  // The book is to be kept anew behind a snapshot: what is older than both is removed.
  void KeepAnew() { is_changed_ |= has_book(); }

 private:
  static uint64_t BytesIn(const Entry& entry);
  Entry* Find(Name name, bool is_revived);

  const ProcessorOptions& options_;
  std::map<Name, Entry> entries_;
  std::map<uint32_t, std::string> streams_;
  uint64_t bytes_ = 0;
  uint64_t revived_ = 0;
  bool is_changed_ = false;
  std::optional<uint64_t> number_;
};

}  // namespace pleat::inline v0_1
