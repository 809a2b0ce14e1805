// A live set or a presence to which the same calls happen for the same seed; and what has to hold
// where it is saved meanwhile: the bytes are those of the moment at which the saving began, and it
// goes on as if it had not been saved.
#pragma once

#include <cstdint>
#include <random>
#include <string>

#include <gtest/gtest.h>

#include "tests/live/book_home.h"
#include "tests/support/seeds.h"
#include "tests/support/share.h"
#include "tests/support/start.h"

namespace pleat::inline v0_1 {

template <class Book>
class DrawnFeed {
 public:
  template <class Options>
  DrawnFeed(PagePool& pool, const Options& options, uint64_t seed, uint64_t secret)
      : home_(pool, options, PayloadOpsFor<Note>(), secret), random_(seed) {}
  virtual ~DrawnFeed() = default;

  Book& book() { return home_.book(); }
  std::string Saved() const { return home_.Saved(); }

  // Returns what the book has answered.
  std::string Calls(int count) {
    std::string answers;
    for (; count > 0; --count) answers += std::to_string(Call()) + ' ';
    return answers + home_.Changes();
  }

  // Whether another book has the same bytes when it has loaded them.
  template <class Options>
  bool Loads(PagePool& pool, const Options& options) const {
    BookHome<Book> loaded(pool, options, PayloadOpsFor<Note>(), 3);
    const std::string bytes = Saved();
    if (!loaded.Load(bytes, Here())) return false;
    loaded.book().CheckWhole();
    return loaded.Saved() == bytes;
  }

 protected:
  virtual size_t Call() = 0;
  uint64_t Draw(uint64_t below) { return random_() % below; }
  // Short and long ones.
  static std::string NameOf(uint64_t number) {
    return std::string(number % 5 == 0 ? 30 : number % 7, 'x') + std::to_string(number);
  }
  Moment Here() const { return {now_, position_}; }
  Moment Next() {
    if (Draw(4) == 0) now_ += Duration(Draw(30'000));
    if (Draw(1000) == 0) now_ += Duration(Draw(8'000'000));
    return {now_, position_ += 1 + Draw(2)};
  }

  BookHome<Book> home_;
  EngineTime now_ = kT0;
  uint64_t position_ = 100;

 private:
  std::mt19937_64 random_;
};

// `Drawn` is made of `options`; `book_options` are those of its book.
template <class Drawn, class Options, class BookOptions>
void ExpectBytesOfTheBeginning(const Options& options, const BookOptions& book_options) {
  ForEachSeed(1, ShareOf({.whole = 4, .usual = 2, .sanitized = 1}), [&](uint64_t seed) {
    std::mt19937_64 random(seed);
    PagePool pool;
    Drawn drawn(pool, options, seed, 1);
    Drawn twin(pool, options, seed, 2);
    const auto call_both = [&](int count) { ASSERT_EQ(drawn.Calls(count), twin.Calls(count)); };
    for (int round = 0; round < 4 && !testing::Test::HasFailure(); ++round) {
      call_both(static_cast<int>(random() % 2000));
      const std::string expected = twin.Saved();
      FieldWriter out;
      UncountedCopies copies;
      for (bool more = drawn.book().BeginSave(out, copies); more;) {
        call_both(static_cast<int>(random() % 40));
        if (random() % 200 == 0) break;
        more = drawn.book().SaveNext(out);
        ASSERT_TRUE(more || out.bytes() == expected);
      }
      drawn.book().EndSave();
      drawn.book().CheckWhole();
      ASSERT_EQ(drawn.book().ledger(), twin.book().ledger());
      ASSERT_EQ(drawn.book().sizes(), twin.book().sizes());
      ASSERT_TRUE(drawn.Saved() == twin.Saved());
    }
    ASSERT_TRUE(drawn.Loads(pool, book_options));
  });
}

}  // namespace pleat::inline v0_1
