#include <algorithm>
#include <array>
#include <atomic>
#include <limits>
#include <memory>
#include <mutex>
#include <random>
#include <string>
#include <thread>
#include <unordered_set>
#include <utility>

#include <pleat/folder.h>

#include "tests/support/start.h"
#include "tests/threads/history.h"
#include "tests/threads/history_model.h"

namespace pleat::inline v0_1 {
namespace {

using namespace std::chrono_literals;
using Kind = HistoryCall::Kind;

// --- The search

class Search {
 public:
  Search(const HistoryRules& rules, const std::vector<HistoryCall>& calls)
      : rules_(rules), done_(calls.size()) {
    for (size_t i = 0; i < calls.size(); ++i) {
      order_.push_back({&calls[i], calls[i].follows ? i - 1 : kNobody, i});
    }
    std::ranges::sort(order_, {},
                      [](const Entry& entry) { return std::pair(entry.call->end, entry.index); });
  }

  Verdict Run() {
    if (Explains(0, HistoryModel(rules_))) return Verdict::kExplained;
    return visited_.size() < kSituationsMax ? Verdict::kNotExplained : Verdict::kUndecided;
  }

 private:
  static constexpr size_t kSituationsMax = 50'000;
  static constexpr size_t kNobody = std::numeric_limits<size_t>::max();
  struct Entry {
    const HistoryCall* call;
    size_t before;  // which has to come first
    size_t index;   // in the history
  };

  // Whether some order of what is not done yet explains its answers, all before `first` being done.
  bool Explains(size_t first, const HistoryModel& model) {
    while (first < order_.size() && done_[order_[first].index]) ++first;
    if (first == order_.size()) return true;
    if (visited_.size() == kSituationsMax) return false;
    if (!visited_.insert(Situation(first, model)).second) return false;
    // What began after another one's end comes after it.
    const uint64_t end = order_[first].call->end;
    for (size_t i = first; i < order_.size(); ++i) {
      if (order_[i].call->begin > end) continue;
      const Entry& entry = order_[i];
      if (done_[entry.index] || (entry.before != kNobody && !done_[entry.before])) continue;
      HistoryModel next = model;
      if (!next.Apply(*entry.call)) continue;
      done_[entry.index] = true;
      if (Explains(first, next)) return true;
      done_[entry.index] = false;
    }
    return false;
  }

  // What is done, and the state that this has led to. Behind the last one that is done, nothing is.
  std::string Situation(size_t first, const HistoryModel& model) const {
    std::string out = std::to_string(first) + ":";
    size_t done = first;
    for (const bool each : done_) done -= each ? 1 : 0;
    for (size_t i = first; i < order_.size() && done != 0; ++i) {
      const bool each = done_[order_[i].index];
      out += each ? '1' : '0';
      done += each ? 1 : 0;
    }
    model.AppendTo(out);
    return out;
  }

  const HistoryRules rules_;
  std::vector<Entry>
      order_;  // by their ends: whoever waits for a lock, or sleeps, does so before it matters, mostly
  std::vector<bool> done_;  // by index
  std::unordered_set<std::string> visited_;
};

// --- Recording

struct Number {
  uint16_t value;
};

// Plain bytes, so that even a mistake that is planted does nothing undefined.
struct Numbers {
  uint16_t size = 0;
  std::array<uint16_t, 14> all{};
  void Fold(const Number& number) noexcept {
    if (size < all.size()) all[size++] = number.value;
  }
  std::vector<uint16_t> list() const { return {all.begin(), all.begin() + size}; }
};

class Recorder {
 public:
  Recorder(uint64_t seed, const HistoryRules& rules, int threads, size_t calls)
      : seed_(seed),
        rules_(rules),
        threads_(threads),
        calls_each_(calls / static_cast<size_t>(threads)) {
    engine_->Advance(kT0);
    static_cast<void>(engine_->AdvanceLeases(kLease0));
  }

  std::vector<HistoryCall> Run() {
    std::vector<std::vector<HistoryCall>> recorded(static_cast<size_t>(threads_));
    std::vector<std::thread> threads;
    for (int i = 0; i < threads_; ++i) {
      threads.emplace_back([&, i] { recorded[static_cast<size_t>(i)] = RunThread(i); });
    }
    for (std::thread& thread : threads) thread.join();
    std::vector<HistoryCall> all;
    for (auto& of_one : recorded) std::ranges::move(of_one, std::back_inserter(all));
    return all;
  }

 private:
  struct Draw {
    std::mt19937_64 random;
    uint64_t Below(uint64_t n) { return random() % n; }
  };

  std::vector<HistoryCall> RunThread(int thread) {
    Draw draw{std::mt19937_64(seed_ * 16 + static_cast<uint64_t>(thread))};
    std::vector<HistoryCall> calls;
    ++arrived_;
    while (arrived_.load() < threads_) std::this_thread::yield();
    while (calls.size() < calls_each_) {
      const size_t first = calls.size();
      HistoryCall call = Decide(draw, thread);
      const bool batch = call.kind == Kind::kFold && draw.Below(8) == 0;
      call.begin = clock_.fetch_add(1);
      // Now and then others have the time to come in between.
      if (draw.Below(4) == 0) std::this_thread::yield();
      if (batch) {
        FoldBatch(call, draw, calls);
      } else {
        Do(call);
        calls.push_back(call);
      }
      const uint64_t end = clock_.fetch_add(1);
      for (size_t i = first; i < calls.size(); ++i) calls[i].end = end;
    }
    return calls;
  }

  HistoryCall Decide(Draw& draw, int thread) {
    static constexpr std::array kKinds = {Kind::kFold, Kind::kFold,  Kind::kFold,   Kind::kFold,
                                          Kind::kFold, Kind::kFold,  Kind::kPop,    Kind::kPop,
                                          Kind::kAck,  Kind::kAck,   Kind::kAck,    Kind::kNack,
                                          Kind::kNack, Kind::kLease, Kind::kLease,  Kind::kLease,
                                          Kind::kPeek, Kind::kFlush, Kind::kCancel, Kind::kAdvance};
    HistoryCall call{.kind = kKinds[draw.Below(kKinds.size())], .thread = thread};
    call.key = draw.Below(rules_.keys);
    call.event = events_.fetch_add(1);
    call.max = 1 + draw.Below(3);
    if (call.kind == Kind::kAdvance) call.now = ticks_.fetch_add(1) + 1;
    if (call.kind == Kind::kAck || call.kind == Kind::kNack) {
      const std::scoped_lock guard(tokens_lock_);
      if (tokens_.empty()) {
        call.kind = Kind::kPeek;
      } else {
        // One of the last few, whosever it is.
        const size_t back = draw.Below(std::min<size_t>(tokens_.size(), 4));
        token_of_[static_cast<size_t>(thread)] = tokens_[tokens_.size() - 1 - back];
        call.lease = token_of_[static_cast<size_t>(thread)].lease;
      }
    }
    return call;
  }

  void Do(HistoryCall& call) {
    const std::string key = KeyOf(call.key);
    switch (call.kind) {
      case Kind::kFold:
        call.yes = folder_.Fold(key, {call.event}, kT0) == FoldOutcome::kOpened;
        break;
      case Kind::kPeek: {
        const auto group = folder_.Peek(key);
        call.yes = group.has_value();
        if (group) call.events = group->state.list();
        break;
      }
      case Kind::kFlush: call.yes = folder_.Flush(key); break;
      case Kind::kCancel: call.yes = folder_.Cancel(key); break;
      case Kind::kPop:
        for (const auto& e : folder_.Pop(call.max)) {
          call.emissions.push_back({.generation = e.id.generation, .events = e.state.list()});
        }
        break;
      case Kind::kLease:
        for (const auto& lease : folder_.Lease(call.max, Duration{rules_.ttl}, kLease0)) {
          call.emissions.push_back({.generation = lease.id.generation,
                                    .events = lease.state.list(),
                                    .lease = lease.delivery.token.lease,
                                    .deliveries = lease.delivery.deliveries});
          const std::scoped_lock guard(tokens_lock_);
          tokens_.push_back(lease.delivery.token);
        }
        break;
      case Kind::kAck: call.outcome = folder_.Ack(TokenOf(call)); break;
      case Kind::kNack: call.outcome = folder_.Nack(TokenOf(call)); break;
      case Kind::kAdvance:
        // Whether anybody has looked at what is over by then must not matter.
        static_cast<void>(
            engine_->AdvanceLeases(LeaseTime(kT0 + Duration{call.now}), call.event % 2));
        break;
    }
  }

  // To the history a batch is its events, one after the other.
  void FoldBatch(const HistoryCall& first, Draw& draw, std::vector<HistoryCall>& calls) {
    constexpr size_t kEvents = 4;
    std::array<std::string, kEvents> keys;
    std::vector<KeyedEvent<Number>> events;
    std::vector<HistoryCall> batch(kEvents, first);
    for (size_t i = 0; i < kEvents; ++i) {
      if (i > 0) {
        batch[i].follows = true;
        batch[i].key = draw.Below(rules_.keys);
        batch[i].event = events_.fetch_add(1);
      }
      keys[i] = KeyOf(batch[i].key);
      events.push_back({.key = keys[i], .at = kT0, .event = {batch[i].event}});
    }
    std::array<FoldOutcome, kEvents> outcomes;
    static_cast<void>(folder_.FoldBatch(events, outcomes));
    for (size_t i = 0; i < kEvents; ++i) {
      batch[i].yes = outcomes[i] == FoldOutcome::kOpened;
      calls.push_back(batch[i]);
    }
  }

  const LeaseToken& TokenOf(const HistoryCall& call) const {
    return token_of_[static_cast<size_t>(call.thread)];
  }
  static std::string KeyOf(size_t key) { return std::string(1, static_cast<char>('a' + key)); }

  const uint64_t seed_;
  const HistoryRules rules_;
  const int threads_;
  const size_t calls_each_;
  std::unique_ptr<Engine> engine_ =
      *Engine::Open({.partitions = 1,
                     .huge_pages = HugePages::kOff,
                     .internals = {.hash_key = {{1, 2}}, .epoch = 3}});
  Folder<Number, Numbers> folder_{*engine_,
                                  "history",
                                  {.quiet_period = 1h,
                                   .max_wait = kForever,
                                   .max_events = rules_.max_events,
                                   .leases = {.max_deliveries = rules_.max_deliveries}}};
  std::atomic<int> arrived_ = 0;
  std::atomic<uint64_t> clock_ = 0;
  std::atomic<uint16_t> events_ = 0;
  std::atomic<int64_t> ticks_ = 0;
  std::mutex tokens_lock_;
  std::vector<LeaseToken> tokens_;
  std::array<LeaseToken, 8> token_of_{};  // by thread: of the call that it has drawn last
};

std::string ShowEvents(const std::vector<uint16_t>& events) {
  std::string out = "[";
  for (const uint16_t event : events) out += " " + std::to_string(event);
  return out + " ]";
}

}  // namespace

std::string HistoryCall::Show() const {
  static constexpr std::array kNames = {"fold",  "peek", "flush", "cancel", "pop",
                                        "lease", "ack",  "nack",  "advance"};
  std::string out = std::to_string(begin) + "-" + std::to_string(end) + " thread " +
                    std::to_string(thread) + ": " + kNames[static_cast<size_t>(kind)];
  const auto number = [&out](const char* name, uint64_t value) {
    out += std::string(" ") + name + " " + std::to_string(value);
  };
  switch (kind) {
    case Kind::kFold: number("event", event); [[fallthrough]];
    case Kind::kFlush:
    case Kind::kCancel:
      number("key", key);
      number("->", yes ? 1 : 0);
      break;
    case Kind::kPeek:
      number("key", key);
      out += " -> " + ShowEvents(events);
      break;
    case Kind::kPop:
    case Kind::kLease:
      number("max", max);
      out += " ->";
      for (const SeenEmission& e : emissions) {
        number("", e.generation);
        out += ShowEvents(e.events);
        if (e.lease != 0) number("lease", e.lease), number("delivery", e.deliveries);
      }
      break;
    case Kind::kAck:
    case Kind::kNack:
      number("lease", lease);
      out += outcome == LeaseOutcome::kDone ? " -> done" : " -> stale";
      break;
    case Kind::kAdvance: number("to", static_cast<uint64_t>(now)); break;
  }
  return out;
}

Verdict Judge(const HistoryRules& rules, const std::vector<HistoryCall>& calls) {
  return Search(rules, calls).Run();
}

std::vector<HistoryCall> RecordHistory(uint64_t seed, const HistoryRules& rules, int threads,
                                       size_t calls) {
  return Recorder(seed, rules, threads, calls).Run();
}

HistoryFound SearchHistories(const HistorySearch& search) {
  HistoryFound found;
  for (uint64_t i = 0; i < search.histories && !found.failure; ++i) {
    const uint64_t seed = search.first_seed + i;
    std::mt19937_64 random(seed);
    const HistoryRules rules{.keys = 1 + random() % 3,
                             .max_events = 1 + random() % 4,
                             .max_deliveries = static_cast<uint32_t>(1 + random() % 3),
                             .ttl = static_cast<int64_t>(1 + random() % 4)};
    const int threads = static_cast<int>(2 + random() % 3);
    auto calls = RecordHistory(seed, rules, threads, 60 + random() % 60);
    ++found.histories;
    found.calls += calls.size();
    for (const HistoryCall& call : calls) {
      if (call.end > call.begin + 1) ++found.overlaps;
    }
    const Verdict verdict = Judge(rules, calls);
    if (verdict == Verdict::kUndecided) ++found.undecided;
    if (verdict != Verdict::kNotExplained) continue;
    std::ranges::sort(calls, {},
                      [](const HistoryCall& call) { return std::pair(call.begin, call.event); });
    std::string text = "no order of these calls explains them, seed " + std::to_string(seed) +
                       ", " + std::to_string(rules.max_events) + " events a group, " +
                       std::to_string(rules.max_deliveries) + " deliveries, leases of " +
                       std::to_string(rules.ttl) + "\n";
    for (const HistoryCall& call : calls) text += call.Show() + "\n";
    found.failure = std::move(text);
  }
  return found;
}

}  // namespace pleat::inline v0_1
