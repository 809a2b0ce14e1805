// SourcePosition: where a batch stands in a source that can be read again, such as a file or a
// partition of a log. After a restart from a snapshot the source is read again from where the
// snapshot stood, and each event is folded once:
//
//   folder.FoldBatch(events, {}, {}, pleat::SourcePosition{.source = 7, .offset = 1'000});
//
//   pleat::RestoreSnapshot(*engine, snapshot);
//   uint64_t next = engine->SourcePositionOf(7, partition);      // go on there, or before
//
// An event that its partition has taken already is answered kReplayed, and counted nowhere else.
//
// On event time the watermark is one for the whole engine: each batch moves it, of whatever source
// and collection. A source that is read again from further back than the others stand finds it
// ahead of its events, which are then late by an allowed lateness: batch.h says what to do.
#pragma once

#include <cstdint>

#include <pleat/export.h>

namespace pleat::inline v0_1 {

struct SourcePosition {
  // Names the source: any number, the same in each run.
  uint64_t source = 0;

  // Of the first event of the batch; that of event `i` is offset + i. A source may leave offsets
  // out, between batches.
  // REQUIRES: the batches of one source come one after the other, in the order of their offsets,
  // but for what is replayed; with ranges of partitions, those of each range. Any event is final
  // that was answered: one that was refused and is offered again comes without a position.
  uint64_t offset = 0;
};

}  // namespace pleat::inline v0_1
