// Emissions that were moved out of a collection, under its locks, to be printed and destroyed with
// no lock held: what an EmissionBuffer is to states of a C++ type. Its memory is kept for the next
// ones.
#pragma once

#include <algorithm>
#include <cstddef>
#include <memory>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include <absl/functional/function_ref.h>
#include <pleat/emission.h>
#include <pleat/untyped/state_ops.h>

#include "engine/lines/reduce/line_writer.h"
#include "engine/table/spelled_key.h"

namespace pleat::inline v0_1 {

// How many emissions are moved out before they are printed: enough to spread the cost of a call, few
// enough to stay in the cache.
inline constexpr size_t kTakenAtOnce = 256;

// How much of them is printed before it is handed on: what is copied next is still in the nearest
// cache. A line can be as large as its group.
inline constexpr size_t kPrintedAtOnce = 16 * 1024;

// `Printer` has Append(const ClosedGroup&, LineWriter&), which appends a line.
template <class Printer>
class TakenEmissions {
 public:
  using WriteLines = absl::FunctionRef<void(std::string_view lines)>;
  using EachLine = absl::FunctionRef<void(std::string_view key, std::string_view line)>;

  // Borrows `ops`.
  TakenEmissions(Printer printer, const StateOps& ops)
      : printer_(std::move(printer)),
        ops_(ops),
        states_(std::make_unique_for_overwrite<char[]>(kTakenAtOnce * ops.size)) {
    emissions_.reserve(kTakenAtOnce);
  }
  TakenEmissions(const TakenEmissions&) = delete;
  TakenEmissions& operator=(const TakenEmissions&) = delete;
  ~TakenEmissions() { Clear(); }

  const Printer& printer() const noexcept { return printer_; }

  // Under a partition's lock: copies the keys and moves the states. There is room for kTakenAtOnce.
  void Take(std::span<const ClosedGroup> emissions) {
    for (const ClosedGroup& emission : emissions) {
      char* const state = states_.get() + emissions_.size() * ops_.size;
      ops_.relocate(ops_.context, state, emission.state);
      emissions_.push_back(emission);
      emissions_.back().state = state;
      keys_.Put(emission.key);
    }
  }

  // The same for any number of them: prints those before when the room is full.
  void Take(std::span<const ClosedGroup> emissions, WriteLines write) {
    while (!emissions.empty()) {
      const size_t size = std::min(emissions.size(), kTakenAtOnce - emissions_.size());
      Take(emissions.first(size));
      emissions = emissions.subspan(size);
      if (emissions_.size() == kTakenAtOnce) Print(write);
    }
  }

  void Print(WriteLines write) {
    PrintEach([&](std::string_view /*key*/) { lines_.HandOn(write, kPrintedAtOnce); });
    lines_.HandOn(write);
  }
  // Each by itself, without its newline.
  void Print(EachLine each) {
    PrintEach([&](std::string_view key) {
      const std::string_view line = lines_.text();
      each(SpelledKey::Of(key).identity, line.substr(0, line.size() - 1));
      lines_.Clear();
    });
  }

  // Whether it is worth keeping for another call. REQUIRES: no emissions.
  bool worth_keeping() const noexcept {
    constexpr size_t kKept = 4 * kPrintedAtOnce;
    return lines_.capacity() <= kKept && keys_.capacity() <= kKept;
  }

 private:
  // Appends the line of each, and calls `printed(key)` behind it.
  template <class Printed>
  void PrintEach(const Printed& printed) {
    const char* key = keys_.text().data();
    for (ClosedGroup& emission : emissions_) {
      emission.key = {key, emission.key.size()};
      key += emission.key.size();
      printer_.Append(emission, lines_);
      printed(emission.key);
    }
    Clear();
  }

  void Clear() noexcept {
    for (ClosedGroup& emission : emissions_) ops_.destroy(ops_.context, emission.state);
    emissions_.clear();
    keys_.Clear();
  }

  Printer printer_;
  const StateOps& ops_;
  std::unique_ptr<char[]> states_;
  std::vector<ClosedGroup> emissions_;  // their key views give sizes only, until printed
  LineWriter keys_;
  LineWriter lines_;
};

}  // namespace pleat::inline v0_1
