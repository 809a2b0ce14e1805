#include <pleat/event_store_reader.h>

#include <utility>

#include "engine/base/check.h"
#include "engine/store/open_store.h"
#include "engine/store/page_reader.h"
#include "engine/store/store_view.h"

namespace pleat::inline v0_1 {

EventStoreReader::EventStoreReader(std::unique_ptr<StoreView> view) : view_(std::move(view)) {}
EventStoreReader::~EventStoreReader() = default;

absl::StatusOr<std::unique_ptr<EventStoreReader>> EventStoreReader::Open(std::string_view directory,
                                                                         Storage* storage) {
  absl::StatusOr<OpenedStore> opened = OpenStoreToRead(directory, storage);
  if (!opened.ok()) return opened.status();
  auto view = std::make_unique<StoreView>(*std::move(opened));
  if (absl::Status begun = view->Begin(); !begun.ok()) return begun;
  return std::unique_ptr<EventStoreReader>(new EventStoreReader(std::move(view)));
}

absl::Status EventStoreReader::Refresh() { return view_->Refresh(); }

int EventStoreReader::partitions() const noexcept { return static_cast<int>(view_->partitions()); }
uint64_t EventStoreReader::identity() const noexcept { return view_->segments().identity(); }

uint64_t EventStoreReader::First(int partition) const noexcept {
  PLEAT_CHECK(0 <= partition && partition < partitions());
  return view_->segments().First(static_cast<size_t>(partition));
}
uint64_t EventStoreReader::Durable(int partition) const noexcept {
  PLEAT_CHECK(0 <= partition && partition < partitions());
  return view_->durable(static_cast<size_t>(partition));
}

namespace {

absl::StatusOr<ReadOutcome> ReadView(StoreView& view, size_t partition, const StorePosition& from,
                                     size_t bytes, StorePage& page) {
  // What is read may change its file, when the appender starts again or its disk had failed; and
  // what was not synced may be gone.
  for (bool refreshed = false;; refreshed = true) {
    const uint64_t durable = view.durable(partition);
    absl::StatusOr<ReadOutcome> read = PageReader::Fill(
        view.segments(), static_cast<int>(partition), from, durable, durable, bytes, page);
    const bool has_moved = absl::IsNotFound(read.status()) || absl::IsOutOfRange(read.status());
    if (!has_moved || refreshed) return read;
    if (absl::Status again = view.Refresh(); !again.ok()) return again;
  }
}

}  // namespace

absl::StatusOr<ReadOutcome> EventStoreReader::Read(int partition, const StorePosition& from,
                                                   size_t bytes, StorePage& page) const {
  PLEAT_CHECK(0 <= partition && partition < partitions());
  return ReadView(*view_, static_cast<size_t>(partition), from, bytes, page);
}

absl::StatusOr<StoreNotes> EventStoreReader::Notes() const {
  const size_t partition = view_->partitions();
  absl::StatusOr<NotesAt> notes =
      PageReader::LatestNotes([&] { return view_->segments().First(partition); },
                              [&](uint64_t from, StorePage& page) {
                                return ReadView(*view_, partition, from, kNotesPageBytes, page);
                              });
  if (!notes.ok()) return notes.status();
  return WithoutOffsets(*std::move(notes));
}

}  // namespace pleat::inline v0_1
