// What the threads of a run have in common: the output, what is said to people, and why the run ends.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <absl/status/status.h>
#include <absl/status/statusor.h>
#include <pleat/processor.h>
#include <pleat/time.h>

#include "tools/pleat/progress.h"
#include "tools/pleat/run/message_output.h"
#include "tools/pleat/run/run_handler.h"
#include "tools/pleat/run/run_options.h"

namespace pleat::cli {

// "pleat run: ", and this.
void SayOfRun(std::string_view text);

// Thread safety: any thread may call any method at any time.
class SharedRun {
 public:
  // `partitions`: of all shares; 0: they come and go.
  SharedRun(const RunOptions& options, std::unique_ptr<MessageOutput> output, int shares,
            int partitions);

  // Writes the messages of a share, one behind the other. Returns those of its messages that stay now,
  // also of earlier calls: a broker answers later.
  absl::StatusOr<std::vector<MessageId>> Write(int share, std::span<const Message> messages,
                                               EngineTime now);
  // How many messages may be written now.
  size_t room() const;

  // Says once that a key comes out of two partitions of a store: its groups are in pieces.
  void LookAtKeys(std::span<const Message> messages);

  // Behind each round of a share: what it has counted so far, and how its lanes stand.
  void Tell(int share, const RunCounts& counts, const std::vector<LaneStatus>& lanes);
  // A round has met an error, and is tried again.
  void TellTrouble(const absl::Status& trouble);

  // Ends all shares, for this reason if it is the first one.
  void End(const absl::Status& why);
  bool has_ended() const { return has_ended_; }
  absl::Status why_ended() const;

  // On a terminal, unless that has the output; and as a line if a signal asks for it.
  // `elapsed`: since the start.
  void ShowProgress(Duration elapsed);
  void EndProgress();

  RunCounts counts() const;                   // of all shares
  std::map<int, std::string> parked() const;  // partitions, and why
  uint64_t written() const;
  uint64_t repeated() const;

 private:
  void Say(std::string_view text);
  void SayParked();
  void SayFirst(const RunCounts& counts);
  RunCounts Sum() const;
  Progress::State ProgressState() const;

  const RunOptions& options_;
  const int partitions_;
  std::atomic<bool> has_ended_ = false;

  mutable std::mutex output_mutex_;
  const std::unique_ptr<MessageOutput> output_;
  std::map<int, int> share_of_;               // by partition
  std::vector<std::vector<MessageId>> kept_;  // of each share, and not returned yet

  mutable std::mutex mutex_;  // all below
  Progress progress_{/*bytes_total=*/0};
  std::map<std::pair<uint32_t, std::string>, int> partition_of_;  // by stream and key
  size_t keys_left_ = 0;                                          // to be looked at
  std::vector<RunCounts> counts_;
  std::vector<bool> has_told_;         // of each share
  std::set<int> maybe_parked_;         // partitions; a snapshot that cannot be read is read again
  std::map<int, std::string> parked_;  // those that stay so, and why
  std::map<int, std::string> new_parked_;  // of these, what was not said
  absl::Status why_ended_;
  bool trouble_said_ = false;
  bool invalid_said_ = false;
  bool unit_said_ = false;
};

}  // namespace pleat::cli
