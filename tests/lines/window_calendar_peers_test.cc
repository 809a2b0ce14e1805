// Windows by the calendar held against Python's zones, around every change of the clock between 1970
// and 2037 in twelve zones.
//
// Python finds the changes, and when each day begins: the first instant at which the clock shows its
// midnight or later. Windows of days are runs of days with one label, such as the week.
#include <chrono>
#include <cstdint>
#include <sstream>
#include <string>

#include <gtest/gtest.h>

#include "engine/lines/time/time_rules.h"
#include "engine/lines/time/window_calendar.h"
#include "tests/support/subprocess.h"

namespace pleat {
namespace {

// Prints a line for each question: zone, offset, length (0 is a month), instant, start, end; all but
// the zone in seconds.
constexpr const char* kWindowsByPython = R"(
import bisect
from datetime import date, datetime, timedelta, timezone
from zoneinfo import ZoneInfo
EPOCH, HOUR, DAY = datetime(1970, 1, 1), 3600, 86400
ZONES = ['Europe/Amsterdam', 'America/New_York', 'America/St_Johns', 'America/Sao_Paulo', 'America/Havana',
         'Asia/Beirut', 'Asia/Tehran', 'Australia/Lord_Howe', 'Pacific/Apia', 'Africa/Casablanca',
         'Africa/Monrovia', 'Asia/Kathmandu']
LENGTHS = [HOUR, 6 * HOUR, 7 * HOUR, 90 * 60, DAY, 3 * DAY, 7 * DAY, 14 * DAY, 0]
OFFSETS = [0, 6 * HOUR, 2 * HOUR + 1800, DAY + HOUR]
def offset_at(zone, t):
    return int(datetime.fromtimestamp(t, timezone.utc).astimezone(zone).utcoffset().total_seconds())
def segments_of(zone):
    t, last = -90 * DAY, 68 * 365 * DAY + 200 * DAY
    out = [(t, offset_at(zone, t))]
    while t < last:
        next_t = t + 6 * HOUR
        if offset_at(zone, next_t) != out[-1][1]:
            low, high = t, next_t
            while high - low > 1:
                middle = (low + high) // 2
                if offset_at(zone, middle) == out[-1][1]: low = middle
                else: high = middle
            out.append((high, offset_at(zone, high)))
            next_t = high
        t = next_t
    return out
def begins(segments, reading):
    first = max(bisect.bisect_left(segments, (reading - 3 * DAY, 0)) - 1, 0)
    for i in range(first, len(segments)):
        start, offset = segments[i]
        end = segments[i + 1][0] if i + 1 < len(segments) else float('inf')
        if max(start, reading - offset) < end: return max(start, reading - offset)
def label_of(day, length):
    if length == 0: return (day.year, day.month)
    if length % (7 * DAY) == 0: return (day - date(1970, 1, 5)).days // (length // DAY)
    return (day - date(1970, 1, 1)).days // (length // DAY)
for name in ZONES:
    zone = ZoneInfo(name)
    segments = segments_of(zone)
    for offset in OFFSETS:
        days = [date(1969, 11, 10) + timedelta(days=i) for i in range(68 * 366)]
        starts = [begins(segments, (day - date(1970, 1, 1)).days * DAY + offset % DAY) for day in days]
        for change, _ in segments[1:]:
            if change < 0 or change > 67 * 365 * DAY: continue
            for at in (change - 26 * HOUR, change - 1, change, change + 1, change + 1800, change + 26 * HOUR):
                day = bisect.bisect_right(starts, at) - 1
                for length in LENGTHS:
                    if 0 < length < DAY:
                        start = at - (at - starts[day]) % length
                        end = min(start + length, starts[day + 1])
                    else:
                        label = lambda i: label_of(days[i] - timedelta(days=offset // DAY), length)
                        first = last = day
                        while label(first - 1) == label(day): first -= 1
                        while label(last) == label(day): last += 1
                        start, end = starts[first], starts[last]
                    print(name, offset, length, at, start, end)
)";

TEST(WindowCalendarPeers, AgreesWithPythonAroundEveryChangeOfTheClock) {
  const Finished python = RunToEnd({"/usr/bin/python3", "-c", kWindowsByPython}, "");
  ASSERT_EQ(python.code, 0) << python.err;
  std::istringstream lines(python.out);
  std::string zone;
  int64_t offset = 0;
  int64_t length = 0;
  int64_t at = 0;
  int64_t start = 0;
  int64_t end = 0;
  size_t questions = 0;
  size_t wrong = 0;
  using std::chrono::seconds;
  while (lines >> zone >> offset >> length >> at >> start >> end) {
    ++questions;
    const WindowCalendar calendar(*ParseTimeZone(zone), seconds(offset));
    const auto [ours, until] =
        calendar.Around(EngineTime(seconds(at)), length == 0 ? kMonth : Duration(seconds(length)));
    if (ours == EngineTime(seconds(start)) && until == EngineTime(seconds(end))) continue;
    if (++wrong > 10) continue;
    ADD_FAILURE() << zone << " offset " << offset << " length " << length << " at " << at << ": "
                  << std::chrono::floor<seconds>(ours.time_since_epoch()).count() << " to "
                  << std::chrono::floor<seconds>(until.time_since_epoch()).count() << ", Python "
                  << start << " to " << end;
  }
  EXPECT_EQ(wrong, 0U) << "of " << questions;
  EXPECT_GT(questions, 100'000U);
}

}  // namespace
}  // namespace pleat
