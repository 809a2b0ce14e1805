// The Analyzer: a table of keys, and for each the ranges of points (quiet periods of the grid) that
// are in one group each.
//
// In the usual case, stamps in order and no max wait, the latest stamp of a key is that of all its
// groups, and its ranges get older from the shortest point to the longest: an event closes those up
// to its gap, which are a prefix, and the rest is not even looked at. Else all ranges are gone
// through, each with a latest stamp of its own.
#include <algorithm>
#include <array>
#include <bit>
#include <utility>

#include <pleat/analysis.h>
#include <pleat/untyped/any_folder.h>

#include "engine/base/check.h"
#include "engine/base/page_pool.h"
#include "engine/table/key_arena.h"
#include "engine/table/key_index.h"
#include "engine/table/packed_key.h"
#include "engine/table/slab.h"
#include "engine/what_if/ladder.h"
#include "engine/what_if/open_count.h"
#include "engine/what_if/span_counts.h"
#include "engine/what_if/top_bursts.h"

namespace pleat::inline v0_1 {
namespace {

constexpr Duration kAllOfTime = kEndOfTime - kBeginningOfTime;

// The points up to `end`, from the end of the range before, are in one group.
struct Range {
  EngineTime opened;
  EngineTime last;       // its latest stamp, if the key's are apart; else that of the key
  uint32_t first_event;  // which of the key's, as it counts them
  uint32_t next;         // of longer quiet periods
  uint32_t end;
};

struct Key {
  PackedKey key;
  EngineTime last;  // the latest stamp
  uint32_t events;  // the low half; no group is that large
  uint32_t hash;
  Range shortest;
  bool apart;  // its ranges do not all have that latest stamp
};
constexpr uint32_t kNoRange = UINT32_MAX;
static_assert(sizeof(Range) == 32 && sizeof(Key) == 80);

std::vector<Duration> PointsOf(const AnalyzerOptions& options) {
  if (!options.grid.empty()) return options.grid;
  const auto ladder = QuietLadder();
  return {ladder.begin(), ladder.end()};
}

}  // namespace

class [[gnu::visibility("hidden")]] Analyzer::Impl {
 public:
  explicit Impl(AnalyzerOptions options);
  ~Impl() {
    keys_.ForEach([this](uint32_t number) { arena_.Release(key(number).key); });
  }
  Impl(const Impl&) = delete;
  Impl& operator=(const Impl&) = delete;

  bool Add(std::string_view key, EngineTime at);
  void Advance(EngineTime now) noexcept {
    now_ = std::max(now_, now);
    open_.MoveTo(now_);
  }
  std::unique_ptr<const Analysis> Finish();

  EngineTime now() const noexcept { return now_; }
  uint64_t events() const noexcept { return events_; }
  uint64_t left_out() const noexcept { return left_out_; }
  uint64_t keys() const noexcept { return index_.size(); }
  size_t bytes() const noexcept {
    return fixed_bytes_ + key_bytes_ + ranges_in_use_ * sizeof(Range);
  }

 private:
  // The points from `begin` to before `end` of a key, in one group.
  struct Part {
    size_t begin;
    size_t end;
    EngineTime opened;
    EngineTime last;
    uint32_t first_event;
  };
  static Range RangeFrom(const Part& part, uint32_t next) noexcept {
    return {part.opened, part.last, part.first_event, next, static_cast<uint32_t>(part.end)};
  }

  const Key& key(uint32_t number) const noexcept {
    return *reinterpret_cast<const Key*>(keys_.hot(number));
  }
  Key& key(uint32_t number) noexcept { return *reinterpret_cast<Key*>(keys_.hot(number)); }
  const Range& range(uint32_t number) const noexcept {
    return *reinterpret_cast<const Range*>(ranges_.hot(number));
  }
  Range& range(uint32_t number) noexcept { return *reinterpret_cast<Range*>(ranges_.hot(number)); }
  uint32_t Find(const PackedKey& packed, uint64_t hash) const {
    return index_.Find(hash, [&](uint32_t number) { return key(number).key == packed; });
  }

  bool MayGrow(uint32_t number, EngineTime at) const;
  void AddKey(const PackedKey& packed, uint64_t hash, EngineTime at);
  void AddEvent(uint32_t number, EngineTime at);
  void StartOver(uint32_t number, size_t points, EngineTime at);
  void GoThroughRanges(uint32_t number, EngineTime at);
  void SetRanges(Key& key, bool apart);
  void CountOpened(size_t begin, size_t end) noexcept { ++opened_[begin], --opened_[end]; }
  void Close(uint32_t number, const Part& part);
  uint32_t NewRange(const Range& content);
  uint32_t FreeRange(uint32_t number);
  size_t PointsUpTo(Duration gap) const noexcept;
  AnalysisRow RowOf(size_t point, uint64_t groups, double seconds) const;
  std::vector<Burst> Named(const std::vector<TopBursts::Seen>& bursts) const;

  // A point closes its group if time is this far past its latest stamp, or more.
  Duration GapFrom(EngineTime last) const noexcept {
    return now_ == kEndOfTime ? kAllOfTime : now_ - last;  // at the end of time all is due
  }

  const AnalyzerOptions options_;
  const std::vector<Duration> points_;
  const bool has_hold_;
  const HashKey hash_key_ = RandomHashKey();
  std::array<uint8_t, 65> points_below_{};  // those shorter than each power of two, in microseconds

  PagePool pool_;
  KeyIndex index_{pool_};
  Slab<> keys_{pool_, sizeof(Key)};
  Slab<> ranges_{pool_, sizeof(Range)};
  KeyArena arena_{pool_};

  OpenCount open_{points_};
  SpanCounts spans_{points_.size()};
  TopBursts biggest_{points_.size()};
  TopBursts longest_{points_.size()};
  std::vector<int64_t> opened_;  // groups, as steps from point to point
  GapHistogram gaps_;
  std::vector<Part> parts_;  // scratch

  EngineTime now_ = kBeginningOfTime;  // the watermark
  EngineTime first_ = kEndOfTime;
  EngineTime last_ = kBeginningOfTime;
  uint64_t events_ = 0;
  uint64_t left_out_ = 0;
  uint64_t out_of_order_ = 0;
  size_t key_bytes_ = 0;
  size_t ranges_in_use_ = 0;
  size_t bytes_peak_ = 0;
  size_t fixed_bytes_;
};

Analyzer::Impl::Impl(AnalyzerOptions options)
    : options_(std::move(options)),
      points_(PointsOf(options_)),
      has_hold_(options_.max_wait != kForever),
      opened_(points_.size() + 1),
      fixed_bytes_(sizeof(Impl) + spans_.bytes() + PagePool::kExtentBytes) {
  PLEAT_CHECK(Validate(options_).ok());
  for (size_t bits = 0; bits < points_below_.size(); ++bits) {
    points_below_[bits] = static_cast<uint8_t>(std::ranges::count_if(points_, [&](Duration point) {
      return static_cast<size_t>(std::bit_width(static_cast<uint64_t>(point.count()))) < bits;
    }));
  }
}

// How many points are no longer than `gap`.
size_t Analyzer::Impl::PointsUpTo(Duration gap) const noexcept {
  if (gap < points_.front()) return 0;
  size_t count =
      points_below_[static_cast<size_t>(std::bit_width(static_cast<uint64_t>(gap.count())))];
  while (count < points_.size() && points_[count] <= gap) ++count;
  return count;
}

bool Analyzer::Impl::Add(std::string_view key, EngineTime at) {
  at = Clamp(at);
  const PackedKey packed(key);
  const uint64_t hash = packed.HashWith(hash_key_);
  const uint32_t number = Find(packed, hash);
  const bool full = bytes() >= options_.max_bytes;
  if (key.size() > kKeyBytesMax || (full && MayGrow(number, at))) {
    ++left_out_;
    return false;
  }
  out_of_order_ += static_cast<uint64_t>(at < last_);
  ++events_;
  first_ = std::min(first_, at);
  last_ = std::max(last_, at);
  Advance(SaturatingSub(at, options_.watermark_delay));
  if (number == KeyIndex::kNone) {
    AddKey(packed, hash, at);
  } else {
    AddEvent(number, at);
  }
  return true;
}

// Whether an event of the key with this number would take more memory.
bool Analyzer::Impl::MayGrow(uint32_t number, EngineTime at) const {
  if (number == KeyIndex::kNone) return true;
  const Key& key = this->key(number);
  const EngineTime now = std::max(now_, SaturatingSub(at, options_.watermark_delay));
  const size_t closed = now == kEndOfTime ? points_.size() : PointsUpTo(now - key.last);
  if (has_hold_ || key.apart) return true;
  return closed > 0 && (at < key.last || closed < key.shortest.end);
}

void Analyzer::Impl::AddKey(const PackedKey& packed, uint64_t hash, EngineTime at) {
  constexpr size_t kIndexBytes = 14;  // its share of the index, between splits
  constexpr size_t kStampBytes = 64;  // and of the queue of stamps, at most
  const uint32_t number = keys_.Allocate();
  ::new (keys_.hot(number)) Key{.key = arena_.Keep(packed),
                                .last = at,
                                .events = 1,
                                .hash = static_cast<uint32_t>(hash),
                                .shortest = RangeFrom({0, points_.size(), at, at, 0}, kNoRange),
                                .apart = false};
  index_.Insert(hash, number, [this](uint32_t n) { return key(n).hash; });
  key_bytes_ += sizeof(Key) + kIndexBytes + kStampBytes + KeyArena::BytesFor(packed);
  CountOpened(0, points_.size());
  open_.Add(at);
  bytes_peak_ = std::max(bytes_peak_, bytes());
}

void Analyzer::Impl::AddEvent(uint32_t number, EngineTime at) {
  Key& key = this->key(number);
  const Duration gap = GapFrom(key.last);
  gaps_.Add(static_cast<uint64_t>(std::max(gap, Duration::zero()).count()));
  const size_t closed = PointsUpTo(gap);
  const bool in_order = at >= key.last;
  if (!has_hold_ && !key.apart && (in_order || closed == 0)) {
    if (closed > 0) StartOver(number, closed, at);
  } else {
    GoThroughRanges(number, at);
  }
  ++key.events;
  if (in_order) {
    open_.Move(key.last, at);
    key.last = at;
  }
}

// The points before `points` begin a group with this event.
void Analyzer::Impl::StartOver(uint32_t number, size_t points, EngineTime at) {
  Key& key = this->key(number);
  Range& shortest = key.shortest;
  uint32_t longer = kNoRange;
  for (size_t begin = 0;; begin = shortest.end, shortest = range(longer), FreeRange(longer)) {
    const size_t end = std::min<size_t>(shortest.end, points);
    Close(number, {begin, end, shortest.opened, key.last, shortest.first_event});
    longer = shortest.end > points ? NewRange(shortest) : shortest.next;
    if (shortest.end >= points) break;
  }
  shortest = RangeFrom({0, points, at, at, key.events}, longer);
  CountOpened(0, points);
}

// The same for a key whose ranges have nothing in common.
void Analyzer::Impl::GoThroughRanges(uint32_t number, EngineTime at) {
  Key& key = this->key(number);
  parts_.clear();
  const auto add_new = [&](size_t begin, size_t end) {
    if (begin == end) return;
    if (!parts_.empty() && parts_.back().first_event == key.events) {
      parts_.back().end = end;
    } else {
      parts_.push_back({begin, end, at, at, key.events});
    }
    CountOpened(begin, end);
  };
  size_t begin = 0;
  for (const Range* r = &key.shortest;; r = &range(r->next)) {
    const EngineTime last = key.apart ? r->last : key.last;
    const bool held_out = has_hold_ && now_ >= SaturatingAdd(r->opened, options_.max_wait);
    const size_t closed =
        held_out ? r->end : std::clamp<size_t>(PointsUpTo(GapFrom(last)), begin, r->end);
    if (closed > begin) Close(number, {begin, closed, r->opened, last, r->first_event});
    add_new(begin, closed);
    if (closed < r->end)
      parts_.push_back({closed, r->end, r->opened, std::max(last, at), r->first_event});
    begin = r->end;
    if (r->next == kNoRange) break;
  }
  SetRanges(key, at < key.last);
}

// The findings of GoThroughRanges().
void Analyzer::Impl::SetRanges(Key& key, bool apart) {
  uint32_t spare = key.shortest.next;
  uint32_t next = kNoRange;
  for (size_t i = parts_.size(); i-- > 0;) {
    const Range content = RangeFrom(parts_[i], next);
    if (i == 0) {
      key.shortest = content;
    } else if (spare != kNoRange) {
      const uint32_t reused = spare;
      spare = range(reused).next;
      range(reused) = content;
      next = reused;
    } else {
      next = NewRange(content);
    }
  }
  while (spare != kNoRange) spare = FreeRange(spare);
  key.apart = apart;
}

uint32_t Analyzer::Impl::NewRange(const Range& content) {
  const uint32_t number = ranges_.Allocate();
  range(number) = content;
  ++ranges_in_use_;
  bytes_peak_ = std::max(bytes_peak_, bytes());
  return number;
}

// Returns the one behind.
uint32_t Analyzer::Impl::FreeRange(uint32_t number) {
  const uint32_t next = range(number).next;
  ranges_.Free(number);
  --ranges_in_use_;
  return next;
}

void Analyzer::Impl::Close(uint32_t number, const Part& part) {
  const uint32_t events = key(number).events - part.first_event;
  if (events < 2) return;
  // The event that opened a group may not be its earliest; then the group has no span.
  const Duration lasted = std::max(part.last - part.opened, Duration::zero());
  if (lasted > Duration::zero()) spans_.Add(lasted, part.begin, part.end);
  const TopBursts::Seen burst{events, events, part.opened, lasted, number};
  biggest_.Offer(burst, part.begin, part.end);
  TopBursts::Seen long_one = burst;
  long_one.measure = static_cast<uint64_t>(lasted.count());
  longest_.Offer(long_one, part.begin, part.end);
}

std::unique_ptr<const Analysis> Analyzer::Impl::Finish() {
  keys_.ForEach([this](uint32_t number) {
    const Key& key = this->key(number);
    size_t begin = 0;
    for (const Range* r = &key.shortest;; r = &range(r->next)) {
      Close(number, {begin, r->end, r->opened, key.apart ? r->last : key.last, r->first_event});
      begin = r->end;
      if (r->next == kNoRange) break;
    }
  });

  auto analysis = std::make_unique<Analysis>();
  analysis->events = events_;
  analysis->left_out = left_out_;
  analysis->keys = keys();
  analysis->out_of_order = out_of_order_;
  if (events_ > 0) {
    analysis->first = first_;
    analysis->last = last_;
  }
  analysis->gaps = gaps_;
  analysis->bytes = std::max(bytes_peak_, bytes());
  analysis->max_wait = options_.max_wait;

  std::vector<size_t> wanted;
  if (options_.grid.empty()) {
    wanted = RungsFor(points_, gaps_, analysis->span());
  } else {
    for (size_t point = 0; point < points_.size(); ++point) wanted.push_back(point);
  }
  const double seconds = std::chrono::duration<double>(analysis->span()).count();
  uint64_t groups = 0;
  size_t point = 0;
  for (const size_t want : wanted) {
    for (; point <= want; ++point) groups += static_cast<uint64_t>(opened_[point]);
    analysis->rows.push_back(RowOf(want, groups, seconds));
  }
  return analysis;
}

AnalysisRow Analyzer::Impl::RowOf(size_t point, uint64_t groups, double seconds) const {
  const auto share = [this](uint64_t part) {
    return events_ == 0 ? 0.0 : static_cast<double>(part) / static_cast<double>(events_);
  };
  const auto spans = std::make_unique<Histogram>(spans_.Of(point, groups));
  const auto delay_at = [&](double quantile) {
    const Duration span{static_cast<int64_t>(spans->ValueAt(quantile))};
    return groups == 0 ? Duration{0} : std::min(points_[point] + span, options_.max_wait);
  };
  AnalysisRow row;
  row.quiet_period = points_[point];
  row.folding_ratio = share(events_ - groups);
  row.emissions = groups;
  row.emissions_per_second = seconds > 0 ? static_cast<double>(groups) / seconds : 0;
  row.delay_p50 = delay_at(0.50);
  row.delay_p99 = delay_at(0.99);
  row.open_peak = open_.peak(point);
  row.biggest = Named(biggest_.Of(point));
  row.longest = Named(longest_.Of(point));
  return row;
}

std::vector<Burst> Analyzer::Impl::Named(const std::vector<TopBursts::Seen>& bursts) const {
  std::vector<Burst> named;
  named.reserve(bursts.size());
  for (const TopBursts::Seen& burst : bursts) {
    named.push_back(
        {std::string(key(burst.key).key.view()), burst.events, burst.opened, burst.lasted});
  }
  return named;
}

absl::Status Validate(const AnalyzerOptions& options) {
  const auto& grid = options.grid;
  if (!std::ranges::is_sorted(grid, std::ranges::less_equal{}))
    return absl::InvalidArgumentError("grid must ascend");
  if (!grid.empty() && (grid.front() <= Duration::zero() || grid.back() > kAllOfTime))
    return absl::InvalidArgumentError("grid must be above 0 and not infinite");
  if (grid.size() > kGridPointsMax)
    return absl::InvalidArgumentError("grid has more than " + std::to_string(kGridPointsMax) +
                                      " points");
  if (options.max_wait <= Duration::zero())
    return absl::InvalidArgumentError("max_wait must be above 0");
  if (options.watermark_delay < Duration::zero())
    return absl::InvalidArgumentError("watermark_delay must not be negative");
  return absl::OkStatus();
}

Analyzer::Analyzer(AnalyzerOptions options) : impl_(std::make_unique<Impl>(std::move(options))) {}
Analyzer::Analyzer(Analyzer&&) noexcept = default;
Analyzer& Analyzer::operator=(Analyzer&&) noexcept = default;
Analyzer::~Analyzer() = default;

bool Analyzer::Add(std::string_view key, EngineTime at) { return impl_->Add(key, at); }
void Analyzer::Advance(EngineTime now) noexcept { impl_->Advance(now); }
std::unique_ptr<const Analysis> Analyzer::Finish() && { return impl_->Finish(); }
EngineTime Analyzer::now() const noexcept { return impl_->now(); }
uint64_t Analyzer::events() const noexcept { return impl_->events(); }
uint64_t Analyzer::left_out() const noexcept { return impl_->left_out(); }
uint64_t Analyzer::keys() const noexcept { return impl_->keys(); }
size_t Analyzer::bytes() const noexcept { return impl_->bytes(); }

}  // namespace pleat::inline v0_1
