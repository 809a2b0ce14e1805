#include "engine/core/collection.h"

#include <algorithm>
#include <utility>

namespace pleat::inline v0_1 {

Collection::Collection(EngineCore& engine, std::string_view name) : engine_(engine), name_(name) {
  const int partitions = engine_.partition_count();
  homes_.reserve(static_cast<size_t>(partitions));
  for (int i = 0; i < partitions; ++i) homes_.push_back({.partition = &engine_.partition(i)});
}

void Collection::AddBook(Home& home) {
  if (closed()) return;
  std::unique_ptr<Book> book = MakeBook(static_cast<int>(&home - homes_.data()));
  home.book = book.get();
  home.partition->AddBook(std::move(book));
}

// Books are destroyed without the partition's lock, for which others wait.
void Collection::Close() {
  closed_ = true;
  for (size_t i = 0; i < homes_.size(); ++i) {
    Home& home = homes_[i];
    std::unique_ptr<Book> book;
    LockGuard guard(home.partition->lock());
    if (home.book != nullptr) book = home.partition->RemoveBook(*std::exchange(home.book, nullptr));
    TellOfClose(static_cast<int>(i));
  }
}

PartitionRange Collection::Clip(PartitionRange range) const noexcept {
  return {std::max(range.begin, 0), std::min(range.end, engine_.partition_count())};
}

void Collection::LockRange(PartitionRange range) noexcept ABSL_NO_THREAD_SAFETY_ANALYSIS {
  for (int i = range.begin; i < range.end; ++i) engine_.partition(i).lock().LockForLong();
}

void Collection::HandOverRange(PartitionRange range) noexcept ABSL_NO_THREAD_SAFETY_ANALYSIS {
  for (int i = range.end; i-- > range.begin;) engine_.partition(i).lock().HandOver();
}

void Collection::CheckWhole() {
  for (const Home& home : homes_) {
    LockGuard guard(home.partition->lock());
    if (home.book != nullptr) home.book->CheckWhole();
  }
}

}  // namespace pleat::inline v0_1
