// An engine with one JsonFolder, for tests that fold a few lines and look at what comes out.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include <gtest/gtest.h>
#include <pleat/json.h>

#include "tests/lines/lines.h"
#include "tests/support/words.h"

namespace pleat {

using Options = std::vector<std::pair<std::string, std::string>>;

// The options of a command line, such as "--key k --no-meta": one without a value is true.
inline Options OptionsIn(const std::string& text) {
  Options options;
  for (const std::string& word : WordsOf(text)) {
    if (word.starts_with("--")) {
      options.emplace_back(word.substr(2), "true");
    } else {
      options.back().second = word;
    }
  }
  return options;
}

// The spec of these options, of any kind.
template <class Spec>
Spec SpecFrom(const std::string& options) {
  Spec spec;
  for (const auto& [name, text] : OptionsIn(options)) {
    const absl::Status status = SetOption(spec, name, text);
    EXPECT_TRUE(status.ok()) << name << ": " << status.message();
  }
  return spec;
}

// The spec of these options; quiet is 1 m unless they say otherwise.
inline FoldSpec SpecOf(const Options& options) {
  FoldSpec spec;
  spec.folder.quiet_period = std::chrono::minutes(1);
  for (const auto& [name, text] : options) {
    const absl::Status status = SetOption(spec, name, text);
    EXPECT_TRUE(status.ok()) << name << ": " << status.message();
  }
  return spec;
}
inline FoldSpec SpecOf(const std::string& text) { return SpecOf(OptionsIn(text)); }

class JsonHarness {
 public:
  explicit JsonHarness(const FoldSpec& spec)
      : engine_(*Engine::Open(EngineOptionsFor(spec.event))),
        folder_(*JsonFolder::Open(*engine_, "lines", spec)) {}
  explicit JsonHarness(const std::string& options) : JsonHarness(SpecOf(options)) {}

  // The reason is a copy, and empty for a usable event.
  struct Answer {
    LineResult::Kind kind;
    FoldOutcome fold;
    std::string reason;
  };

  Answer Fold(std::string_view text, EngineTime arrival = FromUnix(Duration(0))) {
    const PaddedLine line(text);
    const LineResult result = folder_->FoldLine(line.view(), arrival);
    return {result.kind, result.fold, std::string(result.reason)};
  }

  std::string Pop(size_t max = SIZE_MAX) {
    std::string out;
    folder_->Pop(max, out);
    return out;
  }

  std::string CloseAndPop() {
    folder_->CloseAll();
    return Pop();
  }

  Engine& engine() { return *engine_; }
  JsonFolder& folder() { return *folder_; }

 private:
  std::unique_ptr<Engine> engine_;
  std::unique_ptr<JsonFolder> folder_;
};

}  // namespace pleat
