// Leases: emissions that are lent. Pop() gives an emission away for good: whoever has popped it and dies takes it
// along. Lease() lends it until an instant. Who has brought it safely downstream says Ack(), and it is gone;
// who cannot says Nack(), and who does neither lets the lease run out: then it is handed out again.
//
//   for (auto& lease : folder.Lease(100, 30s, now)) {
//     if (Publish(lease.key, lease.state)) lease.Ack();
//   }
//
// So every emission reaches the outside world at least once. Its EmissionId is the same at each of its
// deliveries: give it to the receiver, who can tell a second one from the first by it.
//
// - While an emission of a key is lent, or waits to be lent again, later ones of that key wait; other keys go on.
// - After LeaseOptions::max_deliveries deliveries it becomes a dead letter, which waits to be looked at, and
//   those behind it go on.
// - Leases run on a clock of their own: LeaseTime moves only when AdvanceLeases(), Lease(), Nack() or
//   Extend() says what time it is; Advance() and the stamps of events never move it.
//
// Any clock will do that all consumers share. A Driver moves LeaseTime by itself; its lease_now()
// reads that clock.
#pragma once

#include <cstddef>
#include <cstdint>

#include <pleat/time.h>

namespace pleat::inline v0_1 {

// Names one delivery of one emission. Plain numbers, which may travel to another process and back; an engine
// looks at tokens with suspicion, so that a forged one is stale at worst.
struct LeaseToken {
  uint64_t epoch = 0;       // of the engine; no two Engine objects share it
  uint64_t lease = 0;       // counts the partition's deliveries, from 1
  uint64_t generation = 0;  // of the emission; see EmissionId
  uint32_t collection = 0;  // no two folders that an engine has ever had share it
  uint32_t partition = 0;
  uint32_t place = 0;  // where the engine finds it

  friend bool operator==(const LeaseToken&, const LeaseToken&) = default;
};

// What Ack(), Nack(), Extend() and the calls on dead letters answer.
enum class LeaseOutcome : uint8_t {
  kDone,     // as asked; an Ack() is answered so again when it is repeated
  kClamped,  // done, but with the time asked for cut to the folder's limit
  kStale,  // the lease is over: it ran out, was given back, or is of another folder. Nothing has changed,
           // and what was lent is, or will be, somebody else's
  kClosed,         // the folder was closed, or its engine is gone
  kWouldDeadlock,  // called from inside a fold function; nothing has changed
};

// What Extend() answers.
struct Extension {
  LeaseOutcome outcome = LeaseOutcome::kStale;
  LeaseTime until{};  // with kDone and kClamped: when the lease is over now

  friend bool operator==(const Extension&, const Extension&) = default;
};

// How an emission was lent.
struct Delivery {
  LeaseToken token;
  LeaseTime until{};        // the lease is over when LeaseTime gets here
  uint32_t deliveries = 0;  // of this emission, this one included
};

// Why an emission is a dead letter.
enum class DeadReason : uint8_t {
  kNacked,  // its last delivery was given back
  kRanOut,  // its last delivery was neither acked nor given back in time
};

// How an emission became a dead letter.
struct Death {
  LeaseToken token;  // of its last delivery; names the letter
  uint32_t deliveries = 0;
  LeaseTime first_leased{};
  LeaseTime died{};
  DeadReason why = DeadReason::kRanOut;
};

}  // namespace pleat::inline v0_1
