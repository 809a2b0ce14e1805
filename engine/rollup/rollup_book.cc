#include "engine/rollup/rollup_book.h"

namespace pleat::inline v0_1 {

namespace {

OutboxOptions OutboxOptionsOf(const RollupOptions& options) {
  return {.max_backlog = options.limits.max_backlog,
          .on_backlog = OnBacklog::kRefuse,
          .leases = options.leases};
}

}  // namespace

RollupBook::RollupBook(PagePool& pool, const RollupOptions& options, const HashKey& hash_key,
                       const HashKey& name_key, uint32_t partition,
                       const Outbox::Listeners& listeners)
    : PlainOutboxBook(pool, OutboxOptionsOf(options), partition, listeners),
      plain_(!options.clears),
      clock_(options),
      windows_(pages_, options, clock_, ledger_),
      ids_(pages_, name_key, clock_.horizon()),
      store_(options.store == nullptr ? nullptr : std::make_unique<Publications>()),
      forgetter_({clock_, windows_, shared_, store_.get(), ledger_}),
      values_({clock_, windows_, shared_, store_.get(), forgetter_}),
      emitter_(partition, {clock_, windows_, outbox_, ledger_}),
      closer_(options, {clock_, windows_, ids_, shared_, values_, forgetter_, emitter_, ledger_}),
      admission_(options, {clock_, windows_, ids_, store_.get(), outbox_, forgetter_, emitter_,
                           closer_, ledger_}),
      publisher_(store_ == nullptr ? nullptr
                                   : std::make_unique<Publisher>(Publisher::Parts{
                                         clock_, windows_, values_, forgetter_, *store_, ledger_})),
      hash_key_(hash_key),
      corrects_(options.on_late == OnLateAdd::kCorrect) {}

void RollupBook::PrefetchRest(const Guess& guess) const noexcept {
  if (guess.counter == kNone || guess.removals != counters().removals()) return;
  const PackedKey& key = counters().at(guess.counter).key;
  if (key.is_long()) pleat::Prefetch(key.view().data());
}

// The counter is first kept as it was.
AddOutcome RollupBook::FoldWhileSaving(const EventRef& event, const Entry& entry,
                                       const Instant& at) {
  if (entry.counter != kNone) {
    counters().Change(entry.counter);
    if (!windows_.clears().on() && AddPlainly(event, entry.counter, at)) return AddOutcome::kAdded;
  }
  return admission_.Take(event, entry, at);
}

std::shared_ptr<const SharedCount> RollupBook::Share(const EventRef& event, const Instant& at) {
  clock_.Reach(at.now);
  closer_.VisitAll(at);
  const uint32_t number = admission_.FindOrMake(event);
  return number == kNone ? nullptr : values_.Share(number);
}

// What is due, and leases that have run out, first go by the options of before.
void RollupBook::SetOptions(const RollupOptions& options, const Instant& at) {
  clock_.Reach(at.now);
  closer_.VisitAll(at);
  Budget all;
  outbox_.ExpireLeases(at, all);
  if (clock_.KeepsOtherwise(options)) {
    const bool forgets_otherwise = clock_.ForgetsOtherwise(options);
    forgetter_.ForgetAllReleased();
    clock_.SetOptions(options);
    if (forgets_otherwise) forgetter_.WaitAnew();
    closer_.VisitAll(at);
  }
  admission_.SetOptions(options);
  outbox_.SetOptions(OutboxOptionsOf(options), at);
}

// --- The store

void RollupBook::TakeUnpublished(size_t max, const Instant& at, std::vector<std::string>& keys) {
  clock_.Reach(at.now);
  if (publisher_ != nullptr) publisher_->TakeUnpublished(max, keys);
}

RollupBook::Step RollupBook::TakeLoaded(const EventRef& counter,
                                        const absl::StatusOr<Checkpoint>& loaded, const Instant& at,
                                        Checkpoint& ours) {
  clock_.Reach(at.now);
  return publisher_->TakeLoaded(counter, loaded, ours);
}

RollupBook::Step RollupBook::TakeKept(const EventRef& counter, const Checkpoint& ours,
                                      const absl::StatusOr<Checkpoint>& kept, const Instant& at) {
  clock_.Reach(at.now);
  return publisher_->TakeKept(counter, ours, kept);
}

// A counter that is there has been asked about, or will be by Publish().
bool RollupBook::TakeListed(const EventRef& counter, const Checkpoint& listed, const Instant& at) {
  clock_.Reach(at.now);
  if (windows_.CounterOf(counter) != kNone) return true;
  const bool is_end = clock_.windowing().IsEnd(listed.until);
  const bool is_over = is_end && listed.until > kBeginningOfTime && clock_.forgets() &&
                       clock_.IsOver(WindowLists::kLast, listed.until);
  if (is_over) return true;
  uint32_t number = admission_.FindOrMake(counter);
  if (number == kNone) {
    closer_.VisitAll(at);
    number = admission_.FindOrMake(counter);
  }
  if (number == kNone) return false;
  store_->TakeBegun(number);
  Checkpoint ours;
  const Step step = publisher_->TakeLoaded(counter, listed, ours);
  PLEAT_DCHECK(step != Step::kWanted);
  return true;
}

// --- All counters

bool RollupBook::CloseDue(const Instant& at, Budget& budget) {
  clock_.Reach(at.now);
  return closer_.Visit(at, budget);
}

bool RollupBook::EmitDue(const Instant& at, size_t most) {
  Budget budget(most);  // each look is at a window of its own
  return CloseDue(at, budget) && closer_.EndNext(budget, at);
}

EngineTime RollupBook::LastOpenEnd(const Instant& at) {
  clock_.Reach(at.now);
  closer_.VisitAll(at);
  const WindowLists::Lists& open = windows_.lists().open();
  return open.empty() ? kBeginningOfTime : open.rbegin()->first.end;
}

void RollupBook::BeginClosing(EngineTime floor, const Instant& at) {
  clock_.Reach(at.now);
  closer_.BeginClosing(floor, at);
}

RollupSizes RollupBook::rollup_sizes() const noexcept {
  return {.keys = counters().size(),
          .open = ledger_.open,
          .retained = windows_.kept(),
          .ids = ids_.get() == nullptr ? 0 : ids_.get()->size(),
          .ready = sizes().ready_emissions,
          .unpublished = unpublished(),
          .bytes = admission_.bytes()};
}

// --- Stored

bool RollupBook::BeginSave(FieldWriter& out, Copies& copies) {
  saver_ = std::make_unique<RollupSaver>(RollupSaver::Parts{clock_, windows_, ids_, store_.get(),
                                                            forgetter_, emitter_, outbox_, ledger_},
                                         copies);
  saver_->Begin(out, copies);
  SetPlain();
  return true;
}

bool RollupBook::SaveNext(FieldWriter& out) {
  const bool more = saver_->Next(out);
  if (!more) saver_ = nullptr;
  SetPlain();
  return more;
}

void RollupBook::EndSave() noexcept {
  saver_ = nullptr;
  SetPlain();
}

void RollupBook::Load(FieldReader& in, const Instant& at) {
  RollupLoader loader(
      hash_key_, corrects_,
      {clock_, windows_, ids_, shared_, store_.get(), values_, forgetter_, emitter_, ledger_});
  loader.Load(in);
  if (!in.ok()) return;
  loader_ = &loader;
  outbox_.Load(in, at);
  loader_ = nullptr;
  if (in.ok()) in.Expect(loader.AllAreNamed() && check().Agrees());
}

}  // namespace pleat::inline v0_1
