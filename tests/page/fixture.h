// Analyses to draw, made by counting: a log of bursts is drawn from a seed and folded once for each quiet period.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include <gtest/gtest.h>

#include "tools/pleat/analyze/recommendation.h"

namespace pleat::cli {

// What is to be folded: the stamps of each key, in order.
using Log = std::map<std::string, std::vector<EngineTime>>;

// Some 20,000 events of 100 keys over a day: bursts of seconds, pauses of minutes to hours, and a key
// that comes every 20 s.
Log BurstyLog(uint64_t seed);

// How many events come less than `quiet` after the one before them of their key.
uint64_t FoldedAt(const Log& log, Duration quiet);

// With a row for each of `grid`.
std::unique_ptr<Analysis> Analyze(const Log& log, const std::vector<Duration>& grid);

// 24 round quiet periods from a second to a day.
const std::vector<Duration>& RoundGrid();

// The bursty log, whose 13th row is recommended.
KeyAnalysis BurstyAnalysis(std::string key = "user");

// The same said to have a max wait, of which gaps do not tell.
KeyAnalysis HeldAnalysis();

// Of no events.
KeyAnalysis EmptyAnalysis();

// One with texts in it that would break out of a page if it let them.
KeyAnalysis HostileAnalysis();
const std::vector<std::string>& HostileTexts();

// Whether `text` has `part` in it. A failure does not print the whole page.
testing::AssertionResult Has(std::string_view text, std::string_view part);

}  // namespace pleat::cli
