// An EngineJob whose events go into one collection that is fed by lines: a JsonFolder, a
// JsonLiveSet or a JsonRollup. A command derives from it, and says what its figures mean.
#pragma once

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include <pleat/json_lines.h>

#include "tools/pleat/engine_job.h"

namespace pleat::cli {

// `Options` are EngineJobOptions; SpecOf() gives their spec for the `Collection`.
template <class Options, class Collection>
class CollectionJob : public EngineJob {
 protected:
  CollectionJob(std::string_view command, const Options& options, const MonotoneClock& clock)
      : EngineJob(command, options, clock), options_(options) {}

  const Options& options() const { return options_; }
  Collection& collection() const { return *collection_; }

  // Opens the engine and the collection, which has the command's name.
  absl::Status OpenCollection() {
    if (absl::Status opened = OpenEngine(); !opened.ok()) return opened;
    absl::StatusOr<std::unique_ptr<Collection>> collection =
        Collection::Open(engine(), command(), SpecOf(options_));
    if (!collection.ok()) return collection.status();
    collection_ = *std::move(collection);
    collection_->SetOnTaken([this] { TookWaiting(); });
    return absl::OkStatus();
  }

  void StartInput() override { collection_->StartInput(); }
  void StartBlock() override {
    if (!on_event_time()) engine().Advance(arrival());
  }
  Readers NewReaders() override {
    Readers readers;
    readers.push_back(std::make_unique<JsonLines>(collection_->plan()));
    return readers;
  }

  // An event that was not simply taken.
  virtual void OnEvent(const UnusualLine& line) = 0;
  // Whether to go on behind the line.
  bool TookUnusual(const UnusualLine& line) {
    NoteUnusual(line);
    if (line.result.kind == LineResult::Kind::kEvent) OnEvent(line);
    return !stopped();
  }

  void TakeUntil(EngineTime now) override {
    collection_->Advance(now, [this](const UnusualLine& line) { return TookUnusual(line); });
  }
  std::optional<EngineTime> NextWaiting() const override { return collection_->next_waiting(); }
  // At the end of the input, unless the lines wait for the next run.
  void TakeWaiting() {
    if (at_end() == AtEnd::kKeep) return;
    collection_->TakeWaiting([this](const UnusualLine& line) { return TookUnusual(line); });
  }
  // A few lines that had waited were taken.
  virtual void TookWaiting() {}

  // --- Of a collection whose results wait until they are popped: a fold and a rollup

  // Moves time to `now`, and writes what has closed by then. Only time moves at first: groups and
  // windows close as they are taken, a few at a time.
  void PopUntil(EngineTime now) {
    [[maybe_unused]] const bool none_due = engine().Advance(now, 0);
    PopAll();
  }

  void PopAll() {
    constexpr size_t kPopAtOnce = 1024;
    absl::Status appended;
    const auto append = [&](std::string_view lines) { appended.Update(AppendResults(lines)); };
    while (appended.ok()) {
      const size_t popped = collection_->Pop(kPopAtOnce, append);
      if (popped == 0) break;
      AddResults(popped);
    }
    StopFor(appended);
  }

  // What has closed is written even if the run failed, so that it does not matter when it was
  // popped.
  void FinishPopping() {
    const bool read_all = complete();
    const bool flushes = at_end() == AtEnd::kFlush;
    if (!reader_gone()) {
      if (read_all) TakeWaiting();
      PopUntil(Present(/*silent=*/Duration{0}));
      if (read_all) WriteOpen();
      if (read_all && flushes) CloseAndPop();
    }
    if (read_all) CommitFiles(flushes);
  }

  // ---

  // The ledger as one JSON object in a line: these members, and those that every command has.
  std::string LedgerOf(std::initializer_list<LedgerMember> members) const {
    std::string out = MembersText(members) + StampMembers(collection_->stamps(), on_event_time());
    const LineCounts lines = collection_->counts();
    if (options_.event.reorder > Duration{0}) {
      out += ",\"released_early\":" + std::to_string(lines.released_early);
    }
    if (lines.not_numbers > 0) out += ",\"not_numbers\":" + std::to_string(lines.not_numbers);
    if (lines.waiting > 0) out += ",\"waiting\":" + std::to_string(lines.waiting);
    if (options_.selects()) {
      out += ",\"excluded\":" + std::to_string(lines.excluded);
    }
    return "{" + out + ClockMember(clock_behind()) + "}\n";
  }

  void Advise() override {
    SayAdvice(collection_->asked_paths(), collection_->absent_paths(), collection_->stamps());
  }

 private:
  void WriteOpen() {
    if (open_file() == nullptr) return;
    absl::Status written;
    collection_->Scan([&](std::string_view lines) { written.Update(open_file()->Append(lines)); });
    StopFor(written);
  }

  void CloseAndPop() {
    absl::Status appended;
    AddResults(collection_->CloseAndPop(
        [&](std::string_view lines) { appended.Update(AppendResults(lines)); }));
    StopFor(appended);
  }

  const Options& options_;
  std::unique_ptr<Collection> collection_;
};

}  // namespace pleat::cli
