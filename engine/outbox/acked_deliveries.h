// AckedDeliveries numbers the deliveries of a book, from 1 on, and remembers of the latest ones which
// emission was acked by each, so that an Ack() can be repeated.
//
// A book that was restored skips numbers, so that tokens of an engine that is gone name none of its own
// deliveries. The numbers that were skipped lately are remembered: they are those of no delivery.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include <pleat/stored.h>

namespace pleat::inline v0_1 {

class AckedDeliveries {
 public:
  // Deliveries whose outcome is remembered.
  static constexpr size_t kRemembered = 65'536;
  // More than a book gives out in centuries, and room for the numbers that restarts skip.
  static constexpr uint64_t kDeliveriesMax = uint64_t{1} << 62;
  // The generation of no emission.
  static constexpr uint64_t kNotAcked = UINT64_MAX;

  // The number of the latest delivery.
  uint64_t last() const noexcept { return last_; }

  // Returns the number of the next delivery, which nobody has acked.
  uint64_t Begin() {
    ++last_;
    if (acked_.size() < kRemembered) {
      acked_.push_back(kNotAcked);
    } else {
      *AckedBy(last_) = kNotAcked;
    }
    return last_;
  }

  // The generation of the emission that was acked by this delivery, or kNotAcked. Null: the delivery is
  // none of those that are remembered.
  uint64_t* AckedBy(uint64_t delivery) noexcept {
    // Of a number that is still to come the difference is huge.
    uint64_t since = last_ - delivery;
    if (!skips_.empty()) [[unlikely]]
      since = DeliveriesSince(delivery);
    return since < acked_.size() ? &acked_[(delivery - 1) % kRemembered] : nullptr;
  }

  // The next `by` numbers are those of no delivery. REQUIRES: a multiple of kRemembered.
  void SkipAhead(uint64_t by);

  // The number of the latest delivery comes earlier in the bytes of a book than what is remembered.
  void LoadLast(FieldReader& in) {
    in(last_);
    in.Expect(last_ < kDeliveriesMax);
  }
  void Load(FieldReader& in);
  void Save(FieldWriter& out) const;

 private:
  // Numbers of no delivery: those behind `after`.
  struct Skip {
    uint64_t after;
    uint64_t by;
  };

  // UINT64_MAX: no delivery has this number.
  [[gnu::cold]] uint64_t DeliveriesSince(uint64_t delivery) const noexcept;

  std::vector<uint64_t> acked_;  // by number, the first at 0, and so round
  uint64_t last_ = 0;
  std::vector<Skip> skips_;  // oldest first
};

}  // namespace pleat::inline v0_1
