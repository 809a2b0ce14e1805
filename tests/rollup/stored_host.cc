#include "tests/rollup/stored_host.h"

#include <bit>
#include <utility>

#include <absl/status/status.h>

#include "tests/support/start.h"

namespace pleat::inline v0_1 {
namespace {

constexpr uint32_t kPartition = 3;
constexpr Duration kTtl{5'000'000};
constexpr Duration kEver{1'000'000'000};

std::string Time(EngineTime t) {
  return t == kBeginningOfTime ? "-" : std::to_string((t - kT0).count());
}

std::string Text(const Amount& amount) {
  return std::to_string(amount.count) + "/" + std::to_string(amount.sum) + "/" +
         std::to_string(std::bit_cast<uint64_t>(amount.real)) + (amount.integer ? "" : "r") +
         (amount.saturated ? "s" : "");
}

std::string Text(const CountedWindow& window) {
  return Time(window.start) + "-" + Time(window.end) + "=" + Text(window.amount);
}

std::string Text(const ClosedGroup& group) {
  std::string text = "[" + std::string(group.key) + " " +
                     Text(*static_cast<const CountedWindow*>(group.state)) + " " +
                     std::string(ReasonName(group.reason)) + " " + Time(group.closed) + " " +
                     std::to_string(group.id.partition) + "." + std::to_string(group.id.generation);
  if (group.corrects) text += " corrects " + std::to_string(group.corrects->generation);
  return text + "]";
}

template <class Columns>
std::string Counts(const Columns& columns) {
  const auto* const at = reinterpret_cast<const uint64_t*>(&columns);
  std::string text;
  for (size_t i = 0; i < sizeof(Columns) / sizeof(uint64_t); ++i) {
    text += std::to_string(at[i]) + " ";
  }
  return text;
}

}  // namespace

StoredHost::StoredHost(const RollupOptions& options, uint64_t secret)
    : options_(options),
      hash_key_(MakeHashKey(secret, secret + 1)),
      book_(pool_, options_, hash_key_, name_key_, kPartition, listeners_) {}

StoredHost::StoredHost(const StoredHost& before, uint64_t secret)
    : StoredHost(before.options_, secret) {
  position_ = before.position_;
  store_ = before.store_;
  tokens_ = before.tokens_;
}

std::string StoredHost::Save() {
  FieldWriter out;
  book_.Save(out);
  return std::string(out.bytes());
}

bool StoredHost::Load(std::string_view bytes) {
  FieldReader in(bytes);
  LockGuard guard(partition_.lock());
  partition_.DoOneOfMany(partition_.CopyFirst(), book_, kT0, LeaseTime(kT0), position_,
                         [&](const Instant& at) { book_.Load(in, at); });
  return in.done();
}

std::string StoredHost::Look() {
  RollupSizes sizes = book_.rollup_sizes();
  sizes.bytes -= std::exchange(sizes.ids, 0) * EventIds::kIdBytes;
  return Counts(book_.ledger()) + "| " + Counts(book_.rollup_ledger()) + "| " + Counts(sizes) +
         "| " + std::to_string(book_.queued()) + " " + std::to_string(book_.unpublished());
}

std::string StoredHost::Apply(const StoredCall& call) {
  switch (call.what) {
    case StoredCall::kAdd: return Add(call.key, call.at, call.now, call.delta, call.id);
    case StoredCall::kClear: return Clear(call);
    case StoredCall::kRead: return Read(call.key, call.now);
    case StoredCall::kVisit: return Visit(call);
    case StoredCall::kPop: return Pop(call.number, call.now);
    case StoredCall::kLend: return Lend(call);
    case StoredCall::kAck:
    case StoredCall::kNack: return EndLease(call);
    case StoredCall::kDeadLetters: return RetryDeadLetters(call);
    case StoredCall::kExpire:
      return Do(call.now, [&](const Instant& at) {
        Budget budget(call.number);
        return std::to_string(book_.ExpireLeases(at, budget));
      });
    case StoredCall::kPublish: {
      const size_t asked = BeginPublish(call.number, call.now);
      return std::to_string(asked) + EndPublish(call.fails, call.now);
    }
    case StoredCall::kOthers: {
      const Amount amount{.count = call.number, .sum = 3, .real = 3.0};
      (void)Keep(call.key, {call.at, amount}, /*fails=*/false);
      return "";
    }
    case StoredCall::kCloseAll: return CloseAll(call);
    case StoredCall::kSetOptions: return SetOptions(call);
    case StoredCall::kWhats: break;
  }
  return "nothing";
}

std::string StoredHost::Add(std::string_view key, EngineTime at, EngineTime now, Delta delta,
                            std::string_view id) {
  const PackedKey packed(key);
  const CounterEvent event{.delta = delta, .id = id};
  const EventRef ref{packed, HashOf(packed), &event, at};
  return Do(now, [&](const Instant& instant) {
    const RollupBook::Entry entry = book_.Find(ref);
    const AddOutcome outcome = book_.FoldPlainly(ref, entry, instant)
                                   ? AddOutcome::kAdded
                                   : book_.FoldSlowly(ref, entry, instant);
    return std::to_string(static_cast<int>(outcome)) + " " +
           Text(book_.Accurate(packed, ref.hash, instant).amount);
  });
}

void StoredHost::AddTogether(const std::vector<StoredCall>& calls) {
  struct Ahead {
    PackedKey key;
    CounterEvent event;
    RollupBook::Guess guess;
  };
  std::vector<Ahead> ahead;
  for (const StoredCall& call : calls) {
    ahead.push_back({PackedKey(call.key), {.delta = call.delta, .id = call.id}, {}});
  }
  const auto ref = [&](size_t i) {
    return EventRef{ahead[i].key, HashOf(ahead[i].key), &ahead[i].event, calls[i].at};
  };
  for (size_t i = 0; i < calls.size(); ++i) {
    book_.PrefetchIndex(ref(i), ahead[i].guess);
    book_.PrefetchEntry(ref(i), ahead[i].guess);
  }
  Newcomers newcomers;
  for (size_t i = 0; i < calls.size(); ++i) {
    book_.PrefetchRest(ahead[i].guess);
    Do(calls[i].now, [&](const Instant& at) {
      const RollupBook::Entry entry = book_.Find(ref(i), ahead[i].guess, newcomers);
      if (book_.FoldPlainly(ref(i), entry, at)) return AddOutcome::kAdded;
      newcomers.Add(ref(i).hash);
      return book_.FoldSlowly(ref(i), entry, at);
    });
  }
}

std::string StoredHost::Clear(const StoredCall& call) {
  if (!options_.clears) return "no clears";
  const PackedKey packed(call.key);
  const EventRef ref{packed, HashOf(packed), nullptr, call.at};
  return Do(call.now, [&](const Instant& at) {
    return std::to_string(static_cast<int>(book_.Clear(ref, call.id, at)));
  });
}

std::string StoredHost::Read(const std::string& key, EngineTime now) {
  const PackedKey packed(key);
  const uint64_t hash = HashOf(packed);
  return Do(now, [&](const Instant& at) {
    std::string text = "eventual ";
    if (const auto count = book_.Eventual(packed, hash, at)) {
      text +=
          Text(count->amount) + " " + Time(count->as_of) + " " + std::to_string(count->lag.count());
    }
    const AccurateCount count = book_.Accurate(packed, hash, at);
    text += " accurate " + Text(count.amount) + " " + Time(count.checkpoint) +
            (count.loaded ? " loaded" : "");
    for (size_t i = 0; i < options_.windows.size(); ++i) {
      const auto resolution = static_cast<uint8_t>(i);
      std::vector<CountedWindow> history;
      book_.History(packed, hash, kT0 - kEver, kT0 + kEver, resolution, at, history);
      text += " history";
      for (const CountedWindow& window : history) text += " " + Text(window);
      for (const Duration before : {Duration{0}, options_.windows[i], 3 * options_.windows[i]}) {
        text += " around";
        book_.WindowAround(now - before, resolution, at,
                           [&](std::string_view each, const Amount& amount) {
                             text += " " + std::string(each) + "=" + Text(amount);
                           });
      }
    }
    text += " open";
    book_.ScanOpen(at, [&](std::string_view each, const CountedWindow& window) {
      text += " " + std::string(each) + ":" + Text(window);
    });
    return text;
  });
}

std::string StoredHost::Visit(const StoredCall& call) {
  return Do(call.now, [&](const Instant& at) {
    Budget budget(call.number);
    const bool all = book_.CloseDue(at, budget);
    if (book_.rollup_sizes().ids > 0) return std::string();
    return std::to_string(all) + " " + std::to_string(budget.left());
  });
}

std::string StoredHost::Pop(uint64_t max, EngineTime now) {
  return Do(now, [&](const Instant& at) {
    std::string text;
    book_.outbox().TakeBack(at);
    for (uint64_t i = 0; i < max; ++i) {
      const Handout next = book_.NextHandout(at, /*lends=*/false);
      if (!next) break;
      const auto take = [&](std::span<const ClosedGroup> groups) {
        for (const ClosedGroup& group : groups) text += Text(group);
      };
      GivenRun run(take);
      book_.outbox().Pop(next, at, run);
      run.HandOver();
    }
    return text;
  });
}

// Each lease is an operation of its own.
std::string StoredHost::Lend(const StoredCall& call) {
  const LeaseToken origin{.epoch = 5, .collection = 2};
  std::string text;
  for (uint64_t i = 0; i < call.number; ++i) {
    Do(call.now, [&](const Instant& at) {
      book_.outbox().TakeBack(at);
      const Handout next = book_.NextHandout(at, /*lends=*/true);
      if (!next) return;
      book_.outbox().Lend(next, at, kTtl, origin,
                          [&](const ClosedGroup& group, const Delivery& delivery) {
                            text += Text(group) + "#" + std::to_string(delivery.deliveries);
                            tokens_.push_back(delivery.token);
                          });
    });
  }
  return text;
}

std::string StoredHost::EndLease(const StoredCall& call) {
  if (tokens_.empty()) return "none";
  const LeaseToken token = tokens_[tokens_.size() - 1 - call.number % tokens_.size()];
  return Do(call.now, [&](const Instant& at) {
    const LeaseOutcome outcome = call.what == StoredCall::kAck
                                     ? book_.outbox().Ack(token, at)
                                     : book_.outbox().Nack(token, Duration{1'000'000}, at);
    return std::to_string(static_cast<int>(outcome));
  });
}

// One after the other by their texts: a scan has no order that means anything.
std::string StoredHost::RetryDeadLetters(const StoredCall& call) {
  return Do(call.now, [&](const Instant& at) {
    std::map<std::string, LeaseToken> dead;
    uint32_t place = 0;
    size_t seen = 0;
    book_.outbox().ScanDeadLetters(place, SIZE_MAX, seen,
                                   [&](const ClosedGroup& group, const Death& death) {
                                     dead.emplace(Text(group), death.token);
                                   });
    std::string text;
    for (const auto& [letter, token] : dead) {
      const LeaseOutcome outcome = letter.size() % 2 == 0
                                       ? book_.outbox().RetryDeadLetter(token, at)
                                       : book_.outbox().DropDeadLetter(token, at);
      text += letter + std::to_string(static_cast<int>(outcome));
    }
    return text;
  });
}

std::string StoredHost::CloseAll(const StoredCall& call) {
  return Do(call.now, [&](const Instant& at) {
    const EngineTime floor = book_.LastOpenEnd(at);
    if (floor > kBeginningOfTime) {
      book_.BeginClosing(floor, at);
      book_.FinishClosing(at);
    }
    return Time(floor);
  });
}

std::string StoredHost::SetOptions(const StoredCall& call) {
  call.periods.SetIn(options_);
  Do(call.now, [&](const Instant& at) { book_.SetOptions(options_, at); });
  return "set";
}

std::shared_ptr<const SharedCount> StoredHost::Share(std::string_view key, EngineTime now) {
  const PackedKey packed(key);
  const EventRef ref{packed, HashOf(packed), nullptr, kBeginningOfTime};
  return Do(now, [&](const Instant& at) { return book_.Share(ref, at); });
}

// --- The store

size_t StoredHost::BeginPublish(uint64_t max, EngineTime now) {
  const size_t before = asked_.size();
  Do(now, [&](const Instant& at) {
    Budget budget;
    book_.CloseDue(at, budget);
    book_.TakeUnpublished(max, at, asked_);
  });
  return asked_.size() - before;
}

// Keeps the later one, as every store does.
absl::StatusOr<Checkpoint> StoredHost::Keep(const std::string& key, const Checkpoint& ours,
                                            bool fails) {
  if (fails) return absl::UnavailableError("away");
  Checkpoint& kept = store_[key];
  if (ours.until > kept.until) kept = ours;
  return kept;
}

std::string StoredHost::EndPublish(bool fails, EngineTime now) {
  std::string text;
  for (const std::string& key : std::exchange(asked_, {})) {
    const PackedKey packed(key);
    const EventRef ref{packed, HashOf(packed), nullptr, kBeginningOfTime};
    const auto loaded = Keep(key, {}, fails && key.size() % 2 == 0);
    Checkpoint ours;
    auto step = Do(now, [&](const Instant& at) { return book_.TakeLoaded(ref, loaded, at, ours); });
    if (step == RollupBook::Step::kWanted) {
      const auto kept = Keep(key, ours, fails);
      step = Do(now, [&](const Instant& at) { return book_.TakeKept(ref, ours, kept, at); });
    }
    text += " " + key + ":" + std::to_string(static_cast<int>(step)) + " " + Time(ours.until) +
            " " + Text(ours.amount);
  }
  return text;
}

}  // namespace pleat::inline v0_1
