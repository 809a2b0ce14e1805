// A service whose every call of the system fails, at one place of its life after the other: each call
// from the first opening to the last snapshot, with each of eight errors, once and from then on. What
// has to hold is said in troubled_life.h.
//
// Two of the errors are none that a caller may see: a signal that interrupts (EINTR; from then on,
// each call is interrupted once) and a write that takes half of the bytes.
#include <cerrno>
#include <cstdint>
#include <iostream>
#include <string>
#include <string_view>
#include <vector>

#include <gtest/gtest.h>
#include <pleat/untyped/storage.h>

#include "tests/state/failing_system.h"
#include "tests/state/troubled_life.h"
#include "tests/support/faulty_storage.h"
#include "tests/support/share.h"
#include "tests/support/temporary_directory.h"

namespace pleat::inline v0_1 {
namespace {

constexpr int kShortWrite = -1;
constexpr int kSystemErrors[] = {EIO, ENOSPC, EDQUOT, EINTR, kShortWrite, EROFS, EMFILE, EACCES};

// Of all troubles of all places one in so many. Each place has some of them, and each trouble some places.
bool IsDrawn(size_t place, size_t trouble) {
  static const size_t one_in = ShareOf({.whole = 1, .usual = 4, .sanitized = 11});
  return (place + trouble) % one_in == 0;
}

// Whether a trouble that lasts, and that shows as `error`, is one of such calls.
bool Lasts(int error, const SystemCall& call) {
  const std::string_view name = call.name;
  switch (error) {
    case ENOSPC:
    case EDQUOT: return call.changes && name != "unlinkat";
    case EROFS: return call.changes;
    case EMFILE: return name == "open" || name == "openat";
    case EACCES:
      return name == "open" || name == "openat" || name == "mkdir" || name == "renameat" ||
             name == "unlinkat";
    default: return true;
  }
}

// A life with trouble from its call number `place` on.
class SystemTrouble {
 public:
  SystemTrouble(int error, bool lasts, size_t place)
      : error_(error), lasts_(lasts), place_(place) {}

  // Returns how often something was said to have failed.
  size_t Run() {
    const TemporaryDirectory above;
    TroubledLife life(PosixStorage(), above / "notes",
                      {.error = error_ == kShortWrite ? 0 : error_, .lasts = lasts_, .end = [this] {
                         ended_ = true;
                       }});
    g_plan = [this](const SystemCall& call) { return Decide(call); };
    life.Live();
    g_plan = nullptr;
    life.Conclude();
    return life.told();
  }

  const std::vector<std::string_view>& calls() const { return calls_; }

 private:
  SystemFate Decide(const SystemCall& call) {
    const size_t number = calls_.size();
    calls_.push_back(call.name);
    if (ended_ || number < place_ || (!lasts_ && number > place_)) return {};
    if (error_ == kShortWrite) return {.most = std::max<size_t>(1, call.bytes / 2)};
    if (error_ == EINTR && lasts_) return {.error = Interrupts(call) ? EINTR : 0};
    const bool fails = number == place_ || call.name == calls_[place_] || Lasts(error_, call);
    return {.error = fails ? error_ : 0};
  }

  // Each time but right after it did. What has a name is done at once.
  bool Interrupts(const SystemCall& call) {
    const bool at_once = call.name == "mkdir" || call.name == "renameat" || call.name == "unlinkat";
    interrupted_ = !interrupted_ && !at_once;
    return interrupted_;
  }

  const int error_;
  const bool lasts_;
  const size_t place_;
  std::vector<std::string_view> calls_;
  bool ended_ = false;
  bool interrupted_ = false;
};

// Whether the service has no other way to a snapshot, or to a restart, than this call.
bool HasToBeTold(std::string_view call) {
  return call == "write" || call == "fdatasync" || call == "renameat" || call == "mkdir" ||
         call == "open" || call == "flock" || call == "pread";
}

std::string WordOf(int error) {
  return error == kShortWrite ? "a short write" : std::strerror(error);
}

TEST(StateLife, EachErrorOfEachCallOfTheSystemLosesNothing) {
  SystemTrouble none(EIO, false, SIZE_MAX);
  ASSERT_EQ(none.Run(), 0u);
  size_t lives = 0;
  size_t told = 0;
  for (size_t place = 0; place < none.calls().size(); ++place) {
    size_t trouble = 0;
    for (const int error : kSystemErrors) {
      for (const bool lasts : {false, true}) {
        if (!IsDrawn(place, trouble++)) continue;
        SCOPED_TRACE(std::string(none.calls()[place]) + ", call " + std::to_string(place) + ": " +
                     WordOf(error) + (lasts ? " from then on" : ""));
        const size_t now = SystemTrouble(error, lasts, place).Run();
        if (error == kShortWrite || (error == EINTR && lasts)) {
          EXPECT_EQ(now, 0u) << "is nothing that a caller sees";
        } else if (error != EINTR && !lasts && HasToBeTold(none.calls()[place])) {
          EXPECT_GE(now, 1u) << "and nobody was told";
        }
        ++lives;
        told += now;
        if (HasFailure()) return;
      }
    }
  }
  std::cout << lives << " lives, each with trouble at one of " << none.calls().size()
            << " calls of the system; " << told << " failures were told\n";
  EXPECT_GT(none.calls().size(), 100u);
  EXPECT_GT(told, lives / 4);
}

// The same on a disk in memory, where a sync that fails may leave its file in three ways, and a call
// may have done what it says has failed.
TEST(StateLife, EachErrorOfEachCallOfTheStorageLosesNothing) {
  constexpr char kPath[] = "/notes";
  FaultyStorage whole;
  TroubledLife(whole, kPath, {}).Live();
  size_t lives = 0;
  size_t told = 0;
  const auto live = [&](const StorageFault& fault) {
    SCOPED_TRACE(whole.log()[fault.call].ToString() + ", error " + std::to_string(fault.error) +
                 (fault.for_good ? " from then on" : "") + (fault.done ? " though done" : "") +
                 ", sync " + std::to_string(static_cast<int>(fault.sync)));
    FaultyStorage storage;
    storage.Fail(fault);
    TroubledLife life(storage, kPath, {.error = fault.error, .lasts = fault.for_good, .end = [&] {
                                         storage.Heal();
                                       }});
    life.Live();
    storage.Heal();
    life.Conclude();
    ++lives;
    told += life.told();
  };
  for (size_t call = 0; call < whole.calls(); ++call) {
    size_t trouble = 0;
    const StorageCall& cut = whole.log()[call];
    for (const int error : {EIO, ENOSPC, EDQUOT, EROFS, EMFILE, EACCES}) {
      for (const bool for_good : {false, true}) {
        if (!IsDrawn(call, trouble++)) continue;
        StorageFault fault{.call = call, .error = error, .for_good = for_good};
        live(fault);
        fault.done = cut.changes();
        if (fault.done) live(fault);
        fault.done = false;
        fault.bytes = cut.kind == StorageCall::Kind::kAppend ? cut.bytes / 2 : 0;
        if (fault.bytes > 0) live(fault);
        fault.sync = FailedSync::kShowsOld;
        if (cut.kind == StorageCall::Kind::kSync) live(fault);
        if (HasFailure()) return;
      }
    }
  }
  std::cout << lives << " lives, each with trouble at one of " << whole.calls()
            << " calls of the storage; " << told << " failures were told\n";
  EXPECT_GT(told, lives / 4);
}

}  // namespace
}  // namespace pleat::inline v0_1
