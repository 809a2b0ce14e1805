// A presence of an engine: PresenceCore, the collection whose books are PresenceBooks, and the
// handle, whose calls go from here to the books.
#include <pleat/untyped/any_presence.h>

#include <algorithm>
#include <optional>
#include <string>
#include <utility>

#include <pleat/metrics.h>

#include "engine/base/inside.h"
#include "engine/core/add_counts.h"
#include "engine/core/feed_collection.h"
#include "engine/core/opening.h"
#include "engine/live/presence_book.h"

namespace pleat::inline v0_1 {

class PresenceCore final : public FeedCollection {
 public:
  PresenceCore(EngineCore& engine, std::string_view name, const PresenceOptions& options,
               const PayloadOps& ops, std::shared_ptr<void> context_owner)
      : FeedCollection(engine, name, ops, std::move(context_owner)), options_(options) {}

  Description Describe() const override {
    return DescribeAs("presence").Add("ttl", options_.ttl).Add("grace", options_.grace);
  }
  std::vector<Statistic> Statistics() override { return StatisticsOf(ledger(), sizes()); }
  std::vector<uint64_t> CountEntries() const override {
    return CountInBooks<PresenceBook>([](const PresenceBook& book) { return book.ledger().users; });
  }

 private:
  friend class AnyPresence;

  std::unique_ptr<Book> MakeBook(int partition) override {
    return std::make_unique<PresenceBook>(
        engine().pool(), ShareOfOptions(before_.value_or(options_), partition), ops(),
        engine().hash_key(), static_cast<uint32_t>(partition));
  }
  PresenceOptions ShareOfOptions(const PresenceOptions& options, int partition) {
    PresenceOptions share = options;
    CutToShares({&share.limits.max_series, &share.limits.max_users, &share.limits.max_connections,
                 &share.limits.max_bytes, &share.max_changes},
                partition, engine().partition_count());
    return share;
  }
  absl::Status UseOptionsOf(const Description& then) override;
  void UseOwnOptions() override { before_.reset(); }
  void SetOptionsOf(Book& book, int partition, const Instant& at) override {
    static_cast<PresenceBook&>(book).SetOptions(ShareOfOptions(options_, partition), at);
  }
  absl::Status SetOptions(const PresenceOptions& options);
  PresenceOptions options() {
    LockGuard guard(home(0).partition->lock());
    return options_;
  }
  PresenceLedger ledger() {
    return Sum<PresenceBook>([](const PresenceBook& book) { return book.ledger(); });
  }
  PresenceSizes sizes() {
    return Sum<PresenceBook>([](const PresenceBook& book) { return book.sizes(); });
  }
  // A call about a connection, stamped `at`: `act(book, who, instant)`.
  template <class Act>
  PresenceOutcome About(std::string_view series, std::string_view user, std::string_view connection,
                        EngineTime at, const Act& act) {
    return ChangeSeriesAt<PresenceBook>(
        series, std::max({series.size(), user.size(), connection.size()}), at,
        [&](PresenceBook& book, const auto& ref, const Instant& instant) {
          return act(book, PresenceBook::Who{ref, user, connection}, instant);
        });
  }

  // Changes with all partitions locked, and the engine's list of collections.
  PresenceOptions options_;
  std::optional<PresenceOptions> before_;  // of a snapshot that is being taken over
};

namespace {

// As for folders: see any_folder.cc.
bool TakePresenceOption(PresenceOptions& before, std::string_view option, std::string_view value) {
  if (option == "ttl") return TakeValue(value, before.ttl);
  if (option == "grace") return TakeValue(value, before.grace);
  return true;
}

// The ring of changes is as large as it is.
std::string_view FixedPresenceOption(const PresenceOptions& now, const PresenceOptions& then) {
  // A new option does not compile here until it was thought about.
  const auto& [ttl, grace, max_changes, limits] = now;
  return max_changes != then.max_changes ? "max_changes" : std::string_view();
}

absl::Status Check(const PresenceOptions& options, const PayloadOps& ops, int partitions) {
  if (options.ttl <= Duration::zero()) return OutOfRange("ttl", "above zero");
  if (options.grace < Duration::zero()) return OutOfRange("grace", "zero or more");
  const PresenceLimits& limits = options.limits;
  if (limits.max_per_user < 1) return OutOfRange("limits.max_per_user", "at least 1");
  if (limits.max_per_series < 1) return OutOfRange("limits.max_per_series", "at least 1");
  absl::Status shared = CheckLimits({{"limits.max_series", limits.max_series},
                                     {"limits.max_users", limits.max_users},
                                     {"limits.max_connections", limits.max_connections},
                                     {"limits.max_bytes", limits.max_bytes},
                                     {"max_changes", options.max_changes}},
                                    partitions);
  return shared.ok() ? FeedCollection::CheckPayload(ops) : shared;
}

}  // namespace

absl::Status PresenceCore::UseOptionsOf(const Description& then) {
  absl::StatusOr<PresenceOptions> before = OptionsOf(
      then, options_, TakePresenceOption,
      [&](const PresenceOptions& o) { return Check(o, ops(), engine().partition_count()); },
      [&](const PresenceOptions& o) { return FixedPresenceOption(o, options_); });
  if (!before.ok()) return before.status();
  before_ = *std::move(before);
  return absl::OkStatus();
}

absl::Status PresenceCore::SetOptions(const PresenceOptions& options) {
  absl::Status in_range = Check(options, ops(), engine().partition_count());
  if (!in_range.ok()) return in_range;
  return ChangeOptions([&] { return FixedPresenceOption(options_, options); },
                       [&] { options_ = options; });
}

// --- Counts

PresenceLedger& PresenceLedger::operator+=(const PresenceLedger& other) noexcept {
  return AddCounts(*this, other);
}
PresenceSizes& PresenceSizes::operator+=(const PresenceSizes& other) noexcept {
  return AddCounts(*this, other);
}

// --- The handle

AnyPresence::AnyPresence(std::shared_ptr<EngineCore> engine,
                         std::shared_ptr<PresenceCore> core) noexcept
    : AnyFeed(std::move(engine), std::move(core)) {}

PresenceCore& AnyPresence::core() const noexcept { return static_cast<PresenceCore&>(feed()); }

absl::StatusOr<AnyPresence> AnyPresence::Open(Engine& engine, std::string_view name,
                                              const PresenceOptions& options, const PayloadOps& ops,
                                              std::shared_ptr<void> context_owner) {
  auto core = OpenCore<PresenceCore>(engine, name, Check(options, ops, engine.partitions()),
                                     options, ops, std::move(context_owner));
  if (!core.ok()) return core.status();
  return AnyPresence(EngineAccess::CoreOf(engine), *std::move(core));
}

void AnyPresence::OpenFailed(std::string_view name, const absl::Status& why) noexcept {
  FailToOpen("presence", name, why);
}

Entered AnyPresence::Enter(std::string_view series, std::string_view user,
                           std::string_view connection, const void* metadata,
                           EngineTime at) noexcept {
  Entered entered{};
  const auto enter = [&](PresenceBook& book, const auto& who, const Instant& instant) {
    entered = book.Enter(who, metadata, Clamp(at), instant);
    return entered.outcome;
  };
  entered.outcome = core().About(series, user, connection, at, enter);
  return entered;
}
PresenceOutcome AnyPresence::Update(std::string_view series, std::string_view user,
                                    std::string_view connection, uint64_t generation,
                                    const void* metadata, EngineTime at) noexcept {
  const auto beat = [&](PresenceBook& book, const auto& who, const Instant& instant) {
    return book.Beat(who, generation, metadata, Clamp(at), instant);
  };
  return core().About(series, user, connection, at, beat);
}
PresenceOutcome AnyPresence::Beat(std::string_view series, std::string_view user,
                                  std::string_view connection, uint64_t generation,
                                  EngineTime at) noexcept {
  return Update(series, user, connection, generation, /*metadata=*/nullptr, at);
}
PresenceOutcome AnyPresence::Leave(std::string_view series, std::string_view user,
                                   std::string_view connection, uint64_t generation,
                                   EngineTime at) noexcept {
  const auto leave = [&](PresenceBook& book, const auto& who, const Instant& instant) {
    return book.Leave(who, generation, instant);
  };
  return core().About(series, user, connection, at, leave);
}

PresenceCounts AnyPresence::Count(std::string_view series, EngineTime now) const noexcept {
  const auto count = [](auto& book, auto& ref, auto as_of) { return book.Count(ref, as_of); };
  return core().Looking<PresenceBook>(series, now, PresenceCounts{}, count);
}
bool AnyPresence::List(std::string_view series, const ListOptions& options, ListCursor& cursor,
                       See see) const noexcept {
  const auto list = [&](auto& book, auto& ref, auto as_of) {
    return book.List(ref, options, as_of, cursor, see);
  };
  return core().Looking<PresenceBook>(series, options.now, false, list);
}
bool AnyPresence::Find(std::string_view series, std::string_view user, EngineTime now,
                       See see) const noexcept {
  return core().Looking<PresenceBook>(series, now, false, [&](auto& book, auto& ref, auto as_of) {
    return book.Find(ref, user, as_of, see);
  });
}
ChangeCursor AnyPresence::Watch(std::string_view series, See see) noexcept {
  return Guarded([&] { return core().WatchSeriesOf<PresenceBook>(series, see); });
}

absl::Status AnyPresence::SetOptions(const PresenceOptions& options) noexcept {
  const Call call;
  if (call.nested()) {
    return absl::FailedPreconditionError("SetOptions() from inside a function of the caller's");
  }
  return core().SetOptions(options);
}
PresenceOptions AnyPresence::options() const noexcept {
  return Guarded([&] { return core().options(); });
}
PresenceLedger AnyPresence::ledger() const noexcept {
  return Guarded([&] { return core().ledger(); });
}
PresenceSizes AnyPresence::sizes() const noexcept {
  return Guarded([&] { return core().sizes(); });
}
size_t AnyPresence::held_bytes() const noexcept {
  return Guarded([&] { return core().held_bytes(); });
}

}  // namespace pleat::inline v0_1
