// What a snapshot keeps of entries that change before their turn: counted, bounded, and forgotten at
// once when the snapshot is given up. Example: the disk stalls, and all groups are folded into
// meanwhile. The snapshot keeps each of them as it was, until it is full; then all copies go, and
// folding goes on without it.
//
// Whoever keeps copies is a Copies::Holder: the images of a table, the emissions that have left an
// outbox. It says how many bytes it holds, and forgets them when it is told, also in the midst of an
// operation. From then on it holds nothing, until its owner ends the saving.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <utility>

#include "engine/base/check.h"
#include "engine/base/lock.h"

namespace pleat::inline v0_1 {

// The bytes that one snapshot keeps, in all partitions, and how it has ended. Thread safety: any
// thread may call any method at any time.
class CopyCount {
 public:
  enum class End : uint8_t { kNone, kDone, kFull, kGivenUp };

  explicit CopyCount(uint64_t max) noexcept : max_(max) {}

  // False if it would be more than the bound; nothing is added then.
  bool Add(uint64_t bytes) noexcept {
    uint64_t before = bytes_.load(std::memory_order_relaxed);
    do {
      if (bytes > max_ - before) return false;
    } while (!bytes_.compare_exchange_weak(before, before + bytes, std::memory_order_relaxed));
    uint64_t most = most_.load(std::memory_order_relaxed);
    while (most < before + bytes &&
           !most_.compare_exchange_weak(most, before + bytes, std::memory_order_relaxed)) {
    }
    return true;
  }
  void Remove(uint64_t bytes) noexcept {
    [[maybe_unused]] const uint64_t before = bytes_.fetch_sub(bytes, std::memory_order_relaxed);
    PLEAT_DCHECK(bytes <= before);
  }
  uint64_t max() const noexcept { return max_; }
  uint64_t bytes() const noexcept { return bytes_.load(std::memory_order_relaxed); }
  uint64_t most() const noexcept { return most_.load(std::memory_order_relaxed); }

  // The first to say so decides how the snapshot ends. Returns whether that was this call.
  bool EndAs(End end) noexcept {
    End none = End::kNone;
    return end_.compare_exchange_strong(none, end);
  }
  End end() const noexcept { return end_.load(); }
  bool given_up() const noexcept { return end() == End::kFull || end() == End::kGivenUp; }

 private:
  const uint64_t max_;
  std::atomic<uint64_t> bytes_ = 0;
  std::atomic<uint64_t> most_ = 0;
  std::atomic<End> end_ = End::kNone;
};

// Those of one partition. Calls are made under the partition's lock, but for Forget(): any thread may
// call that, also one that holds another partition. So what is held is read and written under a lock
// of its own, the last one that a thread takes.
class Copies {
 public:
  class Holder {
   public:
    virtual ~Holder() { PLEAT_DCHECK(!is_listed_); }
    Holder(const Holder&) = delete;
    Holder& operator=(const Holder&) = delete;

   protected:
    // `copies` outlives the holder. Another thread may call Free() from the first Hold() on, when the
    // whole object is there, until Leave(), which each destructor calls first.
    explicit Holder(Copies& copies) noexcept : copies_(copies) {}
    void Leave() noexcept {
      LockGuard guard(copies_.lock_);
      if (!std::exchange(is_listed_, false)) return;
      LetGo(held_);
      (previous_ == nullptr ? copies_.first_ : previous_->next_) = next_;
      if (next_ != nullptr) next_->previous_ = previous_;
    }
    // Calls `put()`, which allocates so many bytes. False: that would be too many, or the snapshot was
    // given up; nothing is held then.
    template <class Put>
    bool Hold(size_t bytes, const Put& put) {
      return HoldAs([bytes] { return bytes; }, put);
    }
    // The same where `size()` says how many.
    template <class Size, class Put>
    bool HoldAs(const Size& size, const Put& put) {
      {
        LockGuard guard(copies_.lock_);
        if (!is_listed_) List();
        const size_t bytes = size();
        if (copies_.Add(bytes)) [[likely]] {
          held_ += bytes;
          put();
          return true;
        }
      }
      copies_.EndAsFull();
      return false;
    }
    // What is held is read under this lock, and let go.
    Lock& lock() noexcept { return copies_.lock_; }
    void LetGo(size_t bytes) noexcept {
      PLEAT_DCHECK(bytes <= held_);
      held_ -= bytes;
      copies_.Remove(bytes);
    }

   private:
    friend Copies;
    void List() noexcept {
      is_listed_ = true;
      next_ = std::exchange(copies_.first_, this);
      if (next_ != nullptr) next_->previous_ = this;
    }
    // Frees what is held. Under lock(), and perhaps without the partition's.
    virtual void Free() noexcept = 0;

    Copies& copies_;
    Holder* next_ = nullptr;
    Holder* previous_ = nullptr;
    size_t held_ = 0;
    bool is_listed_ = false;
  };

  Copies() = default;
  Copies(const Copies&) = delete;
  Copies& operator=(const Copies&) = delete;

  // All holders forget what they hold.
  void Forget() noexcept {
    LockGuard guard(lock_);
    for (Holder* holder = first_; holder != nullptr; holder = holder->next_) {
      holder->Free();
      holder->LetGo(holder->held_);
    }
  }

 protected:
  ~Copies() { PLEAT_DCHECK(first_ == nullptr); }

 private:
  // False: that would be too much, or the snapshot was given up.
  virtual bool Add(size_t /*bytes*/) noexcept { return true; }
  virtual void Remove(size_t /*bytes*/) noexcept {}
  // Add() was false.
  virtual void EndAsFull() noexcept {}

  Lock lock_;
  Holder* first_ = nullptr;
};

// For a book that is saved as a whole: nothing is counted.
class UncountedCopies final : public Copies {};

}  // namespace pleat::inline v0_1
