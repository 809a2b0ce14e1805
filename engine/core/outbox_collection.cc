#include "engine/core/outbox_collection.h"

#include <algorithm>
#include <bitset>

#include <absl/container/inlined_vector.h>
#include <pleat/metrics.h>

#include "engine/base/inside.h"

namespace pleat::inline v0_1 {
namespace {

// How many tokens are sorted by partition at a time, and acked under one lock at most.
constexpr size_t kAcksAtOnce = 256;

// How many emissions a drain finds behind dead letters before others get the lock.
constexpr size_t kPassedAtOnce = 1024;

}  // namespace

// --- Handing out

// The book of a partition, and the emission that it would hand out next.
class OutboxCollection::Head {
 public:
  Head() = default;
  Head(OutboxBook& book, Partition& partition) noexcept : book_(&book), partition_(&partition) {}

  OutboxBook& book() const noexcept { return *book_; }
  Outbox& outbox() const noexcept { return book_->outbox(); }
  Partition& partition() const noexcept { return *partition_; }
  const Handout& next() const noexcept { return next_; }

  void set_next(const Handout& next) noexcept {
    next_ = next;
    ranked_ = false;
    const bool queued = next && next.what() != Handout::What::kReturned;
    from_ = queued ? next.ready().ripe : EngineTime::min();
  }

  // In the order of emissions.
  bool IsBefore(const Head& other) const noexcept {
    if (from_ != other.from_) return from_ < other.from_;
    if (from_ == EngineTime::min()) return next_.returned().IsBefore(other.next_.returned());
    return Outbox::IsBeforeAtOnce(
        next_.ready(), other.next_.ready(), [this] { return rank(); },
        [&other] { return other.rank(); });
  }

 private:
  // Asked for once: where many windows end at one instant, ranks decide all.
  const OutboxEntries::Rank& rank() const noexcept {
    if (!ranked_) rank_ = book_->outbox().RankOf(next_.ready());
    ranked_ = true;
    return rank_;
  }

  EngineTime from_ = EngineTime::min();  // when the next one became ready; came back: before all
  Handout next_;
  OutboxBook* book_ = nullptr;
  Partition* partition_ = nullptr;
  mutable OutboxEntries::Rank rank_;
  mutable bool ranked_ = false;
};

// A heap of heads, the first one in the order of emissions at its top. The one at the top changes
// more often than heads come and go.
class OutboxCollection::Heads {
 public:
  // Room for so many.
  explicit Heads(size_t room) : memory_(room), order_(room), heap_(order_.data()) {}

  bool empty() const noexcept { return size_ == 0; }
  Head& top() noexcept { return *heap_[0]; }
  void Clear() noexcept { size_ = 0; }
  // Behind the last one call Order().
  void Add(const Head& head) noexcept {
    memory_[size_] = head;
    heap_[size_] = &memory_[size_];
    ++size_;
  }
  void Order() noexcept {
    for (size_t i = size_ / 2; i-- > 0;) Sink(i);
  }
  void SinkTop() noexcept { Sink(0); }
  void RemoveTop() noexcept {
    heap_[0] = heap_[--size_];
    if (size_ > 0) Sink(0);
  }

 private:
  // Down to a leaf, and up from there: the book that has handed out last mostly comes last again.
  void Sink(size_t top) noexcept {
    Head* const sinking = heap_[top];
    size_t at = top;
    for (size_t below = 2 * at + 1; below < size_; below = 2 * at + 1) {
      if (below + 1 < size_ && heap_[below + 1]->IsBefore(*heap_[below])) ++below;
      heap_[at] = heap_[below];
      at = below;
    }
    for (; at > top && sinking->IsBefore(*heap_[(at - 1) / 2]); at = (at - 1) / 2) {
      heap_[at] = heap_[(at - 1) / 2];
    }
    heap_[at] = sinking;
  }

  absl::InlinedVector<Head, 16> memory_;
  absl::InlinedVector<Head*, 16> order_;
  Head** const heap_;
  size_t size_ = 0;
};

bool OutboxCollection::MayHave(PartitionRange of) const noexcept {
  const PartitionRange range = Clip(of);
  for (int begin = range.begin; begin < range.end;) {
    const int end = std::min(range.end, (begin / 64 + 1) * 64);
    const uint64_t bits = ~uint64_t{0} >> (64 - (end - begin)) << begin % 64;
    const auto& filled = filled_[static_cast<size_t>(begin / 64)];
    if ((filled.load(std::memory_order_acquire) & bits) != 0) return true;
    begin = end;
  }
  return false;
}

// A look at the books of `range` under their locks, and how far it got.
struct OutboxCollection::Round {
  const PartitionRange range;
  const size_t max;
  const bool lends;
  const bool closing;  // books have more than what is due
  Heads& heads;
  EngineTime now{};
  LeaseTime leases{};
  size_t handed_out = 0;
  bool known = true;  // the next emission, of every book
};

// Merges the emissions of the partitions, and hands out up to `max` of them by `hand_out(head, at)`,
// which hands out the next one of the book `head`. A book that has taken back many leases, or passed
// many emissions that wait for their key, says kLater: then nothing is known of it, and if that is so
// from the beginning, nothing is handed out. REQUIRES: the partitions are locked.
template <class HandOut>
[[gnu::always_inline]] inline void OutboxCollection::HandOutLocked(
    Round& round, const HandOut& hand_out) ABSL_NO_THREAD_SAFETY_ANALYSIS {
  Heads& heads = round.heads;
  heads.Clear();
  round.known = true;
  // One operation: `before` of the head, and a look at the emission that comes next.
  const auto look = [&](Head& head, const auto& before) ABSL_NO_THREAD_SAFETY_ANALYSIS {
    Partition& partition = head.partition();
    OutboxBook& book = head.book();
    partition.DoOneOfMany(partition.CopyFirst(), book, round.now, round.leases,
                          engine().timeline().TakePositions(1), [&](const Instant& at) {
                            head.set_next(before(at) ? book.NextHandout(at, round.lends)
                                                     : Handout(Handout::What::kLater));
                          });
    round.known &= head.next().what() != Handout::What::kLater;
    return static_cast<bool>(head.next());
  };
  for (int i = round.range.begin; i < round.range.end; ++i) {
    const Home& home = this->home(static_cast<size_t>(i));
    if (home.book == nullptr) continue;
    const bool is_empty = BookIn(home).outbox().backlog() == 0;
    if (is_empty && !round.closing && !home.partition->MayBeDue(round.now)) continue;
    Head head(BookIn(home), *home.partition);
    if (look(head, [&](const Instant& at) { return head.outbox().TakeBack(at); })) {
      heads.Add(head);
    }
  }
  heads.Order();
  while (round.known && round.handed_out < round.max && !heads.empty()) {
    Head& head = heads.top();
    const bool more = look(head, [&](const Instant& at) {
      hand_out(head, at);
      return true;
    });
    ++round.handed_out;
    more ? heads.SinkTop() : heads.RemoveTop();
  }
}

// Hands out under the locks of `range`; `end()` comes before they are given back. If a book says
// kLater, others have their turn at the locks: then all begin again, or, if something was handed
// out, the call ends.
template <class HandOut, class End>
size_t OutboxCollection::HandOutRange(size_t max, PartitionRange range, bool lends,
                                      const HandOut& hand_out,
                                      const End& end) ABSL_NO_THREAD_SAFETY_ANALYSIS {
  if (range.empty() || max == 0) return 0;
  Timeline& timeline = engine().timeline();
  Heads heads(static_cast<size_t>(range.end - range.begin));
  Round round{.range = range, .max = max, .lends = lends, .closing = false, .heads = heads};
  do {
    LockRange(range);
    round.now = timeline.now();
    round.leases = timeline.lease_now();
    HandOutLocked(round, hand_out);
    end();
    for (int i = range.begin; i < range.end; ++i) {
      const Home& home = this->home(static_cast<size_t>(i));
      if (home.book == nullptr) continue;
      if (lends) home.partition->Publish(*home.book);
      BookIn(home).outbox().NoteIfDrained();
    }
    HandOverRange(range);
  } while (!round.known && round.handed_out == 0);
  return round.handed_out;
}

size_t OutboxCollection::Pop(size_t max, PartitionRange from, AnyCollection::Take take) {
  const Call call;
  if (IsEmpty(from)) return 0;
  const PartitionRange range = Clip(from);
  const bool is_one = range.end - range.begin == 1;
  if (is_one) return PopOne(max, home(static_cast<size_t>(range.begin)), take);
  GivenRun run(take);
  return HandOutRange(
      max, range, /*lends=*/false,
      [&](const Head& head, const Instant& at) { head.outbox().Pop(head.next(), at, run); },
      [&] { run.HandOver(); });
}

// Of one partition, with nothing to merge.
size_t OutboxCollection::PopOne(size_t max, const Home& home, AnyCollection::Take take) {
  if (max == 0) return 0;
  size_t popped = 0;
  bool known = true;
  do {
    LongLockGuard guard(home.partition->lock());
    if (home.book == nullptr) return 0;
    OutboxBook& book = BookIn(home);
    const EngineTime now = engine().timeline().now();
    if (book.outbox().backlog() == 0 && !home.partition->MayBeDue(now)) return 0;
    Do(home, [&](const Instant& at) {
      known = book.outbox().TakeBack(at);
      if (known) popped = book.Pop(at, max, take, known);
    });
    book.outbox().NoteIfDrained();
  } while (!known && popped == 0);
  return popped;
}

size_t OutboxCollection::Lease(size_t max, Duration visibility_timeout, PartitionRange from,
                               Outbox::Borrow borrow) {
  if (IsEmpty(from)) return 0;
  const LeaseToken origin{.epoch = engine().epoch(), .collection = number()};
  return HandOutRange(
      max, Clip(from), /*lends=*/true,
      [&](const Head& head, const Instant& at) {
        head.outbox().Lend(head.next(), at, visibility_timeout, origin, borrow);
      },
      [] {});
}

// --- Closing

void OutboxCollection::FinishClosing(EngineTime now, LeaseTime leases) {
  DoInEach<OutboxBook>(now, leases, 0,
                       [](OutboxBook& book, int, const Instant& at) { book.FinishClosing(at); });
}

void OutboxCollection::CloseAll() ABSL_NO_THREAD_SAFETY_ANALYSIS {
  const PartitionRange all = Clip({});
  LockRange(all);
  const EngineTime now = engine().timeline().now();
  const LeaseTime leases = engine().timeline().lease_now();
  BeginClosing(now, leases);
  FinishClosing(now, leases);
  HandOverRange(all);
}

// What is due goes out first, so that it does not wait until all has closed.
size_t OutboxCollection::CloseAndPop(AnyCollection::Take take) ABSL_NO_THREAD_SAFETY_ANALYSIS {
  const PartitionRange all = Clip({});
  LockRange(all);
  const EngineTime now = engine().timeline().now();
  const LeaseTime leases = engine().timeline().lease_now();
  PassOn(true);
  size_t popped = PopLocked(now, leases, take);
  BeginClosing(now, leases);
  popped += PopLocked(now, leases, take);
  FinishClosing(now, leases);
  popped += PopLocked(now, leases, take);
  PassOn(false);
  for (size_t i = 0; i < home_count(); ++i) {
    if (home(i).book != nullptr) BookIn(home(i)).outbox().NoteIfDrained();
  }
  HandOverRange(all);
  return popped;
}

// Has each outbox pass on what becomes ready. REQUIRES: all partitions are locked.
void OutboxCollection::PassOn(bool passes_on) noexcept {
  for (size_t i = 0; i < home_count(); ++i) {
    if (home(i).book != nullptr) BookIn(home(i)).outbox().set_passes_on(passes_on);
  }
}

// Pops all there is, and what closes meanwhile. REQUIRES: all partitions are locked.
size_t OutboxCollection::PopLocked(EngineTime now, LeaseTime leases,
                                   AnyCollection::Take take) ABSL_NO_THREAD_SAFETY_ANALYSIS {
  if (home_count() > 1) {
    Heads heads(home_count());
    Round round{.range = Clip({}),
                .max = SIZE_MAX,
                .lends = false,
                .closing = true,
                .heads = heads,
                .now = now,
                .leases = leases};
    GivenRun run(take);
    do {
      HandOutLocked(round, [&](const Head& head, const Instant& at) {
        head.outbox().Pop(head.next(), at, run);
      });
      run.HandOver();
    } while (!round.known);
    return round.handed_out;
  }
  const Home& home = this->home(0);
  if (home.book == nullptr) return 0;
  OutboxBook& book = BookIn(home);
  size_t popped = 0;
  for (bool known = false; !known;) {
    home.partition->Do(home.partition->CopyFirst(), book, now, leases,
                       engine().timeline().TakePositions(1), [&](const Instant& at) {
                         known = book.outbox().TakeBack(at);
                         if (known) popped += book.Pop(at, SIZE_MAX, take, known);
                       });
  }
  return popped;
}

// --- Leases

// The outcome of `change(outbox, at)`, if the token is one of this collection's.
template <class Change>
LeaseOutcome OutboxCollection::WithToken(const LeaseToken& token, const Change& change) {
  if (!IsOurs(token)) return LeaseOutcome::kStale;
  const Home& home = this->home(token.partition);
  LockGuard guard(home.partition->lock());
  if (home.book == nullptr) return closed() ? LeaseOutcome::kClosed : LeaseOutcome::kStale;
  const LeaseOutcome outcome =
      Do(home, [&](const Instant& at) { return change(BookIn(home).outbox(), at); });
  BookIn(home).outbox().NoteIfDrained();
  return outcome;
}

LeaseOutcome OutboxCollection::Ack(const LeaseToken& token) {
  return WithToken(token, [&](Outbox& outbox, const Instant& at) { return outbox.Ack(token, at); });
}

LeaseOutcome OutboxCollection::AckAndTake(const LeaseToken& token, AnyCollection::Take take) {
  return WithToken(
      token, [&](Outbox& outbox, const Instant& at) { return outbox.AckAndTake(token, at, take); });
}

size_t OutboxCollection::Ack(std::span<const LeaseToken> tokens, std::span<LeaseOutcome> outcomes) {
  size_t done = 0;
  for (size_t from = 0; from < tokens.size(); from += kAcksAtOnce) {
    const size_t size = std::min(kAcksAtOnce, tokens.size() - from);
    done += AckPiece(tokens.subspan(from, size),
                     outcomes.empty() ? nullptr : outcomes.subspan(from, size).data());
  }
  return done;
}

// Goes through the tokens once for each partition that they name; most name few. Each has the
// position of its place in the call: so what comes back does so in that order, in whatever
// partition.
size_t OutboxCollection::AckPiece(std::span<const LeaseToken> tokens, LeaseOutcome* outcomes) {
  Timeline& timeline = engine().timeline();
  const uint64_t first_position = timeline.TakePositions(tokens.size());
  size_t done = 0;
  const auto answer = [&](size_t i, LeaseOutcome outcome) {
    done += outcome == LeaseOutcome::kDone ? 1 : 0;
    if (outcomes != nullptr) outcomes[i] = outcome;
  };
  std::bitset<kAcksAtOnce> answered;
  for (size_t first = 0; first < tokens.size(); ++first) {
    if (answered[first]) continue;
    if (!IsOurs(tokens[first])) {
      answer(first, LeaseOutcome::kStale);
      continue;
    }
    const Home& home = this->home(tokens[first].partition);
    LockGuard guard(home.partition->lock());
    for (size_t i = first; i < tokens.size(); ++i) {
      if (tokens[i].partition != tokens[first].partition || !IsOurs(tokens[i])) continue;
      answered.set(i);
      if (home.book == nullptr) {
        answer(i, closed() ? LeaseOutcome::kClosed : LeaseOutcome::kStale);
        continue;
      }
      answer(i, home.partition->Do(
                    home.partition->CopyFirst(), *home.book, timeline.now(), timeline.lease_now(),
                    first_position + i,
                    [&](const Instant& at) { return BookIn(home).outbox().Ack(tokens[i], at); }));
    }
    if (home.book != nullptr) BookIn(home).outbox().NoteIfDrained();
  }
  return done;
}

LeaseOutcome OutboxCollection::Nack(const LeaseToken& token, Duration delay) {
  return WithToken(
      token, [&](Outbox& outbox, const Instant& at) { return outbox.Nack(token, delay, at); });
}

Extension OutboxCollection::Extend(const LeaseToken& token, Duration visibility_timeout) {
  Extension extension;
  extension.outcome = WithToken(token, [&](Outbox& outbox, const Instant& at) {
    extension = outbox.Extend(token, visibility_timeout, at);
    return extension.outcome;
  });
  return extension;
}

size_t OutboxCollection::EndLeases(PartitionRange of) {
  const PartitionRange range = Clip(of);
  size_t ended = 0;
  for (int i = range.begin; i < range.end; ++i) {
    const Home& home = this->home(static_cast<size_t>(i));
    LongLockGuard guard(home.partition->lock());
    if (home.book == nullptr) continue;
    ended += Do(home, [&](const Instant& at) { return BookIn(home).outbox().EndLeases(at); });
    BookIn(home).outbox().NoteIfDrained();
  }
  return ended;
}

LeaseOutcome OutboxCollection::RetryDeadLetter(const LeaseToken& token) {
  return WithToken(
      token, [&](Outbox& outbox, const Instant& at) { return outbox.RetryDeadLetter(token, at); });
}

LeaseOutcome OutboxCollection::DropDeadLetter(const LeaseToken& token) {
  return WithToken(
      token, [&](Outbox& outbox, const Instant& at) { return outbox.DropDeadLetter(token, at); });
}

// Leases that have run out by now may have become letters.
bool OutboxCollection::ScanDeadLetters(ScanCursor& cursor, size_t max, Outbox::SeeDead see) {
  size_t seen = 0;
  return ScanBooks(cursor, [&](const Home& home, uint32_t& place) ABSL_NO_THREAD_SAFETY_ANALYSIS {
    Do(home, [&](const Instant& at) {
      Budget budget;
      home.book->ExpireLeases(at, budget);
    });
    return BookIn(home).outbox().ScanDeadLetters(place, max, seen, see);
  });
}

// --- Listeners and counts

void OutboxCollection::TellOfClose(int partition) {
  const auto tell = [](EmissionListener* listener) {
    listener->MayHaveEmissions();
    listener->MayBeDrained();
    listener->MayHaveDeadLetters();
  };
  std::ranges::for_each(listeners(partition).all, tell);
  if (partition == 0) std::ranges::for_each(idle_listeners_, tell);
}

bool OutboxCollection::IsDrained() {
  for (size_t i = 0; i < home_count(); ++i) {
    const Home& home = this->home(i);
    for (bool known = false; !known;) {
      LongLockGuard guard(home.partition->lock());
      if (home.book == nullptr) break;
      Outbox& outbox = BookIn(home).outbox();
      known = outbox.undelivered() == 0 ||
              Do(home, [&](const Instant& at) { return outbox.PassOver(at, kPassedAtOnce); });
      if (known && outbox.undelivered() > 0) return false;
    }
  }
  return true;
}

void OutboxCollection::AddListener(EmissionListener& listener, PartitionRange of) {
  const PartitionRange range = Clip(of);
  for (int i = range.begin; i < range.end; ++i) {
    LockGuard guard(engine().partition(i).lock());
    listeners_[static_cast<size_t>(i)].all.push_back(&listener);
  }
  if (!range.empty()) return;
  LockGuard guard(home(0).partition->lock());
  idle_listeners_.push_back(&listener);
}

void OutboxCollection::RemoveListener(EmissionListener& listener) {
  for (size_t i = 0; i < home_count(); ++i) {
    LockGuard guard(home(i).partition->lock());
    std::erase(listeners_[i].all, &listener);
  }
  LockGuard guard(home(0).partition->lock());
  std::erase(idle_listeners_, &listener);
}

Ledger OutboxCollection::ledger() {
  return Sum<OutboxBook>([](const OutboxBook& book) { return book.ledger(); });
}

Sizes OutboxCollection::sizes() {
  return Sum<OutboxBook>([](const OutboxBook& book) { return book.sizes(); });
}

uint64_t OutboxCollection::deaths() {
  return Sum<OutboxBook>([](const OutboxBook& book) { return book.outbox().deaths(); });
}

std::vector<Statistic> OutboxCollection::Statistics() { return StatisticsOf(ledger(), sizes()); }

std::vector<uint64_t> OutboxCollection::CountEntries() const {
  return CountInBooks<OutboxBook>([](const OutboxBook& book) { return book.ledger().open; });
}

// No operation: it changes nothing. A number beyond the trace is of another engine.
uint64_t OutboxCollection::CopyTrace(size_t partition, size_t max, uint64_t& next, uint64_t& lost,
                                     std::vector<TraceRecord>& out) {
  const Home& home = this->home(partition);
  LongLockGuard guard(home.partition->lock());
  const TraceLog* const log = home.book == nullptr ? nullptr : BookIn(home).trace();
  if (log == nullptr) return 0;
  if (next > log->next()) next = log->first();
  if (next < log->first()) lost += log->first() - std::exchange(next, log->first());
  const size_t before = out.size();
  log->Copy(next, max, out);
  next += out.size() - before;
  return log->next() - next;
}

}  // namespace pleat::inline v0_1
