// A program that is there to be killed: it folds the numbers of a source that begins again wherever
// it is asked to, lends and acks what closes, and takes one snapshot after the other meanwhile. It
// tells on standard output what an observer outside may rely on, a whole line each:
//
//   open                           it is about to open the directory
//   at <position> <count> <sum> <xor>  the position after recovering, and the totals of all numbers folded
//   lend <partition> <generation> <lease> <key> <numbers>
//   begin <position>                   a snapshot, that will stand there or behind
//   kept                           it is on the disk
//   end <position> <count> <sum> <xor>
//
//   killed DIRECTORY UNTIL         ends when the source has said the numbers below UNTIL
#include <unistd.h>

#include <atomic>
#include <cstdint>
#include <cstdlib>
#include <iostream>
#include <mutex>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include <pleat/folder.h>
#include <pleat/state_directory.h>

#include "tests/support/start.h"

namespace pleat::inline v0_1 {
namespace {

using std::chrono_literals::operator""s;

constexpr int kPartitions = 4;
constexpr uint64_t kSource = 7;
constexpr uint64_t kBatch = 16;
constexpr uint64_t kBatchesASnapshot = 8;
constexpr uint64_t kKeys = 23;

struct Number {
  uint64_t value;
};

struct Total {
  uint64_t count = 0;
  uint64_t sum = 0;
  uint64_t mixed = 0;

  void Fold(const Number& number) noexcept {
    ++count;
    sum += number.value;
    mixed ^= number.value * 0x9e3779b97f4a7c15;
  }
  template <class F>
  void Stored(F& f) {
    f(count, sum, mixed);
  }
};

struct Numbers {
  std::string text;

  void Fold(const Number& number) noexcept { text += std::to_string(number.value) + ","; }
  template <class F>
  void Stored(F& f) {
    f(text);
  }
};

void Write(std::string_view text) {
  if (write(STDOUT_FILENO, text.data(), text.size()) < 0) std::_Exit(3);
}

// In two pieces, so that some kills come within a line: it is told with its newline, and not before.
void Tell(std::string line) {
  static std::mutex mutex;
  const std::lock_guard lock(mutex);
  line += '\n';
  const size_t half = line.size() / 2;
  Write(std::string_view(line).substr(0, half));
  Write(std::string_view(line).substr(half));
}

[[noreturn]] void Fail(const absl::Status& status) {
  std::cerr << status << '\n';
  std::_Exit(2);
}

EngineTime StampOf(uint64_t number) { return kT0 + std::chrono::milliseconds(100 * number); }

class Program {
 public:
  void Run(const std::string& path, uint64_t until);

 private:
  uint64_t Position() const;
  void TellTotals(const std::string& word) const;
  void FoldOne(uint64_t until);
  void FoldAll(uint64_t until);
  void LendSome();

  std::unique_ptr<Engine> engine_ = Engine::Open({.partitions = kPartitions}).value();
  Folder<Number, Total> totals_{
      *engine_, "totals", {.quiet_period = kForever, .max_wait = kForever}};
  Folder<Number, Numbers> flow_{*engine_, "flow", {.quiet_period = 3s, .max_wait = 20s}};
  std::vector<std::string> keys_;
  std::atomic<uint64_t> snapshots_ = 0;  // begun
  std::atomic<bool> ended_ = false;
};

uint64_t Program::Position() const {
  uint64_t position = engine_->SourcePositionOf(kSource, 0);
  for (int i = 1; i < kPartitions; ++i)
    position = std::min(position, engine_->SourcePositionOf(kSource, i));
  return position;
}

void Program::TellTotals(const std::string& word) const {
  Total all;
  std::vector<OpenGroup<Total>> groups;
  ScanCursor cursor;
  while (totals_.Scan(cursor, 100, groups)) {
  }
  for (const OpenGroup<Total>& group : groups) {
    all.count += group.state.count;
    all.sum += group.state.sum;
    all.mixed ^= group.state.mixed;
  }
  Tell(word + " " + std::to_string(Position()) + " " + std::to_string(all.count) + " " +
       std::to_string(all.sum) + " " + std::to_string(all.mixed));
}

// A batch for each of the folders. Either may have taken it before.
void Program::FoldOne(uint64_t until) {
  const uint64_t begin = Position();
  std::vector<KeyedEvent<Number>> batch;
  for (uint64_t i = begin; i < std::min(begin + kBatch, until); ++i) {
    batch.push_back({keys_[i * i % kKeys], StampOf(i), {i}});
  }
  const SourcePosition position{.source = kSource, .offset = begin};
  flow_.FoldBatch(batch, {}, {}, position);
  totals_.FoldBatch(batch, {}, {}, position);
  engine_->Advance(StampOf(begin));
}

void Program::LendSome() {
  for (Leased<Numbers>& lease : flow_.Lease(2, 30s, LeaseTime(engine_->now()))) {
    Tell("lend " + std::to_string(lease.id.partition) + " " + std::to_string(lease.id.generation) +
         " " + std::to_string(lease.delivery.token.lease) + " " + lease.key + " " +
         lease.state.text);
    if (lease.id.generation % 3 != 0) lease.Ack();
  }
}

// So far that a snapshot has something to do, and waits for the next one then.
void Program::FoldAll(uint64_t until) {
  for (uint64_t batches = 0; Position() < until; ++batches) {
    FoldOne(until);
    LendSome();
    for (uint64_t begun = snapshots_; batches >= begun * kBatchesASnapshot; begun = snapshots_) {
      snapshots_.wait(begun);
    }
  }
  ended_ = true;
}

void Program::Run(const std::string& path, uint64_t until) {
  for (uint64_t i = 0; i < kKeys; ++i) keys_.push_back("key" + std::to_string(i));
  Tell("open");
  absl::StatusOr<std::unique_ptr<StateDirectory>> directory = StateDirectory::Open(path);
  if (!directory.ok()) Fail(directory.status());
  const absl::StatusOr<Recovered> found = (*directory)->Recover(*engine_);
  if (!found.ok()) Fail(found.status());
  if (!found->passed_over.empty()) Fail(absl::DataLossError(found->passed_over));
  TellTotals("at");
  flow_.EndLeases();
  std::thread folding([&] { FoldAll(until); });
  while (!ended_) {
    Tell("begin " + std::to_string(Position()));
    ++snapshots_;
    snapshots_.notify_one();
    if (absl::Status taken = (*directory)->TakeSnapshot(*engine_); !taken.ok()) Fail(taken);
    Tell("kept");
  }
  folding.join();
  TellTotals("end");
}

}  // namespace
}  // namespace pleat::inline v0_1

int main(int argc, char** argv) {
  if (argc != 3) return 1;
  pleat::Program().Run(argv[1], std::strtoull(argv[2], nullptr, 10));
}
