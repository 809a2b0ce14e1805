// SQLite beside the event store. Absent where its library is not installed.
//
//   store/sqlite/normal  kProcess, and Commit() behind each 1,000 records of 200 bytes, which writes them;
//                        full files are synced. Beside it a table (partition, offset, key, payload) with
//                        primary key (partition, offset) WITHOUT ROWID, 1,000 rows a transaction by one
//                        prepared statement, in WAL mode with synchronous=NORMAL: a transaction is
//                        written, and synced when the log is taken into the table. So a kill takes
//                        nothing of either, and the power may take the newest of both
//   store/sqlite/full    the same with kGroup and synchronous=FULL: both sync behind each 1,000 records
//
// SQLite has a cache of 64 MiB and the file for itself (locking_mode=EXCLUSIVE), and asks for no memory
// for what it binds. Both are read back and compared.
#include <array>
#include <cstdint>
#include <string>
#include <string_view>

#include <pleat/batch.h>
#include <sqlite3.h>

#include "bench/store_contest.h"

namespace pleat::bench {
namespace {

class SqliteLog {
 public:
  explicit SqliteLog(const char* synchronous) {
    Require(sqlite3_open((disk_.path() + "/log.db").c_str(), &db_) == SQLITE_OK, "no database");
    Execute("PRAGMA locking_mode=EXCLUSIVE");
    Execute("PRAGMA journal_mode=WAL");
    Execute(synchronous);
    Execute("PRAGMA cache_size=-65536");
    Execute(
        "CREATE TABLE event(partition INTEGER, offset INTEGER, key BLOB, payload BLOB,"
        " PRIMARY KEY(partition, offset)) WITHOUT ROWID");
    insert_ = Prepare("INSERT INTO event VALUES(?,?,?,?)");
  }
  ~SqliteLog() {
    sqlite3_finalize(insert_);
    sqlite3_close(db_);
  }
  SqliteLog(const SqliteLog&) = delete;
  SqliteLog& operator=(const SqliteLog&) = delete;

  void Execute(const char* statement) {
    Require(sqlite3_exec(db_, statement, nullptr, nullptr, nullptr) == SQLITE_OK, statement);
  }
  void Insert(const StoreRecord& record) {
    const int partition = PartitionOf(record.key, kPartitions);
    sqlite3_bind_int(insert_, 1, partition);
    sqlite3_bind_int64(insert_, 2, next_[static_cast<size_t>(partition)]++);
    Bind(3, record.key);
    Bind(4, record.payload);
    Require(sqlite3_step(insert_) == SQLITE_DONE, "cannot insert");
    sqlite3_reset(insert_);
  }
  Tally ReadAll() {
    Tally tally;
    sqlite3_stmt* const select = Prepare("SELECT key, payload FROM event");
    while (sqlite3_step(select) == SQLITE_ROW) tally.Add(Blob(select, 0), Blob(select, 1));
    sqlite3_finalize(select);
    return tally;
  }

 private:
  sqlite3_stmt* Prepare(const char* text) {
    sqlite3_stmt* statement = nullptr;
    Require(sqlite3_prepare_v2(db_, text, -1, &statement, nullptr) == SQLITE_OK, text);
    return statement;
  }
  void Bind(int place, std::string_view bytes) {
    sqlite3_bind_blob(insert_, place, bytes.data(), static_cast<int>(bytes.size()), SQLITE_STATIC);
  }
  static std::string_view Blob(sqlite3_stmt* row, int column) {
    return {static_cast<const char*>(sqlite3_column_blob(row, column)),
            static_cast<size_t>(sqlite3_column_bytes(row, column))};
  }

  DiskDirectory disk_;
  sqlite3* db_ = nullptr;
  sqlite3_stmt* insert_ = nullptr;
  std::array<int64_t, kPartitions> next_{};
};

Spent InsertAll(const char* synchronous, uint64_t count) {
  SqliteLog log(synchronous);
  NumberedRecords records;
  log.Execute("BEGIN");
  const Spent spent = Timed([&] {
    records.ForEachBatch(0, count, kLotRecords, [&](const auto& batch, bool lot_ends) {
      for (const StoreRecord& record : batch) log.Insert(record);
      if (lot_ends) log.Execute("COMMIT; BEGIN");
    });
  });
  log.Execute("COMMIT");
  Require(log.ReadAll() == NumberedRecords::TallyOf(count), "SQLite has other records");
  return spent;
}

const bool registered = [] {
  RegisterLots("sqlite/normal", LotPromise::kWritten,
               [](uint64_t count) { return InsertAll("PRAGMA synchronous=NORMAL", count); });
  RegisterLots("sqlite/full", LotPromise::kSynced,
               [](uint64_t count) { return InsertAll("PRAGMA synchronous=FULL", count); });
  return true;
}();

}  // namespace
}  // namespace pleat::bench
