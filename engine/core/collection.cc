#include "engine/core/collection.h"

#include <algorithm>
#include <utility>

#include <pleat/metrics.h>

#include "engine/base/check.h"
#include "engine/base/concat.h"
#include "engine/base/instant.h"

namespace pleat::inline v0_1 {

Collection::Collection(EngineCore& engine, std::string_view name)
    : engine_(engine), name_(name), positions_(engine.partition_count()) {
  const int partitions = engine_.partition_count();
  homes_.reserve(static_cast<size_t>(partitions));
  for (int i = 0; i < partitions; ++i) homes_.push_back({.partition = &engine_.partition(i)});
}

void Collection::AddBook(Home& home) {
  if (closed()) return;
  std::unique_ptr<Book> book = MakeBook(static_cast<int>(&home - homes_.data()));
  home.book = book.get();
  home.partition->AddBook(std::move(book), number_);
}

// Its numbers begin behind those that books before a restart may have given.
void Collection::AddNewBook(Home& home) {
  AddBook(home);
  const uint64_t first = engine_.first_number();
  if (first == 0 || home.book == nullptr) return;
  Do(home, [&](const Instant& at) { home.book->SkipNumbers(first, at); });
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

void Collection::CheckRoom(std::string_view verb, size_t events, size_t outcomes) {
  if (outcomes >= events) return;
  Fail(Concat(verb, "() of ", events, " events was given room for ", outcomes, " outcomes"));
}

std::vector<Statistic> Collection::Statistics() { return {}; }

size_t Collection::held_bytes() {
  return Sum<Book>([](const Book& book) { return book.held_bytes(); });
}

Description Collection::DescribeAll() const {
  Description all = Describe();
  if (companion_ == nullptr) return all;
  for (const auto& [name, value] : companion_->Options()) all.Add(name, value);
  return all;
}

void Collection::SaveAll(FieldWriter& out) const {
  SaveShared(out);
  if (companion_ != nullptr) companion_->Save(out);
}

void Collection::LoadAll(FieldReader& in) {
  LoadShared(in);
  if (companion_ != nullptr) companion_->Load(in);
}

void Collection::LoadBook(size_t partition, FieldReader& in, const Partition::Moment& cut,
                          uint64_t skip_numbers) ABSL_NO_THREAD_SAFETY_ANALYSIS {
  Home& home = homes_[partition];
  PLEAT_CHECK(home.book == nullptr);
  AddBook(home);
  Book& book = *home.book;
  home.partition->Do(home.partition->CopyFirst(), book, cut.now, cut.leases, cut.position,
                     [&](const Instant& at) {
                       book.Load(in, at);
                       if (in.ok() && skip_numbers > 0) book.SkipNumbers(skip_numbers, at);
                     });
  if (!takes_over_at_ || !in.done()) return;
  home.partition->Do(
      home.partition->CopyFirst(), book, cut.now, cut.leases, *takes_over_at_,
      [&](const Instant& at) { SetOptionsOf(book, static_cast<int>(partition), at); });
}

absl::Status Collection::ChangeOptions(absl::FunctionRef<std::string_view()> fixed,
                                       absl::FunctionRef<void()> take) {
  absl::Status status;
  engine_.WithCollections([&](const EngineCore::Collections&) {
    if (closed()) {
      status = absl::FailedPreconditionError("the collection is closed");
    } else if (const std::string_view option = fixed(); !option.empty()) {
      status = absl::FailedPreconditionError(Concat(
          option, ": cannot change while the collection is open; close it, and open another"));
    } else {
      ChangeBooks(take);
    }
  });
  return status;
}

// With the gate closed: a piece of a batch is taken by the options of before, or by these.
void Collection::ChangeBooks(absl::FunctionRef<void()> take) ABSL_NO_THREAD_SAFETY_ANALYSIS {
  const Gate::Closing closing(engine_.gate());
  const PartitionRange all = Clip({});
  LockRange(all);
  take();
  Timeline& timeline = engine_.timeline();
  DoInEach<Book>(
      timeline.now(), timeline.lease_now(), timeline.TakePositions(kPositionsOfChange),
      [&](Book& book, int partition, const Instant& at) { SetOptionsOf(book, partition, at); });
  HaveSetOptions();
  HandOverRange(all);
}

absl::Status Collection::BeginTakeOver(const Description& then, uint64_t position) {
  absl::Status status = UseOptionsOf(then);
  if (status.ok()) takes_over_at_ = position;
  return status;
}

void Collection::EndTakeOver() {
  UseOwnOptions();
  takes_over_at_.reset();
}

void Collection::DropBooks() {
  for (Home& home : homes_) {
    std::unique_ptr<Book> book;
    LockGuard guard(home.partition->lock());
    if (home.book != nullptr) book = home.partition->RemoveBook(*std::exchange(home.book, nullptr));
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
