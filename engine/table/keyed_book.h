// A KeyedBook is a Book that takes events by key, one by one or in batches: what a KeyedCollection
// asks of its books. The compiler checks it. A book that derives from KeyedBookDefaults writes only
// those members where it differs.
#pragma once

#include <concepts>
#include <cstddef>
#include <type_traits>

#include "engine/base/book.h"
#include "engine/table/event_ref.h"

namespace pleat::inline v0_1 {

// What most books have alike. `Tally` is the OutcomeCounts of their events; `kOfPlain` is the outcome of
// an event that FoldPlainly() took.
template <class Tally, typename Tally::Outcome kOfPlain>
struct KeyedBookDefaults {
  using Counts = Tally;
  using Outcome = Counts::Outcome;
  static constexpr Outcome kPlain = kOfPlain;
  // Whether FoldPlainly() needs a position.
  static constexpr bool kPlainTakesPosition = false;
  // Whether PrefetchRest() helps short keys, too.
  static constexpr bool kPrefetchesRest = false;
  // Whether events of one key often follow each other; then there is PrefetchDirectory(), the step
  // before PrefetchIndex().
  static constexpr bool kKeysRepeat = false;
  // Whether an event is refused though its key is not too long.
  static bool IsTooLong(const void* /*event*/) noexcept { return false; }
  // A look ahead, which finds and fetches nothing.
  struct Guess {};
  static void PrefetchIndex(const EventRef& /*event*/, const auto& /*guess*/) noexcept {}
  static void PrefetchEntry(const EventRef& /*event*/, const auto& /*guess*/) noexcept {}
  static void PrefetchRest(const auto& /*guess*/) noexcept {}
  // Does what FoldPlainly() has left. Called before the lock is released, and by FoldSlowly().
  static void Settle(const Instant& /*at*/) noexcept {}
};

template <class B>
concept KeyedBook =
    std::derived_from<B, Book> &&
    std::derived_from<B, KeyedBookDefaults<typename B::Counts, B::kPlain>> &&
    // The answer to an event.
    std::is_enum_v<typename B::Outcome> &&
    requires {
      B::Outcome::kFuture;
      B::Outcome::kOverLimit;
      B::Outcome::kStopped;
      B::Outcome::kWouldDeadlock;
      B::Outcome::kElsewhere;
      B::Outcome::kReplayed;
    } &&
    // An Entry is where an event goes: the entry of its key. A Guess is what a look ahead has found
    // of it so far, in three steps, each of which fetches for the next one.
    requires(const B& book, const EventRef& event, B::Guess& guess, const Newcomers& newcomers) {
      { book.Find(event) } -> std::same_as<typename B::Entry>;
      book.PrefetchIndex(event, guess);
      book.PrefetchEntry(event, guess);
      book.PrefetchRest(guess);
      { book.Find(event, guess, newcomers) } -> std::same_as<typename B::Entry>;
    } &&
    (!B::kKeysRepeat || requires(const B& book, const EventRef& event,
                                 B::Guess& guess) { book.PrefetchDirectory(event, guess); }) &&
    requires(B& book, const EventRef& event, const B::Entry& entry, B::Outcome why,
             const Instant& at) {
      // Takes the event if that is easy and makes no deadline earlier; if not, changes nothing.
      { book.FoldPlainly(event, entry, at) } -> std::same_as<bool>;
      // Takes any event.
      { book.FoldSlowly(event, entry, at) } -> std::same_as<typename B::Outcome>;
      // Counts an event that goes no further, and returns why.
      { book.Refuse(why, at) } -> std::same_as<typename B::Outcome>;
      book.Settle(at);
    };

}  // namespace pleat::inline v0_1
