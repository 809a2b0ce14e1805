// pleat as a contestant: one Folder of Fields with an open group for every key, folded into in three
// ways. See rivals.h for what a contestant is.
#pragma once

#include <algorithm>
#include <array>
#include <barrier>
#include <memory>
#include <optional>
#include <span>
#include <string_view>
#include <thread>
#include <vector>

#include <pleat/folder.h>

#include "bench/stopwatch.h"
#include "bench/stream.h"

namespace pleat::bench {

inline constexpr size_t kBatch = 256;

// Has `contestant` fold `events`, and says what it took.
template <class Contestant>
Spent TimedFold(Contestant& contestant, std::span<const Event> events) {
  Spent spent = Timed([&] { contestant.Fold(events); });
  if constexpr (requires { contestant.cpu_seconds(); })
    spent.cpu_seconds = contestant.cpu_seconds();
  return spent;
}

inline void FoldInBatches(Folder<Touch, Fields>& folder, std::span<const Event> events,
                          size_t batch = kBatch) {
  while (!events.empty()) {
    const size_t n = std::min(batch, events.size());
    folder.FoldBatch(events.first(n));
    events = events.subspan(n);
  }
}

inline void FoldOneByOne(Folder<Touch, Fields>& folder, std::span<const Event> events) {
  for (const Event& event : events) folder.Fold(event.key, event.event, event.at);
}

inline constexpr FolderOptions kPlain = {.quiet_period = kDay, .max_wait = kForever};

// An engine with one folder, and how to fill it.
class Folded {
 public:
  static constexpr bool kHasMasks = true;

  explicit Folded(const FolderOptions& options = kPlain, const EngineOptions& engine = {})
      : engine_(*Engine::Open(engine)), folder_(*engine_, "fold", options) {}

  // Opens a group for every key, the i-th of them stamped `from + i * step`.
  void OpenAll(const Keys& keys, EngineTime from, double step_us = 0) {
    std::vector<Event> batch;
    for (size_t i = 0; i < keys.size(); ++i) {
      const auto offset = static_cast<Duration::rep>(static_cast<double>(i) * step_us);
      batch.push_back({keys[i], from + Duration(offset), {0}});
      if (batch.size() == kBatch || i + 1 == keys.size()) {
        folder_.FoldBatch(batch);
        batch.clear();
      }
    }
  }

  size_t size() const { return folder_.sizes().open_groups; }
  Fields Find(std::string_view key) const {
    const std::optional<OpenGroup<Fields>> group = folder_.Peek(key);
    // The engine counts as well; the two must not differ.
    return group && group->count == group->state.count ? group->state : Fields{};
  }
  double AccountedBytesPerGroup() const {
    return static_cast<double>(folder_.sizes().bytes) / static_cast<double>(size());
  }

  Engine& engine() { return *engine_; }
  Folder<Touch, Fields>& folder() { return folder_; }

 private:
  std::unique_ptr<Engine> engine_;
  Folder<Touch, Fields> folder_;
};

inline constexpr FolderOptions kWithGaps = {
    .quiet_period = kDay, .max_wait = kForever, .measure = {.gap_stats = true}};

class SingleFolds : public Folded {
 public:
  explicit SingleFolds(const Keys& keys, const FolderOptions& options = kPlain) : Folded(options) {
    OpenAll(keys, kStart);
  }
  void Fold(std::span<const Event> events) { FoldOneByOne(folder(), events); }
};

class BatchFolds : public Folded {
 public:
  explicit BatchFolds(const Keys& keys, const FolderOptions& options = kPlain) : Folded(options) {
    OpenAll(keys, kStart);
  }
  void Fold(std::span<const Event> events) { FoldInBatches(folder(), events); }
};

// The same with gap_stats.
template <class Folds>
class WithGaps : public Folds {
 public:
  explicit WithGaps(const Keys& keys) : Folds(keys, kWithGaps) {}
};

// Two threads on one folder: each folds one half of the events while the other folds the other. They are started once and wait at a barrier, so that Fold() takes as long as the slower one.
template <auto kFold>
class Folds2T : public Folded {
 public:
  explicit Folds2T(const Keys& keys) {
    OpenAll(keys, kStart);
    for (const size_t half : {size_t{0}, size_t{1}}) {
      threads_.emplace_back([this, half] {
        for (;;) {
          gate_.arrive_and_wait();
          if (stop_) return;
          const size_t middle = events_.size() / 2;
          const uint64_t begin = ThreadNanoseconds();
          kFold(folder(), half == 0 ? events_.first(middle) : events_.subspan(middle));
          cpu_seconds_[half] = static_cast<double>(ThreadNanoseconds() - begin) * 1e-9;
          gate_.arrive_and_wait();
        }
      });
    }
  }
  ~Folds2T() {
    stop_ = true;
    gate_.arrive_and_wait();
  }

  void Fold(std::span<const Event> events) {
    events_ = events;
    gate_.arrive_and_wait();
    gate_.arrive_and_wait();
  }

  // The processor time of the last Fold(), on the thread that needed more of it.
  double cpu_seconds() const { return std::max(cpu_seconds_[0], cpu_seconds_[1]); }

 private:
  std::barrier<> gate_{3};
  std::array<double, 2> cpu_seconds_{};
  std::span<const Event> events_;
  bool stop_ = false;
  std::vector<std::jthread> threads_;
};

inline void FoldInFullBatches(Folder<Touch, Fields>& folder, std::span<const Event> events) {
  FoldInBatches(folder, events);
}
using BatchFolds2T = Folds2T<FoldInFullBatches>;
using SingleFolds2T = Folds2T<FoldOneByOne>;

}  // namespace pleat::bench
