// Event times held against Python's readers: its zones, its RFC 2822, its strptime.
//
// The texts are drawn here and given to one run of Python, a line each: how it is read, a zone or a
// format, the text. Python answers with the microseconds since 1970, or "invalid".
#include <cstdint>
#include <cstdio>
#include <random>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "engine/lines/time/time_reader.h"
#include "tests/support/subprocess.h"

namespace pleat {
namespace {

constexpr const char* kReadByPython = R"(
import sys, re
from datetime import datetime, timedelta, timezone
from email.utils import parsedate_to_datetime
from zoneinfo import ZoneInfo
epoch = datetime(1970, 1, 1, tzinfo=timezone.utc)
for line in sys.stdin:
    kind, how, text = (each.replace('\\n', '\n') for each in line.rstrip('\n').split('|'))
    try:
        if kind == 'zone':
            at = datetime.fromisoformat(text).replace(tzinfo=ZoneInfo(how))
        elif kind == 'mail':
            at = parsedate_to_datetime(text)
        else:
            # Python's %f takes six digits at most, and its letter for the digits is another one.
            at = datetime.strptime(text, how.replace('%E*f', '%f'))
            if at.tzinfo is None:
                at = at.replace(tzinfo=timezone.utc)
        print((at.astimezone(timezone.utc) - epoch) // timedelta(microseconds=1))
    except (ValueError, OverflowError):
        print('invalid')
)";

struct Question {
  std::string kind;
  std::string how;
  std::string text;
};

std::vector<std::string> AskPython(const std::vector<Question>& questions) {
  std::string input;
  for (const Question& q : questions) {
    const std::string line = q.kind + "|" + q.how + "|" + q.text;
    for (const char c : line) input += c == '\n' ? "\\n" : std::string(1, c);
    input += '\n';
  }
  const Finished python = RunToEnd({"/usr/bin/python3", "-c", kReadByPython}, input);
  EXPECT_EQ(python.code, 0) << python.err;
  std::vector<std::string> answers;
  std::istringstream lines(python.out);
  for (std::string line; std::getline(lines, line);) answers.push_back(line);
  EXPECT_EQ(answers.size(), questions.size());
  return answers;
}

std::string AskPleat(const Question& q) {
  const bool by_format = q.kind == "format";
  const TimeRules rules = TimeRulesFor(q.kind == "zone" ? q.how : "", by_format ? q.how : "");
  TimeReader reader(rules);
  EngineTime at;
  const bool good =
      reader.ReadUsual(q.text, at) || reader.ReadEarliest(q.text, at) == TimeRead::kTime;
  return good ? std::to_string(at.time_since_epoch().count()) : "invalid";
}

// How many were times.
int ExpectAgreement(const std::vector<Question>& questions) {
  const std::vector<std::string> answers = AskPython(questions);
  int times = 0;
  for (size_t i = 0; i < answers.size() && !testing::Test::HasFailure(); ++i) {
    EXPECT_EQ(AskPleat(questions[i]), answers[i])
        << questions[i].kind << ' ' << questions[i].how << ' ' << questions[i].text;
    times += answers[i] != "invalid" ? 1 : 0;
  }
  return times;
}

class Draw {
 public:
  explicit Draw(uint64_t seed) : random_(seed) {}

  int Number(int low, int high) { return low + static_cast<int>(random_() % (high - low + 1)); }
  const std::string& One(const std::vector<std::string>& of) { return of[random_() % of.size()]; }

 private:
  std::mt19937_64 random_;
};

template <class... Numbers>
std::string Print(const char* form, Numbers... numbers) {
  char out[100];
  std::snprintf(out, sizeof out, form, numbers...);
  return out;
}

class TimePeers : public testing::Test {
 protected:
  const uint64_t seed_ = std::random_device()();
  const testing::ScopedTrace trace_{__FILE__, __LINE__, "seed " + std::to_string(seed_)};
  Draw draw_{seed_};
};

// Half of the times lie within hours of a change of some clock.
TEST_F(TimePeers, ZonesAreThoseOfPython) {
  const std::pair<const char*, const char*> changes[] = {
      {"Europe/Berlin", "2015-03-29"},       {"Europe/Berlin", "2015-10-25"},
      {"America/New_York", "2015-03-08"},    {"America/New_York", "2015-11-01"},
      {"Australia/Lord_Howe", "2015-04-05"}, {"Australia/Lord_Howe", "2015-10-04"},
      {"Pacific/Apia", "2011-12-30"},        {"Asia/Pyongyang", "2015-08-15"},
      {"Africa/Casablanca", "2023-03-19"},   {"Africa/Casablanca", "2023-04-23"},
      {"Europe/Dublin", "2040-10-28"},       {"America/Sao_Paulo", "2018-11-04"},
      {"Asia/Kathmandu", "1986-01-01"},      {"Europe/London", "1968-10-27"}};
  const std::vector<std::string> zones = {
      "Europe/Berlin", "America/New_York",  "Asia/Tokyo",    "Australia/Lord_Howe", "Pacific/Apia",
      "Asia/Kolkata",  "Africa/Casablanca", "Europe/Dublin", "America/St_Johns",    "UTC",
      "Etc/GMT+5",     "Asia/Tehran",       "Europe/Moscow", "America/Caracas"};
  std::vector<Question> questions;
  for (int i = 0; i < 20'000; ++i) {
    const std::string time_of_day =
        Print("%02d:%02d:%02d.%06d", draw_.Number(0, 23), draw_.Number(0, 59), draw_.Number(0, 59),
              draw_.Number(0, 999'999));
    if (i % 2 == 0) {
      const auto& [zone, day] = changes[static_cast<size_t>(i) / 2 % std::size(changes)];
      std::string at_night = time_of_day;
      at_night[0] = '0';
      at_night[1] = static_cast<char>('0' + draw_.Number(0, 3));
      questions.push_back({"zone", zone, std::string(day) + " " + at_night});
    } else {
      std::string date =
          Print("%04d-%02d-%02d",
                draw_.Number(0, 3) == 0 ? draw_.Number(1, 9999) : draw_.Number(1900, 2100),
                draw_.Number(1, 12), draw_.Number(1, 28));
      date += "T" + time_of_day;
      questions.push_back({"zone", draw_.One(zones), date});
    }
  }
  // Python refuses what leaves its years in UTC, as pleat does.
  EXPECT_GT(ExpectAgreement(questions), 19'000);
}

TEST_F(TimePeers, MailIsReadAsPythonReadsIt) {
  const std::vector<std::string> months = {"Jan", "Feb", "Mar", "Apr", "May", "Jun",
                                           "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"};
  const std::vector<std::string> zones = {" +0100", " -0530", " GMT", " +0000 (UTC)",
                                          " -1200 (x y)"};
  std::vector<Question> questions;
  questions.reserve(10'000);
  for (int i = 0; i < 10'000; ++i) {
    questions.push_back({"mail", "",
                         std::to_string(draw_.Number(1, 31)) + " " + draw_.One(months) + " " +
                             std::to_string(draw_.Number(1900, 2100)) +
                             Print(" %02d:%02d:%02d", draw_.Number(0, 23), draw_.Number(0, 59),
                                   draw_.Number(0, 59)) +
                             draw_.One(zones)});
  }
  EXPECT_GT(ExpectAgreement(questions), 9'000);
}

TEST_F(TimePeers, LettersMeanWhatTheyMeanInPython) {
  const std::vector<std::string> dates = {"%Y-%m-%d", "%d.%m.%Y", "%d/%b/%Y",    "%B %d %Y",
                                          "%m/%d/%y", "%Y%m%d",   "%a %d %b %Y", "%A %d %h %y"};
  const std::vector<std::string> times = {"",          " %H:%M:%S",      "T%H%M%S",
                                          " %I:%M %p", " %H:%M:%S.%E*f", " %H:%M:%S %z"};
  const std::vector<std::string> months = {"January",   "February", "March",    "April",
                                           "May",       "June",     "July",     "August",
                                           "September", "October",  "November", "December"};
  const std::vector<std::string> days = {"Sunday",   "Monday", "Tuesday", "Wednesday",
                                         "Thursday", "Friday", "Saturday"};
  std::vector<Question> questions;
  for (int i = 0; i < 20'000; ++i) {
    const std::string format = draw_.One(dates) + draw_.One(times);
    const int month = draw_.Number(1, 12);
    const int year = draw_.Number(1900, 2100);
    const std::string& month_name = months[static_cast<size_t>(month) - 1];
    const std::string& day_name = draw_.One(days);
    const std::pair<char, std::string> values[] = {
        {'Y', std::to_string(year)},
        {'y', Print("%02d", year % 100)},
        {'m', Print("%02d", month)},
        {'d', Print("%02d", draw_.Number(1, 31))},
        {'b', month_name.substr(0, 3)},
        {'h', month_name.substr(0, 3)},
        {'B', month_name},
        {'a', day_name.substr(0, 3)},
        {'A', day_name},
        {'H', Print("%02d", draw_.Number(0, 24))},
        {'I', Print("%02d", draw_.Number(0, 13))},
        {'p', draw_.Number(0, 1) == 0 ? "AM" : "pm"},
        {'M', Print("%02d", draw_.Number(0, 60))},
        {'S', Print("%02d", draw_.Number(0, 59))},
        {'E', std::to_string(draw_.Number(0, 999'999))},
        {'z', draw_.Number(0, 1) == 0 ? "+0530" : "-01:00"}};
    std::string text;
    for (size_t at = 0; at < format.size(); ++at) {
      if (format[at] != '%') {
        text += format[at];
        continue;
      }
      const char letter = format[++at];
      for (const auto& [name, value] : values) {
        if (name == letter) text += value;
      }
      if (letter == 'E') at += 2;
    }
    std::string for_python = format;
    if (const size_t h = format.find("%h"); h != std::string::npos) for_python[h + 1] = 'b';
    ASSERT_TRUE(CheckTimeFormat(format).ok()) << format;
    questions.push_back({"format", for_python, text});
  }
  EXPECT_GT(ExpectAgreement(questions), 15'000);
}

// Times around every change of twelve clocks between 1970 and 2037, a line each: the zone, the time, the
// newest stamp before it, and the instant of its two that is nearest to that; and the same with the letters
// of the zone, which say the instant by themselves.
constexpr const char* kChangesByPython = R"(
from datetime import datetime, timedelta, timezone
from zoneinfo import ZoneInfo
UTC, epoch, quarter = timezone.utc, datetime(1970, 1, 1, tzinfo=timezone.utc), timedelta(minutes=15)
def micros(at): return (at - epoch) // timedelta(microseconds=1)
for name in ['Europe/Berlin', 'America/New_York', 'Australia/Lord_Howe', 'Europe/London', 'America/Sao_Paulo',
             'Africa/Casablanca', 'Asia/Tehran', 'Europe/Moscow', 'America/Caracas', 'Pacific/Apia',
             'Africa/Monrovia', 'America/St_Johns']:
    zone = ZoneInfo(name)
    def offset(at): return at.astimezone(zone).utcoffset()
    day = epoch
    while day < datetime(2038, 1, 1, tzinfo=UTC):
        low, high = day, day + timedelta(days=7)
        day = high
        if offset(low) == offset(high): continue
        while high - low > timedelta(seconds=1):
            middle = low + (high - low) // 2
            middle = middle.replace(microsecond=0)
            if middle in (low, high): break
            if offset(middle) == offset(low): low = middle
            else: high = middle
        for i in range(-10, 11):
            shown = (low.astimezone(zone).replace(tzinfo=None) + i * quarter)
            first, second = (shown.replace(tzinfo=zone, fold=f).astimezone(UTC) for f in (0, 1))
            is_shown = first.astimezone(zone).replace(tzinfo=None) == shown
            meanings = sorted({first, second}) if is_shown else [first]
            for newest in (first - quarter, second + quarter, second - timedelta(days=200)):
                nearest = min(meanings, key=lambda at: (abs(at - newest), at))
                print(name, shown, micros(newest), micros(nearest), sep='|')
            if not is_shown: continue
            names = [shown.replace(tzinfo=zone, fold=f).tzname() for f in (0, 1)]
            if len(meanings) == 2 and names[0] == names[1]: continue
            for f, at in enumerate((first, second)):
                if names[f].isalpha(): print(name, str(shown) + ' ' + names[f], 0, micros(at), sep='|')
)";

TEST_F(TimePeers, OpenTimesAndLettersAreThoseOfPythonAroundEveryChange) {
  const Finished python = RunToEnd({"/usr/bin/python3", "-c", kChangesByPython});
  ASSERT_EQ(python.code, 0) << python.err;
  std::istringstream lines(python.out);
  int times = 0;
  int open = 0;
  std::string name, text, newest, expected;
  while (std::getline(lines, name, '|') && std::getline(lines, text, '|') &&
         std::getline(lines, newest, '|') && std::getline(lines, expected)) {
    const TimeRules rules = TimeRulesFor(name, "");
    TimeReader reader(rules);
    EngineTime at;
    const TimeRead read = reader.ReadOther(text, at);
    ASSERT_TRUE(read == TimeRead::kTime || read == TimeRead::kOpen) << name << ' ' << text;
    if (read == TimeRead::kOpen) at = *reader.Nearest(EngineTime(Duration(std::stoll(newest))));
    ASSERT_EQ(std::to_string(at.time_since_epoch().count()), expected)
        << name << ' ' << text << " behind " << newest;
    ++times;
    open += read == TimeRead::kOpen ? 1 : 0;
  }
  EXPECT_GT(times, 50'000);
  EXPECT_GT(open, 3'000);
}

// Python asks for at least one, where absl does for none.
TEST_F(TimePeers, WhiteSpaceStandsForAnyWhiteSpaceAsInPython) {
  const std::vector<std::string> spaces = {" ", "\t", "\n", "  ", " \n\t "};
  const std::vector<std::string> in_formats = {" ", "\t", "\n", " \t"};
  std::vector<Question> questions;
  for (int i = 0; i < 2'000; ++i) {
    const std::string between = draw_.One(in_formats);
    const std::string format = "%d" + between + "%b" + between + "%Y" + between + "%H:%M";
    const std::string text = Print("%02d", draw_.Number(1, 28)) + draw_.One(spaces) + "Feb" +
                             draw_.One(spaces) + std::to_string(draw_.Number(1900, 2100)) +
                             draw_.One(spaces) + Print("%02d:%02d", draw_.Number(0, 23), 7);
    questions.push_back({"format", format, text});
  }
  EXPECT_EQ(ExpectAgreement(questions), 2'000);
}

}  // namespace
}  // namespace pleat
