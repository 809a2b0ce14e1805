// Traces: where a group has spent its time, from the first edit of a page to the ack.
//
//   12_trace > trace.json        open the file at https://ui.perfetto.dev, or in chrome://tracing
//
// A folder of edits keeps the latest steps of its groups. An observer reads them once in a while and
// prints a span for each stretch of a group's life: open, waiting to be taken, lent. A line is a
// trace event of Chrome's format; spans of OpenTelemetry have the same parts under other names.
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include <pleat/engine.h>
#include <pleat/folder.h>
#include <pleat/trace.h>

using namespace std::chrono_literals;

const pleat::EngineTime kBegin = pleat::FromUnix(1'700'000'000s);

struct Edit {
  int added;
};

struct Edits {
  int added = 0;
  void Fold(const Edit& edit) noexcept { added += edit.added; }
};

// Prints spans. Those of one group share its id, so that they lie in one row.
class SpanPrinter {
 public:
  explicit SpanPrinter(std::string_view collection) : collection_(collection) {}
  ~SpanPrinter() { std::puts("\n]"); }

  void Print(const pleat::TraceRecord& r) {
    using Step = pleat::TraceStep;
    switch (r.step) {
      case Step::kOpened: Event(r, 'b', r.key, r.at); return Event(r, 'b', "open", r.at);
      case Step::kClosed: return Next(r, "open", "waits", r.at);
      case Step::kLent: return Next(r, "waits", "lent", Instant(r));
      case Step::kNacked:
      case Step::kRanOut: return Next(r, "lent", "waits", Instant(r));
      case Step::kAcked: return End(r, "lent", Instant(r));
      case Step::kPopped: return End(r, "waits", r.at);
      case Step::kDead: return End(r, "waits", Instant(r));
      default: return;  // of folders with other options than this one
    }
  }

 private:
  // The two times of this program are one clock, as with a Driver.
  static pleat::EngineTime Instant(const pleat::TraceRecord& r) {
    return pleat::EngineTime(r.lease_at);
  }
  void Next(const pleat::TraceRecord& r, const char* ends, const char* begins,
            pleat::EngineTime at) {
    Event(r, 'e', ends, at);
    Event(r, 'b', begins, at);
  }
  void End(const pleat::TraceRecord& r, const char* ends, pleat::EngineTime at) {
    Event(r, 'e', ends, at);
    Event(r, 'e', r.key, at);
  }
  // Keys of this program need no escapes.
  void Event(const pleat::TraceRecord& r, char phase, std::string_view name, pleat::EngineTime at) {
    std::printf(
        "%s{\"ph\":\"%c\",\"cat\":\"%s\",\"id\":\"%u.%llu\",\"name\":\"%.*s\","
        "\"ts\":%lld,\"pid\":1,\"tid\":%u,\"args\":{\"step\":\"%s\",\"events\":%llu",
        first_ ? "[\n" : ",\n", phase, collection_.c_str(), r.partition,
        static_cast<unsigned long long>(r.group), static_cast<int>(name.size()), name.data(),
        static_cast<long long>(at.time_since_epoch().count()), r.partition,
        std::string(StepName(r.step)).c_str(), static_cast<unsigned long long>(r.count));
    if (r.emission) std::printf(",\"reason\":\"%s\"", std::string(ReasonName(r.reason)).c_str());
    if (r.deliveries > 0) std::printf(",\"delivery\":%u", r.deliveries);
    std::printf("}}");
    first_ = false;
  }

  const std::string collection_;
  bool first_ = true;
};

int main() {
  auto engine = *pleat::Engine::Open({.partitions = 1});
  pleat::Folder<Edit, Edits> edits(
      *engine, "edits", {.quiet_period = 5s, .max_wait = 1min, .measure = {.max_trace = 10'000}});
  pleat::TraceReader trace(edits);
  SpanPrinter printer(trace.collection());
  const auto observe = [&] {  // once a second in a service, on any thread
    trace.Read(1'000, [&](std::span<const pleat::TraceRecord> records) {
      for (const pleat::TraceRecord& record : records) printer.Print(record);
    });
  };
  const auto move_to = [&](pleat::Duration time) {
    engine->Advance(kBegin + time);
    while (!engine->AdvanceLeases(pleat::LeaseTime(kBegin + time), 100)) {
    }
    return pleat::LeaseTime(kBegin + time);
  };

  edits.Fold("Mars", {12}, kBegin);
  edits.Fold("Venus", {5}, kBegin + 1s);
  edits.Fold("Mars", {-3}, kBegin + 2s);
  for (auto& lease : edits.Lease(10, 3s, move_to(8s))) {
    if (lease.key == "Venus") lease.Ack();  // Mars: the consumer dies, and the lease runs out
  }
  observe();
  for (auto& lease : edits.Lease(10, 3s, move_to(12s))) lease.Ack();
  observe();
  if (trace.lost() > 0)
    std::fprintf(stderr, "read more often: %llu records were lost\n",
                 static_cast<unsigned long long>(trace.lost()));
}
