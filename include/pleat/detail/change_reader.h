// What a Watcher reads from: the changes of one scope of one source, behind a cursor. An
// implementation detail of asio_watcher.h.
//
// Every function of a reader is called under the mutex of the watcher's queue, but for
// AddListener() and RemoveListener().
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <absl/functional/function_ref.h>
#include <pleat/change.h>
#include <pleat/detail/asio_waiter.h>
#include <pleat/detail/change_pacer.h>
#include <pleat/detail/export.h>
#include <pleat/time.h>

namespace pleat::inline v0_1 {

struct WatcherOptions;

class PLEAT_EXPORT ChangeReader {
 public:
  virtual ~ChangeReader();

  virtual void AddListener(ChangeListener& listener) = 0;
  virtual void RemoveListener(ChangeListener& listener) = 0;

  // When the counts that are held have to be told, by the engine's time. kNever: none are held, or
  // the next read tells them.
  virtual EngineTime counts_due() const noexcept = 0;
  // Has the next read tell the counts of intervals that end by `end`.
  virtual void TellCounts(EngineTime end) noexcept = 0;

 protected:
  // How a read ends the operations that wait, if it does.
  static boost::system::error_code ErrorOf(ReadChanges read) noexcept;
};

// `Source` is a LiveSet, or has the same Watch(), Read() and any().
template <class Source>
class ChangeReaderOf final : public ChangeReader {
 public:
  using Change = typename Source::ChangeType;

  ChangeReaderOf(const Source& source, const WatchScope& scope, size_t max_changes,
                 Duration interval)
      : source_(source),
        name_(scope.name),
        is_prefix_(scope.is_prefix),
        is_paced_(max_changes != SIZE_MAX),
        pacer_(max_changes, interval) {}

  void AddListener(ChangeListener& listener) override {
    auto any = source_.any();
    any.AddListener(listener, scope());
  }
  void RemoveListener(ChangeListener& listener) override {
    auto any = source_.any();
    any.RemoveListener(listener);
  }

  EngineTime counts_due() const noexcept override {
    const EngineTime due = pacer_.counts_due();
    return due <= tells_until_ ? kNever : due;
  }
  void TellCounts(EngineTime end) noexcept override { tells_until_ = end; }

  // A snapshot, behind which the reader goes on.
  template <class Live>
  void Watch(std::vector<Live>& live) {
    if constexpr (requires { source_.Watch(scope(), live); }) {
      GoOn(source_.Watch(scope(), live));
    } else {
      GoOn(source_.Watch(std::string_view(name_), live));
    }
  }
  void GoOn(ChangeCursor cursor) {
    cursor_ = std::move(cursor);
    passed_on_ = cursor_;
    pacer_.Clear();
  }

  // Behind the last change that was passed on, as long as others are held back.
  const ChangeCursor& cursor() const noexcept { return holds_back() ? passed_on_ : cursor_; }
  uint64_t resyncs() const noexcept { return resyncs_; }

  Took Take(size_t max, Waiter::See see, std::vector<Change>& changes) {
    const Took took = is_paced_ ? TakePaced(max, changes) : TakeEach(max, changes);
    for (const Change& change : changes) {
      if (IsByTime(change)) see(change.at);
    }
    return took;
  }

 private:
  // Reads of one turn, before other handlers run.
  static constexpr int kReads = 8;
  static constexpr size_t kPerRead = 256;

  static bool IsByTime(const Change& change) noexcept {
    return IsEnd(change.cause) && change.at == change.deadline;
  }
  WatchScope scope() const noexcept { return {.name = name_, .is_prefix = is_prefix_}; }
  bool holds_back() const noexcept { return pacer_.ready() > 0 || pacer_.counts_due() != kNever; }

  Took End(ReadChanges read) {
    if (read == ReadChanges::kResync) ++resyncs_;
    pacer_.Clear();
    return {.error = ErrorOf(read)};
  }

  Took TakeEach(size_t max, std::vector<Change>& changes) {
    const ReadChanges read = source_.Read(scope(), cursor_, max, changes);
    if (ErrorOf(read)) return End(read);
    return {.items = changes.size()};
  }

  Took TakePaced(size_t max, std::vector<Change>& changes) {
    ReadChanges read = ReadChanges::kMore;
    for (int i = 0; i < kReads && read == ReadChanges::kMore && pacer_.ready() < max; ++i) {
      std::vector<Change> some;
      read = source_.Read(scope(), cursor_, kPerRead, some);
      if (ErrorOf(read)) return End(read);
      for (Change& change : some) pacer_.Add(std::move(change));
    }
    // All changes of the intervals that have ended are known only now.
    if (read == ReadChanges::kAll && pacer_.counts_due() <= tells_until_) pacer_.TellCounts();
    if (read == ReadChanges::kAll) tells_until_ = kBeginningOfTime;
    while (changes.size() < max && pacer_.ready() > 0) {
      changes.push_back(pacer_.Take());
      const ChangeId& id = changes.back().change;
      passed_on_.next[id.partition] = id.number + 1;
    }
    if (!holds_back()) passed_on_ = cursor_;
    return {.items = changes.size(), .more = read == ReadChanges::kMore};
  }

  Source source_;
  const std::string name_;
  const bool is_prefix_;
  const bool is_paced_;
  ChangeCursor cursor_;     // of the next read
  ChangeCursor passed_on_;  // of what was passed on
  ChangePacer<Change> pacer_;
  EngineTime tells_until_ = kBeginningOfTime;
  uint64_t resyncs_ = 0;
};

// Takes changes from a reader.
template <class Source>
struct TakeChanges {
  using Item = typename Source::ChangeType;

  Took operator()(size_t max, EngineTime, Waiter::See see, std::vector<Item>& items) noexcept {
    return reader->Take(max, see, items);
  }

  std::shared_ptr<ChangeReaderOf<Source>> reader;
};

// The queue of the operations that wait for changes.
class PLEAT_EXPORT AnyWatcher : public WaiterHandle {
 public:
  AnyWatcher(boost::asio::any_io_executor executor, Driver& driver,
             std::shared_ptr<ChangeReader> reader, const WatcherOptions& options);

  // Calls `call` while no operation reads from the reader.
  void Exclude(absl::FunctionRef<void()> call) const;
};

}  // namespace pleat::inline v0_1
