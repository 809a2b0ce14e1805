// Reads sections of the log into a page, and the records in them.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include <absl/functional/function_ref.h>
#include <absl/status/status.h>
#include <absl/status/statusor.h>
#include <pleat/event_store.h>

#include "engine/store/segments.h"
#include "engine/store/store_bytes.h"

namespace pleat::inline v0_1 {

struct StorePage::Parts {
  FoundSections found;
  StoreBytes buffer;  // the sections, one behind the other; records are views of it
  // The page's position is known to be right in this partition; -1: of none.
  int partition = -1;
  uint64_t opening = 0;  // Segments::opening()
};

// Adds the records of a section of a block that was read whole. Returns what is wrong with it; nothing:
// they were added.
std::string_view TakeSection(const SectionEntry& section, std::string_view block,
                             const Binding& of_block, std::vector<StoredRecord>& records);

struct NoteAt {
  std::string value;
  uint64_t offset = 0;
};
using NotesAt = std::map<std::string, NoteAt>;  // by name
StoreNotes WithoutOffsets(NotesAt notes);

// Of a page of notes.
inline constexpr size_t kNotesPageBytes = size_t{1} << 20;

class PageReader {
 public:
  // Fills the page, as EventStore::Read() does. `durable`: the end of what may be read; `next`: the
  // end of the partition.
  static absl::StatusOr<ReadOutcome> Fill(const Segments& segments, int partition,
                                          const StorePosition& from, uint64_t durable,
                                          uint64_t next, size_t bytes, StorePage& page);

  // The latest note of each name, of the pages that `fill` reads. They begin at what `first` says; if
  // older ones are removed meanwhile, all is read again.
  using FirstOf = absl::FunctionRef<uint64_t()>;
  using FillFrom = absl::FunctionRef<absl::StatusOr<ReadOutcome>(uint64_t from, StorePage& page)>;
  static absl::StatusOr<NotesAt> LatestNotes(FirstOf first, FillFrom fill);

 private:
  static absl::StatusOr<bool> IsThere(const Segments& segments, int partition,
                                      const StorePosition& position, StorePage& page);
  static absl::Status Read(const Segments& segments, int partition, uint64_t from, size_t bytes,
                           StorePage& page);
  static absl::Status ReadSections(const Segments& segments, int partition, uint64_t from,
                                   StorePage& page);
  static ReadOutcome Nothing(ReadOutcome why, const StorePosition& from, StorePage& page);
};

}  // namespace pleat::inline v0_1
