// A book in a partition of its own, without an engine: for tests of what a book says of itself as
// bytes. Two homes that were told the same say the same, whatever the secrets of their tables are.
#pragma once

#include <concepts>
#include <cstdint>
#include <memory>
#include <sstream>
#include <string>
#include <string_view>

#include <gtest/gtest.h>
#include <pleat/stored.h>
#include <pleat/untyped/any_live_set.h>

#include "engine/base/hash.h"
#include "engine/base/page_pool.h"
#include "engine/live/feed_book.h"
#include "engine/partition/partition.h"

namespace pleat::inline v0_1 {

// A payload that can be stored, and says what it holds.
struct Note {
  std::string text;
  int64_t number = 0;

  static constexpr uint32_t kStoredVersion = 2;
  template <class F>
  void Stored(F& f) {
    f(text);
    if (f.version() >= 2) f(number);
  }
  size_t HeapBytes() const noexcept { return text.size(); }
  friend bool operator==(const Note&, const Note&) = default;
};

// When a step happens.
struct Moment {
  EngineTime now;
  uint64_t position;
};

template <class Book>
class BookHome {
 public:
  // `secret`: of the tables. The key of names is always the same.
  template <class Options>
  BookHome(PagePool& pool, const Options& options, const PayloadOps& ops, uint64_t secret)
      : ops_(ops), hash_key_(MakeHashKey(secret, secret + 1)), partition_(schedule_, leases_) {
    if constexpr (std::constructible_from<Book, PagePool&, const Options&, const PayloadOps&,
                                          const HashKey&, const HashKey&, uint32_t>) {
      book_ = std::make_unique<Book>(pool, options, ops_, hash_key_, name_key_, 3);
    } else {
      book_ = std::make_unique<Book>(pool, options, ops_, hash_key_, 3);
    }
  }

  // Calls `change(instant)`.
  template <class Change>
  auto Do(const Moment& moment, const Change& change) {
    LockGuard guard(partition_.lock());
    return partition_.DoOneOfMany(partition_.CopyFirst(), *book_, moment.now, LeaseTime(moment.now),
                                  moment.position, change);
  }
  void CloseDue(const Moment& moment) {
    Budget budget;
    ASSERT_TRUE(Do(moment, [&](const Instant& at) { return book_->CloseDue(at, budget); }));
  }

  std::string Saved() const {
    FieldWriter out;
    book_->Save(out);
    return std::string(out.bytes());
  }
  // Whether the bytes are those of a book.
  bool Load(std::string_view bytes, const Moment& moment) {
    FieldReader in(bytes);
    in.set_version(ops_.stored_version);
    Do(moment, [&](const Instant& at) { book_->Load(in, at); });
    next_change_ = book_->changes().next();
    return in.done();
  }

  void Keep() {
    book_->changes().Keep();
    next_change_ = book_->changes().next();
  }
  // The changes since the last call, if they are kept.
  std::string Changes() {
    std::ostringstream out;
    ChangeLog& log = book_->changes();
    for (; log.keeps() && next_change_ < log.next(); ++next_change_) {
      const AnyChange change = log.at(next_change_);
      out << change.change.number << ' ' << CauseName(change.cause) << ' '
          << change.at.time_since_epoch().count() << ' ' << change.series << '/' << change.id << ' '
          << change.count << ' ' << change.away << ' ' << change.stamp.time_since_epoch().count()
          << ' ' << change.deadline.time_since_epoch().count();
      if (change.payload != nullptr) out << ' ' << static_cast<const Note*>(change.payload)->text;
      out << '\n';
    }
    return out.str();
  }

  Book& book() { return *book_; }
  const Book& book() const { return *book_; }
  PackedKey NameOf(std::string_view series) const { return PackedKey(series); }
  uint64_t HashOf(const PackedKey& name) const { return name.HashWith(hash_key_); }

 private:
  const PayloadOps ops_;
  const HashKey hash_key_;
  const HashKey name_key_ = MakeHashKey(11, 12);
  Schedule schedule_{Schedule::Clock::kEngine};
  Schedule leases_{Schedule::Clock::kLeases};
  Partition partition_;
  std::unique_ptr<Book> book_;
  uint64_t next_change_ = 0;
};

}  // namespace pleat::inline v0_1
