// A book that is loaded takes few bytes beside its entries: a run that goes on from its snapshot keeps to
// the memory that it had before. Tables and sequences lie in pages; all else that loading takes is on the
// heap, and counted here.
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string>

#include <gtest/gtest.h>
#include <pleat/live_set.h>
#include <pleat/presence.h>

#include "engine/live/live_set_book.h"
#include "engine/live/presence_book.h"
#include "tests/live/book_home.h"
#include "tests/support/allocations.h"
#include "tests/support/sanitized.h"
#include "tests/support/start.h"

namespace pleat::inline v0_1 {
namespace {

using namespace std::chrono_literals;
using Event = LiveSetEvent<NoPayload>;

const Moment kLast{kT0 + 1s, uint64_t{1} << 30};
constexpr size_t kMany = kSanitized ? 20'000 : 100'000;
// For the keys that are sorted at once, and what tables know of their pages.
constexpr size_t kFixed = size_t{2} << 20;

// The bytes of all that was allocated while the book was loaded, with those that were given back.
template <class Book, class Options>
size_t BytesToLoad(const BookHome<Book>& saved, const Options& options) {
  const std::string bytes = saved.Saved();
  PagePool pool;
  BookHome<Book> loaded(pool, options, PayloadOpsFor<NoPayload>(), /*secret=*/2);
  const size_t before = AllocatedBytes();
  EXPECT_TRUE(loaded.Load(bytes, kLast));
  const size_t after = AllocatedBytes();
  EXPECT_TRUE(loaded.Saved() == bytes);
  return after - before;
}

class LoadingMemory : public testing::Test {
 protected:
  void SetUp() override {
    if (!CountsAllocations()) GTEST_SKIP() << "allocations are not counted here";
  }

  // Of a live set of so many series, each with so many members, which have TTLs of their own if `own`.
  static size_t OfLiveSet(size_t series, size_t members, bool own = false) {
    const LiveSetOptions options{.ttl = 1h};
    PagePool pool;
    BookHome<LiveSetBook> home(pool, options, PayloadOpsFor<NoPayload>(), /*secret=*/1);
    uint64_t position = 0;
    for (size_t m = 0; m < members; ++m) {
      const std::string id = "member " + std::to_string(m);
      for (size_t s = 0; s < series; ++s) {
        const std::string series_name = "series " + std::to_string(s);
        const PackedKey name = home.NameOf(series_name);
        const Event event{.id = id, .ttl = own ? 2h : 0h};
        const EventRef ref{name, home.HashOf(name), &event, kT0};
        home.Do({kT0, ++position},
                [&](const Instant& at) { home.book().FoldSlowly(ref, home.book().Find(ref), at); });
      }
    }
    return BytesToLoad(home, options);
  }

  // Of a presence of so many series, with so many users in each, who have so many connections.
  static size_t OfPresence(size_t series, size_t users, size_t connections) {
    const PresenceOptions options{.ttl = 1h};
    PagePool pool;
    BookHome<PresenceBook> home(pool, options, PayloadOpsFor<NoPayload>(), /*secret=*/1);
    uint64_t position = 0;
    for (size_t c = 0; c < connections; ++c) {
      const std::string connection = "connection " + std::to_string(c);
      for (size_t u = 0; u < users; ++u) {
        const std::string user = "user " + std::to_string(u);
        for (size_t s = 0; s < series; ++s) {
          const std::string series_name = "series " + std::to_string(s);
          const PackedKey name = home.NameOf(series_name);
          const PresenceBook::Who who{{name, home.HashOf(name)}, user, connection};
          home.Do({kT0, ++position},
                  [&](const Instant& at) { home.book().Enter(who, nullptr, kT0, at); });
        }
      }
    }
    return BytesToLoad(home, options);
  }
};

// A series takes its number, 4 bytes.
TEST_F(LoadingMemory, AMemberOfASmallSeriesTakesNone) {
  EXPECT_LT(OfLiveSet(3 * kMany, 1), kFixed + 3 * kMany * 5);
  EXPECT_LT(OfLiveSet(kMany, 3), kFixed + kMany * 5);
  EXPECT_LT(OfLiveSet(kMany * 3 / 100, 100), kFixed + kMany * 3 / 100 * 5);
  EXPECT_LT(OfLiveSet(3 * kMany, 1, /*own=*/true), kFixed + 3 * kMany * 5);
}

// The members of the largest series are there a second time, as numbers, while they are put in order.
TEST_F(LoadingMemory, AMemberOfOneLargeSeriesTakesFourBytes) {
  EXPECT_LT(OfLiveSet(1, 3 * kMany), kFixed + 3 * kMany * 5);
  EXPECT_LT(OfLiveSet(1, 3 * kMany, /*own=*/true), kFixed + 3 * kMany * 5);
}

// A user takes a number; the largest series have those of their members.
TEST_F(LoadingMemory, AConnectionTakesNoneButInALargeSeries) {
  EXPECT_LT(OfPresence(kMany / 100, 100, 3), kFixed + kMany * 5);
  EXPECT_LT(OfPresence(kMany, 1, 1), kFixed + kMany * 20);
  EXPECT_LT(OfPresence(1, kMany, 3), kFixed + kMany * 5 + kMany * 4 + 3 * kMany * 4);
}

}  // namespace
}  // namespace pleat::inline v0_1
