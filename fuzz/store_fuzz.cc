// The files of an event store: any bytes in place of one of them, their checksums put right or not.
// Claims:
//   - The store is refused by name, or all that it has can be read, by its appender and by a reader in
//     another process; or reading is refused by name.
//   - A store that opens takes a record and gives it back, or says why not.
//   - A consumer is refused by name, or says where it stands.
//
// The input: a byte that chooses the file, and whether checksums are put right; the file.
#include <algorithm>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>

#include <pleat/event_store_reader.h>

#include "engine/store/block.h"
#include "engine/store/frame.h"
#include "fuzz/target.h"
#include "tests/support/faulty_storage.h"
#include "tests/support/start.h"

namespace pleat_fuzz {
namespace {

using pleat::Binding;
using pleat::EventStore;
using pleat::EventStoreReader;
using pleat::ReadOutcome;
using pleat::StorePage;

constexpr std::string_view kPath = "/d";
constexpr uint64_t kIdentity = 7;
constexpr const char* kFiles[] = {"/d/MANIFEST", "/d/segment-1", "/d/segment-2",
                                  "/d/consumers/mail/CHECKPOINT", "/d/END"};

pleat::EventStoreOptions Options(pleat::FaultyStorage& storage) {
  return {.storage = &storage,
          .durability = pleat::StoreDurability::kProcess,
          .block_bytes = 4096,
          .segment_bytes = 4096};
}

// Two segments, the first one with an index; a note and a consumer.
pleat::FaultyStorage MakeBase() {
  pleat::FaultyStorage storage;
  pleat::EventStoreOptions options = Options(storage);
  options.partitions = 2;
  options.identity = kIdentity;
  auto store = EventStore::Open(kPath, options).value();
  for (int i = 0; i < 8; ++i) {
    const std::string key = "key " + std::to_string(i % 3);
    const std::string payload(i == 4 ? 4000 : 20, 'x');
    const pleat::StoreNote note{"source", key};
    FUZZ_EXPECT(
        store->Append({.key = key, .payload = payload}, pleat::kT0, {.note = note}).taken == 1,
        kPath);
    FUZZ_EXPECT(store->Commit().ok(), kPath);
  }
  FUZZ_EXPECT(store->Sync().ok(), kPath);
  auto mail = pleat::StoreConsumer::Open(kPath, "mail", &storage).value();
  FUZZ_EXPECT(mail->Commit({.partition = 1, .position = {1, 2}, .metadata = "m"}).ok(), kPath);
  return storage;
}

// Puts the checksum of the frame right that begins at `at`. Returns where it ends; nothing: it is none.
size_t RepairFrame(std::string& bytes, size_t at, std::string_view letters,
                   const Binding& binding) {
  const std::string_view begin = std::string_view(bytes).substr(at);
  if (begin.size() < pleat::kFrameBytes) return 0;
  const std::optional<uint64_t> size = pleat::FrameBytesIn(letters, begin);
  if (!size || *size > begin.size()) return 0;
  const uint64_t checksum = pleat::ChecksumOf(begin.substr(0, *size - 8), binding);
  pleat::PutFixed(&bytes[at + *size - 8], checksum);
  return at + *size;
}

// The same of a block, which names `before` then. Returns where it ends; 0: it is none.
size_t RepairBlock(std::string& bytes, const Binding& place, uint64_t& before) {
  const size_t at = place.place;
  const std::optional<pleat::BlockSizes> sizes =
      pleat::BlockSizesIn(std::string_view(bytes).substr(at));
  if (!sizes || sizes->head + sizes->body > bytes.size() - at) return 0;
  const auto seal = [&] {
    const std::string_view head = std::string_view(bytes).substr(at, sizes->head - 8);
    const uint64_t digest = pleat::ChecksumOf(head, place);
    pleat::PutFixed(&bytes[at + sizes->head - 8], digest);
    return digest;
  };
  if (before != 0) pleat::PutFixed(&bytes[at + 24], before);
  seal();
  const auto head = pleat::ReadBlockHead(std::string_view(bytes).substr(at), place);
  if (!head) return 0;
  for (const pleat::SectionEntry& section : head->sections) {
    const std::string_view own = std::string_view(bytes).substr(at + section.at, section.bytes);
    pleat::PutFixed(&bytes[at + section.checksum_at],
                    pleat::ChecksumOfSection(own, place.Behind(section.at), section.partition,
                                             section.first_offset));
  }
  before = seal();
  return at + sizes->head + sizes->body;
}

void RepairSegment(std::string& bytes, uint64_t number) {
  size_t at = RepairFrame(bytes, 0, "SG", {.segment = number});
  uint64_t before = 0;
  for (size_t end = at; end != 0;) {
    end = RepairBlock(bytes, {kIdentity, number, at}, before);
    if (end != 0) at = end;
  }
  const size_t end = RepairFrame(bytes, at, "IX", {kIdentity, number, at});
  if (end == 0 || bytes.size() - end != 24) return;
  const std::string_view checked = std::string_view(bytes).substr(end, 16);
  pleat::PutFixed(&bytes[end + 16], pleat::ChecksumOf(checked, {kIdentity, number, end}));
}

std::string Repaired(size_t file, std::string bytes) {
  switch (file) {
    case 0: RepairFrame(bytes, 0, "MF", {}); break;
    case 3: RepairFrame(bytes, 0, "CP", {}); break;
    case 4: RepairFrame(bytes, 0, "EN", {.identity = kIdentity}); break;
    default: RepairSegment(bytes, file);
  }
  return bytes;
}

void ExpectNamed(const absl::Status& refused, std::string_view about) {
  const bool is_named = absl::IsDataLoss(refused) || absl::IsFailedPrecondition(refused) ||
                        absl::IsUnimplemented(refused);
  FUZZ_EXPECT(is_named && MessageOf(refused).find("/d") != std::string::npos, about);
}

// Reads all, as far as nothing is damaged.
template <class Store>
void ReadAll(const Store& store, std::string_view about) {
  StorePage page;
  for (int p = 0; p < store.partitions(); ++p) {
    for (uint64_t next = store.First(p);;) {
      const absl::StatusOr<ReadOutcome> read = store.Read(p, next, 1 << 20, page);
      if (!read.ok()) {
        ExpectNamed(read.status(), about);
        break;
      }
      if (*read != ReadOutcome::kRecords) break;
      FUZZ_EXPECT(page.next() == next + page.records().size(), about);
      next = page.next();
    }
  }
  const auto notes = store.Notes();
  if (!notes.ok()) ExpectNamed(notes.status(), about);
}

void ReadBeside(pleat::FaultyStorage storage, std::string_view about) {
  const auto reader = EventStoreReader::Open(kPath, &storage);
  if (!reader.ok()) return ExpectNamed(reader.status(), about);
  ReadAll(**reader, about);
  const absl::Status refreshed = (*reader)->Refresh();
  if (!refreshed.ok()) ExpectNamed(refreshed, about);
}

void AppendAndRead(pleat::FaultyStorage storage, std::string_view about) {
  const auto store = EventStore::Open(kPath, Options(storage));
  if (!store.ok()) return ExpectNamed(store.status(), about);
  ReadAll(**store, about);
  const pleat::AppendAnswer placed =
      (*store)->Append({.key = "k", .payload = "new"}, pleat::kEndOfTime, {.confirm_time = true});
  if (placed.outcome != pleat::AppendOutcome::kAppended) {
    return ExpectNamed((*store)->state().last_error, about);
  }
  if (const absl::Status committed = (*store)->Commit(); !committed.ok()) {
    return ExpectNamed(committed, about);
  }
  StorePage page;
  const auto read = (*store)->Read(placed.partition, placed.offset, 1, page);
  FUZZ_EXPECT(read.ok() && *read == ReadOutcome::kRecords, about);
  FUZZ_EXPECT(page.records()[0].payload == "new", about);
  const auto trimmed = (*store)->Trim({.appended_since = pleat::kEndOfTime});
  if (!trimmed.ok()) ExpectNamed(trimmed.status(), about);
}

}  // namespace
}  // namespace pleat_fuzz

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace pleat_fuzz;
  static const pleat::FaultyStorage base = MakeBase();
  if (size == 0) return 0;
  const size_t file = data[0] % std::size(kFiles);
  const std::string_view text = TextOf(data + 1, size - 1);
  const std::string bytes =
      (data[0] & 0x80) != 0 ? std::string(text) : Repaired(file, std::string(text));
  pleat::FaultyStorage storage = base;
  storage.SetContent(kFiles[file], bytes);
  ReadBeside(storage, bytes);
  AppendAndRead(storage, bytes);
  const auto mail = pleat::StoreConsumer::Open(kPath, "mail", &storage);
  if (!mail.ok()) ExpectNamed(mail.status(), bytes);
  return 0;
}
