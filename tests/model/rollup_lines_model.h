// The reference model of `pleat rollup` on event time, under naive JSON: all open windows of all
// keys in one map, in the order in which they end. What is due when a line comes is written before
// the line is judged. A longer window has the sums of the shortest ones inside of it, added up in
// the order in which those end. It shares no code with engine/lines and engine/rollup.
//
// Not modelled: input without --time, --idle, limits on memory.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include <pleat/time.h>

#include "tests/model/plain_fields.h"
#include "tests/model/plain_number_sum.h"
#include "tests/model/plain_reorder.h"
#include "tests/support/plain_json.h"

namespace pleat::inline v0_1 {

struct RollupLinesOptions {
  std::vector<PlainField> key;
  PlainPath value;  // these two: empty means that there is none
  PlainPath id;
  PlainPath time;
  std::string time_unit;
  Duration reorder{0};
  Duration future_limit = kForever;
  std::vector<Duration> windows;
  Duration allowed_lateness{0};
  Duration margin{0};
  std::string on_late = "reject";
  size_t max_keys = SIZE_MAX;
  bool emission_id = false;
  bool drop_at_end = false;
};

class RollupLinesModel {
 public:
  explicit RollupLinesModel(const RollupLinesOptions& options) : options_(options) {
    if (options.reorder > Duration{0}) reorder_.emplace(options.reorder, options.future_limit);
  }

  // Appends the windows that are final by the line, and its correction, to `out`. False: the time
  // is a number without a unit.
  bool AddLine(std::string_view line, std::string& out);

  void EndLines(std::string& out);  // all lines have come
  std::string Open() const;         // the open windows, a line each
  void End(std::string& out);       // the end of the input
  std::string Stats() const;        // one JSON object, after End()

 private:
  struct Event {
    std::string key;  // as it is written
    std::string id;   // likewise; empty: it has none
    EngineTime at;
    std::string value;    // a number as it is written; empty: it adds nothing
    std::string content;  // equal for events that say the same
    bool mismatched = false;
  };
  struct Window {
    EngineTime start;
    uint64_t count = 0;
    PlainNumberSum sum = {};
  };
  // Its end, which of the lengths it has, the position of its first event, and its key.
  using Place = std::tuple<EngineTime, size_t, uint64_t, std::string>;
  using Name = std::tuple<std::string, size_t, EngineTime>;  // key, which length, start
  struct Remembered {
    EngineTime stamp;  // that it was counted with
    std::string content;
  };

  std::optional<Event> ReadEvent(const PlainJson& json);
  void Take(Event event, std::string& out);
  void TakeInTurn(std::vector<Event> events, std::string& out);
  void MoveTo(EngineTime now, std::string& out);
  void CloseDue(std::string& out);
  std::string Judge(Event& event, std::string& out);
  std::string JudgeLate(Event& event, std::string& out);
  bool HasRoom(const std::string& key) const;
  Duration KeptFor() const;
  void Add(const Event& event);
  void AddToLonger(const Place& place, const Window& shortest, std::map<Place, Window>& to) const;
  void Correct(const Event& event, std::string& out);

  // The open windows, with all that was added so far.
  std::map<Place, Window> OpenSoFar() const;

  EngineTime Before(Duration first, Duration second = Duration{0}) const;
  EngineTime StartOf(EngineTime at, size_t length) const;
  EngineTime EndOf(EngineTime start, size_t length) const;
  std::string Line(const std::string& key, const Window& window, EngineTime end,
                   const std::string& reason) const;
  void Emit(const Place& place, const Window& window, const std::string& reason, std::string& out);
  std::string TakeId();

  const RollupLinesOptions options_;
  std::map<Place, Window> open_;
  std::map<Name, Place> places_;            // of the open windows
  std::map<std::string, EngineTime> keys_;  // when the last window of each ends
  std::map<std::pair<std::string, std::string>, Remembered> ids_;
  std::map<Name, std::string> emitted_;  // the ids of final windows
  std::optional<EngineTime> now_;
  std::optional<PlainReorder<Event>> reorder_;  // with a bound of disorder
  uint64_t position_ = 0;
  uint64_t emissions_ = 0;
  bool no_unit_ = false;
  mutable std::map<std::string, uint64_t> counts_;
};

}  // namespace pleat::inline v0_1
