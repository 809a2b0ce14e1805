// How far a store was copied or saved: a line on the terminal, and an end when somebody asks for it.
#pragma once

#include <algorithm>
#include <optional>
#include <string>

#include <absl/status/status.h>
#include <pleat/detail/store_copy.h>

#include "tools/pleat/clock.h"
#include "tools/pleat/console.h"
#include "tools/pleat/interrupt.h"
#include "tools/pleat/progress.h"

namespace pleat::cli {

class CopyProgress {
 public:
  // kCancelled: a signal has asked for the end.
  absl::Status Show(const StoreCopyProgress& so_far) {
    if (!line_) line_.emplace(so_far.bytes_all).ShowBeside(-1);
    const Progress::State state{
        .bytes = so_far.bytes, .lines = so_far.records, .found_what = "", .line_what = "record"};
    const Duration elapsed = clock_.Elapsed();
    if (line_->Due(elapsed)) line_->Draw(state, elapsed);
    while (TakeReportWish()) WriteLine("pleat store: " + line_->Whole(state, elapsed));
    return Interrupted() ? absl::CancelledError("stopped by a signal") : absl::OkStatus();
  }
  void Clear() { line_.reset(); }

 private:
  MonotoneClock clock_;
  std::optional<Progress> line_;
};

}  // namespace pleat::cli
