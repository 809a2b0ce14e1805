// A WindowBook as bytes: time and numbers, the ledger, each series with its members, tombstones.
// Hashes, places and deadlines are made again. Of the changes that were kept for watchers only the
// numbers are saved.
#include "engine/base/check.h"
#include "engine/window/window_book.h"

namespace pleat::inline v0_1 {
namespace {

template <class Fields, class Ledger>
void WindowLedgerFields(Fields& fields, Ledger& l) {
  fields(l.events, l.added, l.refreshed, l.updated, l.unchanged, l.duplicate, l.conflict, l.late,
         l.future, l.tombstoned, l.refused, l.expired, l.removed, l.replaced, l.dropped, l.cleared,
         l.live, l.changes, l.tombstones_refused, l.causes);
}

}  // namespace

bool WindowBook::BeginSave(FieldWriter& out) {
  PLEAT_CHECK(ops_.stored());
  const uint64_t positions = last_position_ + 1;
  SaveHead(seen_, positions, out);
  WindowLedgerFields(out, ledger_);
  StoredKeys keys({seen_, positions}, positions);
  out.PutNumber(series_.size());
  uint32_t place = 0;
  series_.ForEachFrom(place, [&](uint32_t series) {
    series_.Save(series, keys, out, [](uint32_t) {});
    return true;
  });
  tombstones_.Save(out);
  return false;
}

void WindowBook::Load(FieldReader& in, const Instant&) {
  uint64_t positions = 0;
  in.Expect(ops_.stored());
  LoadHead(in, seen_, positions);
  last_position_ = positions - 1;
  WindowLedgerFields(in, ledger_);
  StoredKeys keys({seen_, positions}, positions);
  size_t live = 0;
  for (size_t left = in.Count(); left > 0 && in.ok(); --left) {
    const uint32_t series = series_.Load(in, hash_key_, seen_, keys, [](uint32_t) {});
    if (!in.ok()) return;
    live += series_.Live(series);
    kept_bytes_ += KeptBytes(series);
  }
  in.Expect(ledger_.live == live && ledger_.Balances());
  tombstones_.Load(in);
}

void WindowBook::SkipNumbers(uint64_t by, const Instant&) { changes_.SkipNumbers(by); }

}  // namespace pleat::inline v0_1
