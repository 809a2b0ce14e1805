// JsonFolder: newline-delimited JSON in, folded newline-delimited JSON out.
//
// A JsonFolder is a collection in an Engine that folds lines of text as a FoldSpec says.
//
//   pleat::FoldSpec spec;
//   spec.event.key = {{.name = "account_id", .path = "account_id"}};
//   spec.folder.quiet_period = 5min;
//   spec.merges = {{.name = "metrics", .reducer = pleat::Reducer::kKeys, .path = "metrics"}};
//   auto engine = *pleat::Engine::Open(pleat::EngineOptionsFor(spec.event));
//   auto folder = *pleat::JsonFolder::Open(*engine, "accounts", spec);
//   folder->FoldLines(text, at, [](const pleat::UnusualLine& line) { return Report(line); });
//   std::string out;
//   folder->Pop(100, out);                            // whole lines, each ended by '\n'
//
// The spec: json_spec.h. What a valid line is, and how several threads read lines: json_lines.h.
//
// A JsonFolder is part of the engine's snapshots (snapshot.h) as it is: its groups, what it counts,
// and which paths no line has led to. It can be restored by a folder of the same spec; the limits,
// the future limit and what is printed around the merged values may differ.
// - Restore first and read lines then: `distinct` marks long values by a secret that is restored.
// - The counts of lines are those of the cut if no thread folds lines while the snapshot begins;
//   else those of the lines that this thread has under way, 256 at most, may be missing.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <absl/functional/function_ref.h>
#include <absl/status/statusor.h>
#include <pleat/any_folder.h>
#include <pleat/engine.h>
#include <pleat/export.h>
#include <pleat/json_lines.h>
#include <pleat/json_spec.h>
#include <pleat/time.h>

namespace pleat::inline v0_1 {

// Thread safety: the calls that fold from one thread at a time; Pop and the rest from any.
// Ownership: borrows the engine, which must outlive it and keeps what was not popped.
class PLEAT_EXPORT JsonFolder {
 public:
  // Creates the collection `name` in the engine, which must have been opened with
  // EngineOptionsFor(spec.event) or options that agree with it in axis, watermark delay and future
  // limit. Errors: as Validate(), and as AnyFolder::Open().
  static absl::StatusOr<std::unique_ptr<JsonFolder>> Open(Engine& engine, std::string_view name,
                                                          const FoldSpec& spec);
  ~JsonFolder();
  JsonFolder(const JsonFolder&) = delete;
  JsonFolder& operator=(const JsonFolder&) = delete;

  // Folds one line, without its newline; a final '\r' is white space. `arrival` stamps the event if
  // the spec has no time path, and is ignored otherwise.
  // REQUIRES: kLinePaddingBytes readable bytes follow the line.
  LineResult FoldLine(std::string_view line, EngineTime arrival);

  // Folds the lines of `text`, which is as for JsonLines::Read(). This is the fast path; the result
  // is that of FoldLine() on each line in order. If `on_unusual` returns false, nothing behind an
  // invalid line is folded; behind a late or refused event a few more events may have been folded.
  void FoldLines(std::string_view text, EngineTime arrival, OnUnusualLine on_unusual);

  // The same for up to `max` further lines that were read by plan(). Returns how many lines it
  // took.
  size_t Fold(JsonLines& lines, size_t max, EngineTime arrival, OnUnusualLine on_unusual);

  // Tells the folder that later lines come from another input, for StampCounts::behind_input.
  void StartInput() noexcept;

  // Appends up to `max` emissions to `out`, a line each, in the order of Folder::Pop(). Returns
  // their number.
  size_t Pop(size_t max, std::string& out);

  // The same, but hands some lines at a time to `write`, so that the text of all is never held.
  size_t Pop(size_t max, absl::FunctionRef<void(std::string_view lines)> write);

  // Hands a line for each open group to `write`, some lines at a time: the group as it is so far,
  // with the engine's time as `closed` and the reason "open", in the order of CloseAll(). Prints
  // them under the locks of all partitions, and takes memory as AnyFolder::ScanInOrder() does.
  void Scan(absl::FunctionRef<void(std::string_view lines)> write) const;

  // Closes every open group with reason "end".
  void CloseAll() noexcept;

  // The same, and Pop() of all there is, with few emissions waiting at a time: see close_and_pop.h.
  // `write` runs under the locks of all partitions. Returns how many emissions there were.
  size_t CloseAndPop(absl::FunctionRef<void(std::string_view lines)> write);

  // Ends the collection; see Folder::Close().
  void Close() noexcept;

  LineCounts counts() const noexcept;
  StampCounts stamps() const noexcept;
  Ledger ledger() const noexcept;
  Sizes sizes() const noexcept;
  std::unique_ptr<GapStats> gap_stats() const noexcept;  // as AnyFolder's

  // The paths of the spec that lead to no member in any line so far, usable or not. There are none
  // as long as no line was an object. REQUIRES: no call folds at the same time.
  std::vector<OptionPath> absent_paths() const;

  // Which values the reducers could not take, if there were any.
  std::optional<MergeMismatch> mismatch() const;

  // How many lines of Pop() so far have a sum that stays at the end of its range ("saturated").
  uint64_t saturated() const noexcept;

  // Reads lines for this folder: JsonLines lines(folder->plan()).
  const EventPlan& plan() const noexcept;

 private:
  class Impl;
  explicit JsonFolder(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace pleat::inline v0_1
