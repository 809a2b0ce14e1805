#include "engine/core/presence_core.h"

#include <algorithm>
#include <utility>

#include "engine/core/statistics.h"

namespace pleat::inline v0_1 {
namespace {

// The limits of one partition.
PresenceOptions OptionsFor(const PresenceOptions& options, int i, int partitions) {
  PresenceOptions share = options;
  for (size_t* limit :
       {&share.limits.max_series, &share.limits.max_users, &share.limits.max_connections,
        &share.limits.max_bytes, &share.max_changes}) {
    *limit = ShareOf(*limit, i, partitions);
  }
  return share;
}

}  // namespace

PresenceCore::PresenceCore(EngineCore& engine, std::string_view name,
                           const PresenceOptions& options, const PayloadOps& ops,
                           std::shared_ptr<void> context_owner)
    : FeedCollection(engine, name),
      options_(options),
      ops_(ops),
      context_owner_(std::move(context_owner)) {}

Description PresenceCore::Describe() const {
  Description presence;
  presence.kind = "presence";
  presence.stored = ops_.stored();
  presence.Add("ttl", options_.ttl);
  presence.Add("grace", options_.grace);
  presence.version = ops_.stored_version;
  presence.shape = ShapeOf(presence.version);
  return presence;
}

std::string PresenceCore::ShapeOf(uint32_t version) const {
  return ops_.shape == nullptr ? "" : ops_.shape(ops_.context, version);
}

std::unique_ptr<Book> PresenceCore::MakeBook(int partition) {
  return std::make_unique<PresenceBook>(
      engine().pool(), OptionsFor(options_, partition, engine().partition_count()), ops_,
      engine().hash_key(), static_cast<uint32_t>(partition));
}

// --- Calls

template <class Act>
PresenceOutcome PresenceCore::Call(const Who& who, const Act& act) {
  if (std::max({who.series.size(), who.user.size(), who.connection.size()}) > kKeyBytesMax) {
    return CountTooLong<PresenceBook>();
  }
  return WithSeriesAt<PresenceBook>(
      who.series, who.at,
      [&](PresenceBook& book, const FeedBook::SeriesRef& series, const Instant& at) {
        return act(book, PresenceBook::Who{series, who.user, who.connection}, at);
      });
}

Entered PresenceCore::Enter(const Who& who, const void* metadata) {
  Entered entered{};
  const auto enter = [&](PresenceBook& book, const PresenceBook::Who& whom, const Instant& at) {
    entered = book.Enter(whom, metadata, Clamp(who.at), at);
    return entered.outcome;
  };
  entered.outcome = Call(who, enter);
  return entered;
}

PresenceOutcome PresenceCore::Beat(const Who& who, uint64_t generation, const void* metadata) {
  return Call(who, [&](PresenceBook& book, const PresenceBook::Who& whom, const Instant& at) {
    return book.Beat(whom, generation, metadata, Clamp(who.at), at);
  });
}

PresenceOutcome PresenceCore::Leave(const Who& who, uint64_t generation) {
  return Call(who, [&](PresenceBook& book, const PresenceBook::Who& whom, const Instant& at) {
    return book.Leave(whom, generation, at);
  });
}

// --- Reads

PresenceCounts PresenceCore::Count(std::string_view series, EngineTime now) {
  return Looking<PresenceBook>(
      series, PresenceCounts{},
      [&](const PresenceBook& book, const auto& ref) { return book.Count(ref, TimeFor(now)); });
}

bool PresenceCore::List(std::string_view series, const ListOptions& options, ListCursor& cursor,
                        AnyPresence::See see) {
  return Looking<PresenceBook>(series, false, [&](const PresenceBook& book, const auto& ref) {
    return book.List(ref, options, TimeFor(options.now), cursor, see);
  });
}

bool PresenceCore::Find(std::string_view series, std::string_view user, EngineTime now,
                        AnyPresence::See see) {
  return Looking<PresenceBook>(series, false, [&](const PresenceBook& book, const auto& ref) {
    return book.Find(ref, user, TimeFor(now), see);
  });
}

ChangeCursor PresenceCore::WatchSeries(std::string_view series, AnyPresence::See see) {
  return WatchSeriesOf<PresenceBook>(series, see);
}

PresenceLedger PresenceCore::ledger() {
  return Sum<PresenceBook>([](const PresenceBook& book) { return book.ledger(); });
}

PresenceSizes PresenceCore::sizes() {
  return Sum<PresenceBook>([](const PresenceBook& book) { return book.sizes(); });
}

std::vector<Statistic> PresenceCore::Statistics() { return StatisticsOf(ledger(), sizes()); }

std::vector<Statistic> StatisticsOf(const PresenceLedger& ledger, const PresenceSizes& sizes) {
  StatisticList out;
  out.Events({{"joined", ledger.joined},
              {"returned", ledger.returned},
              {"connected", ledger.connected},
              {"reconnected", ledger.reconnected},
              {"refreshed", ledger.refreshed},
              {"updated", ledger.updated},
              {"unchanged", ledger.unchanged},
              {"disconnected", ledger.disconnected},
              {"left", ledger.left},
              {"unknown", ledger.unknown},
              {"superseded", ledger.superseded},
              {"late", ledger.late},
              {"future", ledger.future},
              {"over_limit", ledger.over_limit}});
  out.HeldBytes(sizes.bytes);
  out.Series(sizes.series);
  out.Changes(ledger.causes);
  out.Gauge("pleat_users", "Users who are here or away.", ledger.users);
  out.Gauge("pleat_users_away", "Users who are away.", ledger.away);
  out.Gauge("pleat_connections", "Connections that are live or overdue.", ledger.connections);
  return std::move(out).Take();
}

}  // namespace pleat::inline v0_1
