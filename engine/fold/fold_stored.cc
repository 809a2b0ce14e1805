// A folder's book as bytes: the latest time, the ledger, what was learned, the groups that were filed,
// the emissions that wait, the memory, and the groups that have a deadline.
#include "engine/base/read_fields.h"
#include "engine/fold/fold_book.h"

namespace pleat::inline v0_1 {

// Emissions, names in the memory and groups come last, because they go on changing meanwhile.
bool FoldBook::BeginSave(FieldWriter& out, Copies& copies) {
  latest_.Save(out);
  out(ledger_);
  if (groups_.has_closing_time()) out(ledger_.emissions[IndexOf(Reason::kClosingTime)]);
  if (observer_ != nullptr) observer_->Save(out);
  groups_.SaveFiled(out);
  outbox_.BeginSave(out, copies);
  if (memory_ != nullptr) memory_->BeginSave(copies);
  groups_.BeginSave(copies);
  plain_below_ = 0;
  return true;
}

bool FoldBook::SaveNext(FieldWriter& out) {
  if (outbox_.SaveNext(out)) return true;
  if (memory_ != nullptr && memory_->SaveNext(out)) return true;
  if (groups_.SaveNext(out)) return true;
  EndSave();
  return false;
}

void FoldBook::EndSave() noexcept {
  outbox_.EndSave();
  if (memory_ != nullptr) memory_->EndSave();
  groups_.EndSave();
  plain_below_ = usual_plain_below_;
}

void FoldBook::Load(FieldReader& in, const Instant& at) {
  latest_.Load(in);
  in(ledger_);
  if (groups_.has_closing_time()) in(ledger_.emissions[IndexOf(Reason::kClosingTime)]);
  if (observer_ != nullptr) observer_->Load(in);
  groups_.LoadFiled(in, hash_key_);
  if (!in.ok()) return;
  outbox_.Load(in, at);
  if (!in.ok()) return;
  const auto knows = [this](QuietLearner::Memo memo) {
    return observer_ == nullptr || observer_->Knows(memo);
  };
  if (memory_ != nullptr) memory_->Load(in, knows);
  if (!in.ok()) return;
  groups_.LoadArmed(in, hash_key_);
  if (!in.ok()) return;
  // The ledger counts the groups that have not left yet; memory is reserved by that count.
  in.Expect(ledger_.open == groups_.CountOpen());
  in.Expect(ledger().Balances() && groups_.AllMemos(knows));
}

void FoldBook::SaveEntry(FieldWriter& out, uint32_t entry) const { groups_.SaveEntry(out, entry); }

uint32_t FoldBook::LoadEntry(FieldReader& in) {
  const uint32_t entry = groups_.LoadEntry(in, hash_key_);
  if (room_.tracks_ready()) room_.NoteReady(groups_.BytesOf(entry));
  return entry;
}

void Memory::BeginSave(Copies& copies) {
  ids_.BeginSave(copies);
  emissions_.BeginSave(copies);
  pauses_.BeginSave(copies);
}

bool Memory::SaveNext(FieldWriter& out) {
  return ids_.SaveNext(out) || emissions_.SaveNext(out) || pauses_.SaveNext(out);
}

void Memory::EndSave() noexcept {
  ids_.EndSave();
  emissions_.EndSave();
  pauses_.EndSave();
}

void Memory::Load(FieldReader& in, absl::FunctionRef<bool(QuietLearner::Memo)> knows) {
  ids_.Load(in);
  emissions_.Load(in);
  pauses_.Load(in);
  pauses_.ForEachWord([&](uint64_t word) { in.Expect(knows(MemoIn(word))); });
}

}  // namespace pleat::inline v0_1
