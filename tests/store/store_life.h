// A small program that keeps events in a store, and what it knows of them: a model in plain C++.
// Operations are letters, and a life is a word.
#pragma once

#include <algorithm>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <gtest/gtest.h>
#include <pleat/event_store.h>

#include "tests/support/faulty_storage.h"
#include "tests/support/start.h"

namespace pleat::inline v0_1 {

inline constexpr char kStorePath[] = "/d";
inline constexpr int kStorePartitions = 3;

struct ModelRecord {
  std::string key, id, payload;
  EngineTime stamp, appended;

  friend bool operator==(const ModelRecord&, const ModelRecord&) = default;
};
inline std::ostream& operator<<(std::ostream& out, const ModelRecord& record) {
  return out << record.key << " " << record.id << " " << record.payload.substr(0, 20);
}

// In place of a record that was removed.
inline const ModelRecord kRemoved = {.key = "removed"};

// Of each partition its records, and the offsets at which a block may have ended; where the
// records may begin; and the notes that
// were taken, in their order, each with where the partitions stood behind its records.
struct StoreModel {
  using Cut = std::vector<uint64_t>;
  struct Noted {
    Cut behind;
    std::string name, value;
  };

  std::map<int, std::vector<ModelRecord>> records;
  std::vector<Cut> cuts = {Cut(kStorePartitions, 0)};
  std::vector<Cut> firsts = {Cut(kStorePartitions, 0)};
  std::vector<Noted> noted;

  Cut End() {
    Cut end;
    for (int p = 0; p < kStorePartitions; ++p) end.push_back(records[p].size());
    return end;
  }
  void NoteCut() { cuts.push_back(End()); }
  void ShortenTo(const Cut& cut) {
    for (int p = 0; p < kStorePartitions; ++p) {
      const size_t size = cut[static_cast<size_t>(p)];
      ASSERT_LE(size, records[p].size());
      records[p].resize(size);
    }
    std::erase_if(cuts, [&](const Cut& each) { return !IsNotBefore(cut, each); });
    std::erase_if(noted, [&](const Noted& each) { return !IsNotBefore(cut, each.behind); });
  }
  // Those whose records are all before the cut: each has some.
  StoreNotes NotesAt(const Cut& cut) const {
    StoreNotes notes;
    for (const Noted& each : noted) {
      if (IsNotBefore(cut, each.behind)) notes[each.name] = each.value;
    }
    return notes;
  }
  // Whether these records end at a cut, and are those before it.
  bool HasBeginning(const Cut& end, const std::map<int, std::vector<ModelRecord>>& all) const {
    if (std::ranges::find(cuts, end) == cuts.end()) return false;
    for (const auto& [p, found] : all) {
      const auto own = records.find(p);
      const size_t size = own == records.end() ? 0 : own->second.size();
      if (found.size() != end[static_cast<size_t>(p)] || found.size() > size) return false;
      const auto is_same = [](const ModelRecord& a, const ModelRecord& b) {
        return a == kRemoved || a == b;
      };
      if (size > 0 && !std::equal(found.begin(), found.end(), own->second.begin(), is_same)) {
        return false;
      }
    }
    return true;
  }
  // Whether `cut` has all that `other` has.
  static bool IsNotBefore(const Cut& cut, const Cut& other) {
    for (size_t i = 0; i < cut.size(); ++i) {
      if (cut[i] < other[i]) return false;
    }
    return true;
  }
};

inline StoreModel::Cut DurableOf(const EventStore& store) {
  StoreModel::Cut cut;
  for (int p = 0; p < store.partitions(); ++p) cut.push_back(store.Durable(p));
  return cut;
}

inline StoreModel::Cut FirstOf(const EventStore& store) {
  StoreModel::Cut cut;
  for (int p = 0; p < store.partitions(); ++p) cut.push_back(store.First(p));
  return cut;
}

inline ModelRecord ModelOf(const StoredRecord& record) {
  return {std::string(record.key), std::string(record.id), std::string(record.payload),
          record.stamp, record.appended};
}

// All that can be read, behind as many kRemoved as are gone. The error, should there be one. Of an
// EventStore or an EventStoreReader, as the next one.
template <class Store>
absl::StatusOr<std::map<int, std::vector<ModelRecord>>> ReadAll(const Store& store,
                                                                size_t page_bytes = 700) {
  std::map<int, std::vector<ModelRecord>> all;
  StorePage page;
  for (int p = 0; p < store.partitions(); ++p) {
    all[p].assign(store.First(p), kRemoved);
    for (uint64_t next = store.First(p);; next = page.next()) {
      const absl::StatusOr<ReadOutcome> read = store.Read(p, next, page_bytes, page);
      if (!read.ok()) return read.status();
      if (*read != ReadOutcome::kRecords) break;
      for (const StoredRecord& record : page.records()) {
        EXPECT_EQ(record.offset, all[p].size());
        all[p].push_back(ModelOf(record));
      }
    }
  }
  return all;
}

template <class Store>
StoreNotes NotesOf(const Store& store) {
  const absl::StatusOr<StoreNotes> found = store.Notes();
  EXPECT_TRUE(found.ok()) << found.status();
  return found.ok() ? *found : StoreNotes();
}

class StoreLife {
 public:
  StoreLife(FaultyStorage& storage, StoreDurability durability) {
    options_ = {.storage = &storage,
                .partitions = kStorePartitions,
                .durability = durability,
                .block_bytes = 4096,
                .segment_bytes = 4096,
                .identity = 7};
  }

  // 'a' appends three records; 'b' a large batch; 'f' one that fills a block, which is written, and
  // the segment as well; each with a note that says how far its source was taken; 'c' commits; 's' syncs; 't' removes old files but for some 9 KB; 'r' is killed and starts again; 'x' is closed and
  // starts again; 'o' starts. Without an effect where the store could not be opened, but for 'r',
  // 'x' and 'o'.
  void Do(char operation) {
    switch (operation) {
      case 'a':
      case 'b': {
        const uint64_t blocks = store == nullptr ? 0 : store->state().blocks;
        operation == 'a' ? Append(3, 40) : Append(20, 90);
        if (store != nullptr && store->state().blocks > blocks) model.NoteCut();
        break;
      }
      case 'f':
        Append(45, 90);
        model.NoteCut();
        break;
      case 'c':
      case 's':
        if (store == nullptr) break;
        model.NoteCut();
        last = operation == 'c' ? store->Commit() : store->Sync();
        if (last.ok() && (operation == 's' || !IsProcess())) synced = DurableOf(*store);
        break;
      case 't': Trim({.bytes_max = 9000}); break;
      case 'x':
        model.NoteCut();
        closed = store == nullptr ? absl::OkStatus() : store->Close();
        if (store != nullptr && closed.ok()) durable = synced = DurableOf(*store);
        [[fallthrough]];
      default:
        Restart();
        // What a start had to write again is on the disk, unless that has failed.
        if (store != nullptr && !refuses()) synced = DurableOf(*store);
    }
    if (store != nullptr) durable = DurableOf(*store);
  }

  void Trim(const RetentionOptions& keep) {
    if (store == nullptr) return;
    model.NoteCut();  // where it keeps notes it commits
    const absl::StatusOr<TrimAnswer> trimmed = store->Trim(keep);
    last = trimmed.status();
    // If it has failed, the next start may find that it was done.
    if (trimmed.ok()) {
      model.firsts.push_back(FirstOf(*store));
    } else {
      may_be_trimmed = true;
    }
  }

  // Opens the store, which has to have all that was durable, and checks it.
  void Restart() {
    durable = kept();
    store.reset();
    absl::StatusOr<std::unique_ptr<EventStore>> opened = EventStore::Open(kStorePath, options_);
    last = opened.status();
    if (!opened.ok()) return;
    store = *std::move(opened);
    drops_pages = false;
    StoreModel::Cut end;
    for (int p = 0; p < kStorePartitions; ++p) end.push_back(store->Next(p));
    EXPECT_TRUE(StoreModel::IsNotBefore(end, durable)) << testing::PrintToString(end);
    if (std::exchange(may_be_trimmed, false)) model.firsts.push_back(FirstOf(*store));
    if (power_was_lost) ChooseModel(end);
    power_was_lost = false;
    EXPECT_NE(std::ranges::find(model.cuts, end), model.cuts.end()) << testing::PrintToString(end);
    if (testing::Test::HasFailure()) return;
    if (model.End() != end) left_behind.push_back(model);
    model.ShortenTo(end);
  }

  void Append(size_t count, size_t bytes) {
    if (store == nullptr) return;
    std::vector<ModelRecord> made;
    for (size_t i = 0; i < count; ++i) made.push_back(Make(bytes));
    for (ModelRecord& each : made) each.appended = now_;
    std::vector<StoreRecord> records;
    for (const ModelRecord& each : made) {
      records.push_back(
          {.key = each.key, .stamp = each.stamp, .id = each.id, .payload = each.payload});
    }
    std::vector<AppendPlace> places(count);
    const std::string source = "source " + std::to_string(made_ % 2);
    const std::string position = std::to_string(made_);
    const AppendAnswer answer =
        store->AppendBatch(records, now_, {.note = StoreNote{source, position}}, places);
    outcome = answer.outcome;
    ASSERT_TRUE(answer.taken == 0 || answer.taken == count);
    for (size_t i = 0; i < answer.taken; ++i) {
      std::vector<ModelRecord>& partition = model.records[places[i].partition];
      EXPECT_EQ(places[i].partition, PartitionOf(made[i].key, kStorePartitions));
      EXPECT_EQ(places[i].offset, partition.size());
      partition.push_back(made[i]);
    }
    if (answer.taken == count) model.noted.push_back({model.End(), source, position});
  }

  // What a start has to find after a kill: what was reported durable. But what lay in pages that a
  // failed sync has dropped is gone, unless the store has written it again; it refuses appends until
  // then. In kGroup nothing was reported that was not synced.
  StoreModel::Cut kept() const { return drops_pages && refuses() ? certain() : durable; }
  // And after a power loss.
  StoreModel::Cut certain() const {
    return options_.durability == StoreDurability::kGroup ? durable : synced;
  }
  bool refuses() const {
    return store != nullptr && store->state().answers != AppendOutcome::kAppended;
  }
  // The last start, commit or sync, and the last Close().
  bool ok() const { return last.ok() && closed.ok(); }

  EventStoreOptions options() const { return options_; }
  EngineTime now() const { return now_; }
  EventStoreOptions& options_to_change() { return options_; }

  std::unique_ptr<EventStore> store;
  StoreModel model;
  StoreModel::Cut durable = StoreModel::Cut(kStorePartitions, 0);  // reported at any time
  // On the disk for certain, in every mode.
  StoreModel::Cut synced = StoreModel::Cut(kStorePartitions, 0);
  // Told by the test: a sync may have failed, and dropped its pages, since the last start.
  bool drops_pages = false;
  // Removing old files has failed since the last start.
  bool may_be_trimmed = false;
  // Told by the test: the power was lost since the last one.
  bool power_was_lost = false;
  // The model as it was before starts that found less. Not durable; but a power loss may bring back a
  // file that had it, and that was given up.
  std::vector<StoreModel> left_behind;
  absl::Status last;    // of the last operation; of 'x', of its start
  absl::Status closed;  // of the last Close()
  AppendOutcome outcome = AppendOutcome::kAppended;

 private:
  // That of which the store has a beginning.
  void ChooseModel(const StoreModel::Cut& end) {
    if (left_behind.empty()) return;
    const auto all = ReadAll(*store);
    ASSERT_TRUE(all.ok()) << all.status();
    if (model.HasBeginning(end, *all)) return;
    const auto found = std::ranges::find_if(
        left_behind, [&](const StoreModel& each) { return each.HasBeginning(end, *all); });
    if (found != left_behind.end()) model = *found;
  }

  bool IsProcess() const { return options_.durability == StoreDurability::kProcess; }

  ModelRecord Make(size_t bytes) {
    ++made_;
    now_ += Duration(made_ % 3);
    return {
        .key = "key " + std::to_string(made_ % 7),
        .id = made_ % 4 == 0 ? "id " + std::to_string(made_) : "",
        .payload = std::to_string(made_) + std::string(bytes, static_cast<char>('a' + made_ % 26)),
        .stamp = now_ - Duration(made_ % 5 * 1000),
        .appended = {}};
  }

  EventStoreOptions options_;
  EngineTime now_ = kT0;
  uint64_t made_ = 0;
};

}  // namespace pleat::inline v0_1
