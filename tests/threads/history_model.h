// What a folder of one partition does with one call after the other, as docs/semantics.md has it, in which time
// ends leases, but closes no group, and nothing is at a limit.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "tests/threads/history.h"

namespace pleat::inline v0_1 {

class HistoryModel {
 public:
  explicit HistoryModel(const HistoryRules& rules) : rules_(rules), open_(rules.keys) {}

  // Does the call; returns whether the answer is the one in the history.
  bool Apply(const HistoryCall& call);

  // All that can matter for later calls, as bytes.
  void AppendTo(std::string& out) const;

 private:
  struct Waiting {
    uint64_t generation = 0;
    size_t key = 0;
    std::vector<uint16_t> events;
    uint64_t lease = 0;  // of its last delivery; 0: none
    uint32_t deliveries = 0;
    int64_t at = 0;        // of what is lent: its end; of what came back: when
    bool by_call = false;  // it came back by a call
    uint64_t order = 0;    // of what came back
  };

  void Close(size_t key);
  void Expire();
  void Return(Waiting waiting, int64_t at, bool by_call);
  bool Holds(size_t key) const;
  std::vector<SeenEmission> HandOut(size_t max, bool lends);
  LeaseOutcome Ack(uint64_t lease);
  LeaseOutcome Nack(uint64_t lease);

  HistoryRules rules_;
  int64_t now_ = 0;
  std::vector<std::vector<uint16_t>> open_;  // by key; empty: none
  std::vector<Waiting> ready_;
  std::vector<Waiting> lent_;      // in the order of their leases
  std::vector<Waiting> returned_;  // in order
  std::vector<uint64_t> acked_;
  uint64_t generations_ = 0;
  uint64_t leases_ = 0;
  uint64_t returns_ = 0;
};

}  // namespace pleat::inline v0_1
