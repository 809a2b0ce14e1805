// A Processor reads a partitioned log (untyped/partitioned_log.h), makes messages of its records,
// and hands these out, so that nothing is lost and nothing is done twice, whoever dies.
//
//   class Baskets : public pleat::Handler {
//    public:
//     explicit Baskets(pleat::Lane& lane)
//         : baskets_(lane.engine(), "baskets", {.quiet_period = 5min, .max_wait = 1h}) {
//       lane.Publish("baskets", baskets_, [](const auto& closed) { return Text(closed.state); });
//     }
//     pleat::Handled Handle(const pleat::LogRecord& record, pleat::Lane&) override {
//       baskets_.Fold(record.key, Parse(record.payload), record.logged);
//       return pleat::Handled::Done();
//     }
//    private:
//     pleat::Folder<Order, Basket> baskets_;
//   };
//
//   auto log = *pleat::StoreLog::Open("/var/lib/orders", "mail");
//   pleat::Processor processor(
//       *log, [](pleat::Lane& lane) { return std::make_unique<Baskets>(lane); });
//   while (!done) {
//     absl::StatusOr<bool> more = processor.Run(now);              // reads, folds and commits
//     for (const pleat::Message& message : processor.Lease(100, 30s, now)) {
//       if (Send(message.id, message.payload)) processor.Ack(message.id);
//     }
//     if (!more.ok() || !*more) WaitABit();
//   }
//
// A *lane* is one partition: an engine with one partition, a handler with its collections, and the
// messages that wait. The log is the only journal: a lane is a function of the records that it has
// read, and of nothing else, so another owner that reads them makes the same messages.
//
// A record that cannot be handled now holds its *key*: the key's records wait in their order, until
// the handler takes the first one, or a person has looked at it; other keys go on. Which records
// wait, and which were handled later, is on the disk before a commit behind them.
//
//   1. Decide. A commit says how far the lane has read, and which messages came of that.
//   2. Publish. Only then these messages are lent.
//   3. Confirm. Acks travel with the next commit.
//
// The next owner restores a snapshot of the lane, reads on to the offset of the last commit, and so
// has the messages again that were decided and not confirmed, with the same ids and bytes. What was
// acked after the last commit comes again: receivers drop ids that they know. A lane whose messages
// turn out to be others than those that were decided is *parked*, and says so; other lanes go on.
//
// Time. A lane has log time: the largest `logged` so far, so no record is late. The engine's time
// is moved to it before each record. In silence a deadline passes only when the log says, later
// than the deadline, that nothing more has come: so groups close without a further record, and
// never close because the log could not be reached.
//
// On event time (ProcessorOptions::engine) the stamps that the handler gives to its collections
// move the engine's time. When the log has been silent for ProcessorOptions::idle, and says so, the
// engine's time follows log time, `idle` behind it.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <absl/functional/function_ref.h>
#include <absl/status/status.h>
#include <absl/status/statusor.h>
#include <pleat/detail/export.h>
#include <pleat/emission_source.h>
#include <pleat/engine.h>
#include <pleat/time.h>
#include <pleat/untyped/partitioned_log.h>

namespace pleat::inline v0_1 {

class LaneCore;

// Names a message: no other one of the log has the same id, and after any crash a message has the
// id that it had. Within a stream of a lane the numbers go up by one, so a receiver that gets a
// stream in order needs to know only the last number.
struct MessageId {
  int partition = 0;
  uint32_t stream = 0;  // counts the streams of a lane in the order in which they were named
  uint64_t life = 0;    // drawn when a lane begins without a commit of an earlier one
  uint64_t number = 0;  // counts the messages of the stream, from 0

  friend bool operator==(const MessageId&, const MessageId&) = default;
};

// Such as "orders/3/9f86d081884c7d65/baskets/17": to be passed on as an idempotency key.
PLEAT_EXPORT std::string FormatMessageId(std::string_view source, const MessageId& id,
                                         std::string_view stream);

struct Message {
  MessageId id;
  std::string stream;  // its name
  std::string key;
  std::string payload;
};

// A lane as its handler sees it.
// Thread safety: to be called inside the handler's functions that get it, and its constructor.
class PLEAT_EXPORT Lane {
 public:
  Lane(const Lane&) = delete;
  Lane& operator=(const Lane&) = delete;

  // One partition. Open collections in the handler's constructor.
  Engine& engine() noexcept;
  int partition() const noexcept;
  EngineTime now() const noexcept;  // log time

  // What `source`, such as a Folder, emits becomes messages of the stream `name`: their payload is
  // what `encode(emission)` gives, as a std::string. REQUIRES: in the handler's constructor; at
  // most kLaneStreamsMax - 1 streams, of different names; nobody else takes the emissions;
  // max_backlog is at least 2,048, and on event time without a bound, so that no emission is
  // dropped or refused; `encode` depends on the emission alone, and does not throw.
  template <class State, class Encode>
  void Publish(std::string_view name, EmissionSource<State> source, Encode encode) {
    Publish(name, [source = std::move(source), encode = std::move(encode),
                   popped = std::make_shared<EmissionBuffer<State>>()](AddMessage add) mutable {
      for (const EmissionView<State>& each : source.Pop(SIZE_MAX, *popped))
        add(each.key, encode(each));
    });
  }

  // The same for another way to pop, such as that of a JsonFolder (json.h): `pop_all(add)` pops all
  // that there is, and calls add(key, payload) for each; at first behind a restore, if any.
  using AddMessage = absl::FunctionRef<void(std::string_view key, std::string payload)>;
  using PopAll = std::function<void(AddMessage)>;
  void Publish(std::string_view name, PopAll pop_all);

  // Makes a message of the stream `emitted`, which each lane has. REQUIRES: not in the constructor.
  void Emit(std::string_view key, std::string_view payload);

 private:
  friend class LaneCore;
  explicit Lane(LaneCore& core) : core_(core) {}

  LaneCore& core_;
};

// So that a commit has room for all of them.
inline constexpr size_t kLaneStreamsMax = 8;

// What a handler says of a record.
class [[nodiscard]] Handled {
 public:
  static Handled Done() { return Handled(Answer::kDone, {}, {}); }
  // The key waits so long, and then its first record is handed over again; its later records wait
  // behind that one. The reason is for people, see HeldKey.
  static Handled RetryAfter(Duration wait, std::string reason = {}) {
    return Handled(Answer::kRetry, std::max(wait, Duration{0}), std::move(reason));
  }
  // The key waits until a person says Retry() or Drop().
  static Handled Park(std::string reason) { return Handled(Answer::kPark, {}, std::move(reason)); }

  bool is_done() const noexcept { return answer_ == Answer::kDone; }
  bool is_parked() const noexcept { return answer_ == Answer::kPark; }
  Duration wait() const noexcept { return wait_; }
  const std::string& reason() const noexcept { return reason_; }

 private:
  enum class Answer : uint8_t { kDone, kRetry, kPark };

  Handled(Answer answer, Duration wait, std::string reason)
      : answer_(answer), wait_(wait), reason_(std::move(reason)) {}

  Answer answer_;
  Duration wait_;
  std::string reason_;
};

// Handles the records of one lane; it comes and goes with the lane.
// REQUIRES: a handler depends on the record and on its collections alone, not on a clock, on
// chance, or on other lanes; and only the collections keep anything from one record to the next,
// because snapshots have nothing else. Where max_group_bytes or limits.max_bytes are set,
// HeapBytes() of a state is a function of its content, such as size(): capacity() differs after a
// restart. It does not throw.
class Handler {
 public:
  virtual ~Handler() = default;

  // `record.logged` is the lane's time, also of a record that has waited: so that is not late. On
  // event time it may be.
  // Whether a record is refused may depend on the world outside, such as a service that is away.
  // REQUIRES: a record that is not done was fed to no collection, and no message was emitted for
  // it. One that was done is so again when another owner hands it over: RetryAfter() holds up the
  // whole lane there, until it is; Park() parks the lane.
  virtual Handled Handle(const LogRecord& record, Lane& lane) = 0;

  // For a handler that takes records in a row faster than one by one, and refuses none of them.
  // BatchOf(): how many of these, at most 256, HandleBatch() is to get now. After 0 or 1 the next
  // record goes to Handle(). `logged` is still as the log has it, and time was not moved yet.
  // HandleBatch(): the first so many; Lane::now() is that of the last one. On arrival time it moves
  // the engine to the `logged` of each: by Advance(), or IntakeOptions::stamps_move_time.
  // REQUIRES: the messages are those that Handle() makes of one record after the other, however the
  // records are cut into batches, as another owner cuts them elsewhere; and max_backlog, and
  // max_bytes if emissions that wait count, have room for those of a batch.
  virtual size_t BatchOf(std::span<const LogRecord> /*records*/) const { return 0; }
  virtual void HandleBatch(std::span<const LogRecord> records, Lane& lane) {
    for (const LogRecord& each : records)
      if (!Handle(each, lane).is_done()) std::abort();
  }

  // For CloseAllAndStop(): calls TakeWaiting() of an intake, and CloseAll() of all collections.
  virtual void CloseAll(Lane& /*lane*/) {}

  // For a handler on event time in whose intake (intake.h, json_intake.h) events wait for their
  // turn. NextWaiting(): the smallest stamp of one that waits, as that of the intake.
  // TakeUntil(): nothing older than `now` is waited for any more: to be handed to Advance() of the
  // intake. The lane moves the engine's time there afterwards.
  virtual std::optional<EngineTime> NextWaiting() const { return std::nullopt; }
  virtual void TakeUntil(EngineTime /*now*/, Lane& /*lane*/) {}
};

using MakeHandler = std::function<std::unique_ptr<Handler>(Lane&)>;

struct ProcessorOptions {
  // Says which handler this is. Raise it when records come to other messages than before. A new
  // version takes over where the one before was stopped in order, see Stop(); elsewhere the lane is
  // parked. It may have more collections and streams. Those that there were keep their names, and
  // the options that cannot change over a restart; others change there, of the same version too.
  uint64_t version = 0;

  // Of each lane's engine: axis and watermark delay; on event time a future limit as well if there
  // is one, also in an intake. EngineOptionsFor() has these, and no limit if there is a reorder.
  EngineOptions engine;

  // On event time: for how long the log is silent until the lane takes it that events are older
  // than that no more. Longer than whoever appends may hold records back; another one is another
  // version. kForever: groups close by later events only. Range: above zero.
  Duration idle = std::chrono::seconds(30);

  // How often a lane commits: when there are messages to be decided; and at most ten times as
  // seldom when there are none. Range: above zero.
  Duration commit_every = std::chrono::milliseconds(100);

  // In silence the lane's time stays so far behind the clock: how much the clocks of whoever
  // appends may differ from ours, and how long a record may be under way until it can be read. A
  // record that takes longer may come into a group of its own. Range: zero or more.
  Duration margin = std::chrono::milliseconds(1500);

  // A snapshot is taken after so many records, so that a next owner reads no more of them again.
  // Range: 1 or more.
  uint64_t replay_limit = 1'000'000;

  // A lane reads no more while so many bytes of messages wait; those of the records that were just
  // handed over come on top. Range: 1 or more.
  size_t messages_bytes_max = size_t{64} << 20;

  // A lane reads no more while records of held keys take so many bytes; those of the records that
  // were just handed over come on top. A snapshot has them. Range: 1 or more.
  size_t held_bytes_max = size_t{1} << 20;

  // The same while one key has so many. Range: 1 or more.
  size_t held_records_max = 1'000;

  // Bury() takes no more messages of a lane while those buried would take more bytes. They are
  // written anew with each change. Range: 1 or more.
  size_t buried_bytes_max = size_t{1} << 20;

  // For tests; a program leaves it out, and each life is drawn from the operating system.
  std::optional<uint64_t> life = std::nullopt;
};

enum class LanePhase : uint8_t {
  kReplaying,  // handles an earlier owner's records again, or waits for a snapshot of new options
  kLive,
  kParked,  // does nothing any more, until a person has looked at it
};

// How a lane stands.
struct LaneStatus {
  int partition = 0;
  LanePhase phase = LanePhase::kReplaying;
  // Of a parked one; of one that replays and whose handler asks to wait; of one that reads no more
  // because of its held keys; else of what failed last: a snapshot, or the book of held keys.
  absl::Status why;
  uint64_t next = 0;       // the offset where it reads on
  uint64_t waiting = 0;    // messages that wait for an ack, or to be decided
  uint64_t held_keys = 0;  // see Processor::held_keys()
  uint64_t buried = 0;     // messages, see Processor::Bury()
  EngineTime now{};
  // How many owners have gone on with the lane behind its first one, and when the last one began,
  // by the clock of its Run(). A takeover alone makes no commit.
  uint64_t takeovers = 0;
  std::optional<EngineTime> taken_over;
  // What this owner has done: commits that were taken, and snapshots. Nothing: StoreLog::Look()
  // does not know.
  std::optional<uint64_t> commits;
  std::optional<uint64_t> snapshots;
  // Where the log ends, and when its last record was logged: as StoreLog::Look() says, or you.
  std::optional<uint64_t> end;
  std::optional<EngineTime> newest;
};

// Which messages of one key a call of Lease() may lend.
enum class LeaseKeys : uint8_t {
  kOne,  // one, and the next one when it was acked: for any delivery
  // Several in a row: for a delivery that keeps their order, and leaves the rest of a key away when
  // one failed.
  kTogether,
};

// A key whose first record was not handled, and whose records wait.
struct HeldKey {
  int partition = 0;
  std::string key;
  bool is_parked = false;  // else it is retried
  std::string reason;      // the handler's; the first 1,024 bytes
  uint64_t offset = 0;     // of its first record
  uint64_t records = 0;
  uint64_t bytes = 0;     // that count for held_bytes_max
  uint64_t attempts = 0;  // about how often the first record was refused
};

// A message that was set aside.
struct BuriedMessage {
  Message message;
  std::string reason;
  bool is_revived = false;  // lent until it is acked
};

// Thread safety: any thread may call any method at any time, but the destructor; Run() at most one
// at a time. Handlers run under the processor's lock, and call nothing of it.
class PLEAT_EXPORT Processor {
 public:
  // Ownership: `log` outlives this.
  Processor(PartitionedLog& log, MakeHandler make_handler, const ProcessorOptions& options = {});
  ~Processor();
  Processor(const Processor&) = delete;
  Processor& operator=(const Processor&) = delete;

  // One round: polls the log, handles records, and commits where that is due. `now` is the time of
  // the clock by which the log stamps its records. Returns whether there may be more to do at once.
  // Errors: those of the log; call it again.
  absl::StatusOr<bool> Run(EngineTime now);

  // Ends in order: no more records; a snapshot and a last commit of each lane. Call Run() until
  // stopped(), and go on to lease and ack. It is not stopped while a message waits for its ack, and
  // while a snapshot fails, see lanes(): whoever waits no longer ends as by a crash. Held keys stay
  // as they are, and go on with the next owner.
  void Stop();
  bool stopped() const;

  // As Stop(), but first each lane calls Handler::CloseAll(), for a job that runs to the end of a
  // log. A next owner goes on behind it: later records make groups of their own, and those of held
  // keys still wait. After a crash nothing was closed, or a next owner closes at the same place.
  void CloseAllAndStop();

  // Lends up to `max` messages that are decided, for `visibility_timeout`: those of a stream in
  // their order, and of one key as `keys` says: none while another call has one of the key. A
  // message that is not acked by then is lent again, without end. O(log(messages that wait)) for
  // each.
  std::vector<Message> Lease(size_t max, Duration visibility_timeout, EngineTime now,
                             LeaseKeys keys = LeaseKeys::kOne);
  // The message was delivered. False: it was acked before, or its lane has another owner, or has
  // one anew and still replays. Acks of any order are kept, as far as they have room in a commit:
  // some hundred gaps between messages that are acked. Behind them a next owner delivers again.
  bool Ack(const MessageId& id);
  // It is to be lent again, after `delay`. Returned as by Ack().
  bool Nack(const MessageId& id, Duration delay, EngineTime now);

  std::vector<LaneStatus> lanes() const;

  // All held keys, those of a lane by the offset of their first records. None of a lane that
  // replays or is parked. O(records that wait).
  std::vector<HeldKey> held_keys() const;
  // The key's first record is handed over in the next Run(), and those behind it when it is done.
  // False: the key is not held.
  bool Retry(int partition, std::string_view key);
  // The record is never handled, and the key goes on as by Retry(). Durable with the lane's next
  // commit. False: it is not the first of its key's records that wait.
  bool Drop(int partition, std::string_view key, uint64_t offset);

  // Sets a message aside that waits for an ack, and cannot be delivered: nothing waits for it any
  // more. It is kept whole, and counts as acked once the lane's next commit has it; a next owner
  // has it as well. The first 1,024 bytes of the reason are kept. False: no such message waits, or
  // there is no room, see buried_bytes_max.
  bool Bury(const MessageId& id, std::string_view reason);
  // All of them, by lane, stream and number. None of a lane that replays or is parked. O(bytes).
  std::vector<BuriedMessage> buried() const;
  // The message is lent again until it is acked, or buried once more; later messages of its key may
  // have come before. False: it is not buried, or is revived.
  bool Revive(const MessageId& id);
  // It is not delivered any more, as after Ack(). False: it is not buried.
  bool Drop(const MessageId& id);

 private:
  class Core;

  std::unique_ptr<Core> core_;
};

}  // namespace pleat::inline v0_1
