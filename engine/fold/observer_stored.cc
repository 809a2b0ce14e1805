// The measurements of a book, and the quiet periods that it has learned, as bytes.
#include <algorithm>
#include <limits>
#include <memory>
#include <vector>

#include "engine/base/read_fields.h"
#include "engine/fold/observer.h"

namespace pleat::inline v0_1 {

// --- The learner

// The first row is of no class; every other row has one, in the order in which they came.
void QuietLearner::Save(FieldWriter& out) const {
  std::vector<uint32_t> classes(rows_.size() - 1);
  for (const auto& [key_class, row] : row_of_class_) classes[row - size_t{1}] = key_class;
  out(classes);
  for (const Row& row : rows_) {
    for (const std::unique_ptr<Cell>& cell : row) {
      out(cell != nullptr);
      if (cell != nullptr) out(cell->asked, cell->returned, cell->quiet, cell->gaps);
    }
  }
}

void QuietLearner::Load(FieldReader& in) {
  std::vector<uint32_t> classes;
  in(classes);
  if (!in.Expect(classes.size() < kRows)) return;
  for (const uint32_t key_class : classes) {
    const auto row = static_cast<uint16_t>(rows_.size());
    if (!in.Expect(key_class != 0 && row_of_class_.emplace(key_class, row).second)) return;
    rows_.emplace_back();
  }
  for (Row& row : rows_) {
    for (std::unique_ptr<Cell>& cell : row) {
      bool there = false;
      in(there);
      if (there) cell = LoadCell(in);
    }
  }
}

std::unique_ptr<QuietLearner::Cell> QuietLearner::LoadCell(FieldReader& in) const {
  auto cell = std::make_unique<Cell>();
  in(cell->asked, cell->returned, cell->quiet, cell->gaps);
  in.Expect(cell->gaps.size() == steps_.size() && cell->asked < kAskedMax &&
            cell->returned < kAskedMax && cell->quiet >= Duration{0} &&
            cell->quiet <= steps_.back());
  cell->gaps.resize(steps_.size());
  return cell;
}

// --- Measurements

void Ghosts::Save(FieldWriter& out) const {
  out(known_to_);
  out.PutNumber(size());
  for (uint32_t n = oldest_; n != kNone; n = At(n).newer) {
    out.PutWord(At(n).hash);
    out(At(n).last);
  }
}

void Ghosts::Load(FieldReader& in) {
  in(known_to_);
  const uint64_t count = in.Number();
  if (!in.Expect(count <= max_ && known_to_ >= Duration{0})) return;
  for (uint64_t i = 0; i < count; ++i) {
    const uint64_t hash = in.Word();
    const EngineTime last = ReadTime(in);
    if (!in.ok() || !in.Expect(Find(hash) == kNone)) return;
    Put(hash, last, last);
  }
}

void Gaps::Save(FieldWriter& out) const {
  out(counted_, random_, first_, last_, fresh_count_);
  for (uint32_t i = 0; i < fresh_count_; ++i) out(fresh_[i]);
  gaps_.Save(out);
  spans_.Save(out);
  fold_sizes_.Save(out);
  ghosts_.Save(out);
}

void Gaps::Load(FieldReader& in) {
  in(counted_, random_);
  first_ = ReadTime(in);
  last_ = ReadTime(in);
  in(fresh_count_);
  if (!in.Expect(fresh_count_ < kFresh)) fresh_count_ = 0;
  for (uint32_t i = 0; i < fresh_count_; ++i) in(fresh_[i]);
  gaps_.Load(in);
  spans_.Load(in);
  fold_sizes_.Load(in);
  ghosts_.Load(in);
}

void FoldObserver::Save(FieldWriter& out) const {
  if (learner_ != nullptr) learner_->Save(out);
  if (gaps_ != nullptr) gaps_->Save(out);
}

void FoldObserver::Load(FieldReader& in) {
  if (learner_ != nullptr) learner_->Load(in);
  if (gaps_ != nullptr) gaps_->Load(in);
}

}  // namespace pleat::inline v0_1
