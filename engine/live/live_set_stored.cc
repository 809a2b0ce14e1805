// A LiveSetBook as bytes: time and numbers, the ledger, tombstones, series, and behind these
// members. Hashes, places and deadlines are made again. Of the changes that were kept for watchers
// only the numbers are saved.
#include "engine/base/check.h"
#include "engine/live/live_set_book.h"
#include "engine/live/series_loader.h"

namespace pleat::inline v0_1 {
namespace {

template <class Fields, class Ledger>
void LiveSetLedgerFields(Fields& fields, Ledger& l) {
  fields(l.events, l.added, l.refreshed, l.updated, l.unchanged, l.duplicate, l.conflict, l.late,
         l.future, l.tombstoned, l.over_limit, l.expired, l.removed, l.replaced, l.dropped,
         l.cleared, l.live, l.changes, l.tombstones_refused, l.causes);
}

}  // namespace

bool LiveSetBook::BeginSave(FieldWriter& out, Copies& copies) {
  PLEAT_CHECK(ops_.stored());
  const uint64_t positions = last_position_ + 1;
  SaveHead(seen_, positions, out);
  LiveSetLedgerFields(out, ledger_);
  out.PutNumber(series_.size());
  out.PutNumber(members_.size());
  const StoredKeys keys(seen_, positions);
  tombstones_.BeginSave(copies);
  series_.BeginSave(keys, copies);
  members_.BeginSave(keys, copies);
  return true;
}

// Members name their series by numbers, which are known once all series were saved.
bool LiveSetBook::SaveNext(FieldWriter& out) {
  if (tombstones_.SaveNext(out) || series_.SaveNext(out) ||
      members_.SaveNext(out, series_.numbers())) {
    return true;
  }
  EndSave();
  return false;
}

void LiveSetBook::EndSave() noexcept {
  members_.EndSave();
  series_.EndSave();
  tombstones_.EndSave();
}

void LiveSetBook::Load(FieldReader& in, const Instant&) {
  uint64_t positions = 0;
  in.Expect(ops_.stored());
  LoadHead(in, seen_, positions);
  last_position_ = positions - 1;
  LiveSetLedgerFields(in, ledger_);
  const uint64_t series = in.Number();
  const uint64_t members = in.Number();
  tombstones_.Load(in);
  const StoredKeys keys(seen_, positions);
  SeriesLoader loader(series_);
  for (uint64_t left = series; left > 0 && in.ok(); --left) loader.LoadSeries(in, hash_key_, keys);
  loader.BeginMembers(in, members);
  for (uint64_t left = members; left > 0 && in.ok(); --left) {
    const uint32_t number = loader.ReadSeries(in);
    if (!in.ok()) return;
    const uint32_t member = members_.Load(in, number, series_.at(number).hash, keys);
    if (in.ok()) loader.Add(in, number, member);
  }
  loader.End(in, seen_);
  if (!in.ok()) return;
  size_t live = 0;
  for (const uint32_t number : loader.numbers()) {
    live += series_.Live(number);
    kept_bytes_ += KeptBytes(number);
  }
  in.Expect(ledger_.live == live && ledger_.Balances());
}

void LiveSetBook::SkipNumbers(uint64_t by, const Instant&) { changes_.SkipNumbers(by); }

}  // namespace pleat::inline v0_1
