// A spec document. Claims:
//   - It is accepted or refused with a message of one line; a document that is refused as a whole sets
//     nothing that its options would not set one by one.
//   - The options of an accepted spec, written back as text, give the same spec again: set one by
//     one on an empty spec, and as a document.
//   - A spec that validates opens a folder, and one that does not is refused with the same words. The
//     folder folds a few lines, its ledger adds up, and what it prints is JSON.
//   - The same of the options of `pleat live` and a live set, and of those of `pleat rollup` and
//     a rollup counter.
#include <chrono>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <pleat/json_live_set.h>
#include <pleat/json_rollup.h>

#include "fuzz/target.h"
#include "tests/support/plain_json.h"

namespace pleat_fuzz {
namespace {

using pleat::FoldSpec;
using pleat::QuotePlainJson;
using std::chrono_literals::operator""s;

using Options = std::vector<std::pair<std::string, std::string>>;

// A little of everything that a path of a spec may lead to. Seeds and dictionary use these names.
constexpr const char* kLines[] = {
    R"({"k":"a","t":"2024-01-01T00:00:00Z","v":1,"id":"x1","s":"one"})",
    R"({"k":"a","t":"2024-01-01T00:00:01Z","v":2.5,"id":"x2","s":"two","end":true})",
    R"({"k":"b","t":"2024-01-01T00:00:02Z","v":{"a":1,"b":[1,2]},"id":"x3","q":"5s"})",
    R"({"k":"a","t":"2024-01-01T00:00:01Z","v":["p","q","p"],"id":"x2","start":true})",
    R"({"k":null,"t":"2024-01-01T00:01:00Z","v":"text","id":4,"rest":{"deep":[{}]}})",
    R"({"k":"a","t":1704067300,"v":-1e400,"id":"x5"})",
    R"({"k":"b","t":1704067400000,"v":18446744073709551616,"id":"x6"})",
    R"({"k":"a","t":"2024-01-02T00:00:00Z","v":true,"":0,"a":{"b":"c"}})",
    R"({"k":"a")",
};

std::string ValueOf(const std::vector<std::string>& texts) {
  if (texts.size() == 1) return QuotePlainJson(texts[0]);
  std::string array;
  for (const std::string& text : texts) array += (array.empty() ? "[" : ",") + QuotePlainJson(text);
  return array + "]";
}

// Options of one name are together, as the elements of an array.
std::string DocumentOf(const Options& options) {
  std::string document;
  for (size_t i = 0; i < options.size();) {
    const std::string& name = options[i].first;
    std::vector<std::string> texts;
    while (i < options.size() && options[i].first == name) texts.push_back(options[i++].second);
    document += (document.empty() ? "{" : ",") + QuotePlainJson(name) + ":" + ValueOf(texts);
  }
  return document.empty() ? "{}" : document + "}";
}

void ExpectRoundTrips(const FoldSpec& spec, std::string_view document) {
  const Options options = pleat::OptionsOf(spec);
  FoldSpec again;
  for (const auto& [name, text] : options) {
    FUZZ_EXPECT(pleat::SetOption(again, name, text).ok(), name + "=" + text);
  }
  FUZZ_EXPECT(pleat::OptionsOf(again) == options, document);
  const std::string written = DocumentOf(options);
  const absl::StatusOr<FoldSpec> parsed = pleat::ParseFoldSpec(written);
  FUZZ_EXPECT(parsed.ok(), written);
  FUZZ_EXPECT(pleat::OptionsOf(*parsed) == options, written);
  FUZZ_EXPECT_SAME(MessageOf(pleat::Validate(*parsed)), MessageOf(pleat::Validate(spec)), written);
}

// What ParseFoldSpec() does, in two steps.
void ExpectSameOptionByOption(const absl::StatusOr<FoldSpec>& parsed, std::string_view document) {
  FoldSpec spec;
  bool unknown = false;
  const absl::Status status =
      pleat::ForEachOption(document, [&](std::string_view name, std::string_view text) {
        const absl::Status set = pleat::SetOption(spec, name, text);
        unknown |= absl::IsNotFound(set);
        return set;
      });
  FUZZ_EXPECT(status.ok() == parsed.ok(), document);
  FUZZ_EXPECT_SAME(MessageOf(status), MessageOf(parsed.status()), document);
  FUZZ_EXPECT(unknown == absl::IsNotFound(status), document);
  if (parsed.ok()) FUZZ_EXPECT(pleat::OptionsOf(spec) == pleat::OptionsOf(*parsed), document);
}

void ExpectFolds(const FoldSpec& spec, std::string_view document) {
  pleat::EngineOptions options = pleat::EngineOptionsFor(spec.event);
  options.internals.hash_key = {1, 2};
  const absl::Status valid = pleat::Validate(spec);
  absl::StatusOr<std::unique_ptr<pleat::Engine>> engine = pleat::Engine::Open(options);
  if (!engine.ok()) {
    FUZZ_EXPECT(!valid.ok(), document);
    return ExpectRefusal(engine.status(), document);
  }
  const auto folder = pleat::JsonFolder::Open(**engine, "lines", spec);
  if (!valid.ok()) {
    ExpectRefusal(valid, document);
    return FUZZ_EXPECT_SAME(MessageOf(folder.status()), MessageOf(valid), document);
  }
  FUZZ_EXPECT(folder.ok(), MessageOf(folder.status()));

  std::string out;
  pleat::EngineTime arrival = pleat::FromUnix(1'704'067'200s);
  for (const char* line : kLines) {
    const PaddedText padded(line);
    (*folder)->FoldLine(padded.view(), arrival);
    FUZZ_EXPECT((*folder)->ledger().Balances(), document);
    arrival += 2s;
    if (spec.event.time.empty()) (*engine)->Advance(arrival);
    (*folder)->Pop(1, out);
  }
  (*folder)->CloseAll();
  (*folder)->Pop(SIZE_MAX, out);
  FUZZ_EXPECT((*folder)->ledger().Balances(), document);
  FUZZ_EXPECT((*folder)->sizes().open_groups == 0, document);
  for (const std::string_view line : LinesOf(out)) {
    const std::optional<pleat::PlainJson> plain = pleat::ParsePlainJson(line);
    FUZZ_EXPECT(plain && plain->kind == pleat::PlainJson::Kind::kObject, line);
    FUZZ_EXPECT_SAME(pleat::WritePlainJson(*plain), line, document);
  }
}

// All that comes out of a live set for kLines.
std::string LinesOfLiveSet(pleat::Engine& engine, pleat::JsonLiveSet& live_set, bool on_arrival) {
  std::string out;
  const auto append = [&out](std::string_view lines) { out += lines; };
  live_set.WatchChanges();
  pleat::EngineTime arrival = pleat::FromUnix(1'704'067'200s);
  for (const char* line : kLines) {
    const PaddedText padded(line);
    live_set.AddLine(padded.view(), arrival);
    FUZZ_EXPECT(live_set.ledger().Balances(), line);
    arrival += 2s;
    if (on_arrival) engine.Advance(arrival);
    FUZZ_EXPECT(live_set.TakeChanges(/*refreshes=*/true, append).ok(), line);
  }
  live_set.WriteCounts(engine.now(), {.top = 2, .within = {{"5s", 5s}}}, append);
  live_set.WriteLive(append);
  return out;
}

// All that comes out of a rollup for kLines.
std::string LinesOfRollup(pleat::Engine& engine, pleat::JsonRollup& rollup, bool on_arrival) {
  std::string out;
  const auto append = [&out](std::string_view lines) { out += lines; };
  pleat::EngineTime arrival = pleat::FromUnix(1'704'067'200s);
  for (const char* line : kLines) {
    const PaddedText padded(line);
    rollup.AddLine(padded.view(), arrival);
    FUZZ_EXPECT(rollup.ledger().Balances(), line);
    arrival += 2s;
    if (on_arrival) engine.Advance(arrival);
    rollup.Pop(1, append);
  }
  rollup.Scan(append);
  rollup.CloseAll();
  rollup.Pop(SIZE_MAX, append);
  FUZZ_EXPECT(rollup.sizes().open == 0, out);
  return out;
}

// The document as options of a Collection, whose spec is a Spec. `lines_of` gives all that comes
// out of one.
template <class Collection, class Spec>
void ExpectLines(std::string_view document,
                 std::string (&lines_of)(pleat::Engine&, Collection&, bool on_arrival)) {
  Spec spec;
  const absl::Status set =
      pleat::ForEachOption(document, [&](std::string_view name, std::string_view text) {
        return pleat::SetOption(spec, name, text);
      });
  if (!set.ok()) return;
  Spec again;
  for (const auto& [name, text] : pleat::OptionsOf(spec)) {
    FUZZ_EXPECT(pleat::SetOption(again, name, text).ok(), name + "=" + text);
  }
  FUZZ_EXPECT(pleat::OptionsOf(again) == pleat::OptionsOf(spec), document);

  const absl::Status valid = pleat::Validate(spec);
  if (!valid.ok()) return ExpectRefusal(valid, document);
  pleat::EngineOptions options = pleat::EngineOptionsFor(spec.event);
  options.internals.hash_key = {1, 2};
  const auto engine = pleat::Engine::Open(options);
  FUZZ_EXPECT(engine.ok(), MessageOf(engine.status()));
  const auto collection = Collection::Open(**engine, "lines", spec);
  FUZZ_EXPECT(collection.ok(), MessageOf(collection.status()));
  const std::string out = lines_of(**engine, **collection, spec.event.time.empty());
  for (const std::string_view line : LinesOf(out)) {
    const std::optional<pleat::PlainJson> plain = pleat::ParsePlainJson(line);
    FUZZ_EXPECT(plain && plain->kind == pleat::PlainJson::Kind::kObject, line);
    FUZZ_EXPECT_SAME(pleat::WritePlainJson(*plain), line, document);
  }
}

}  // namespace
}  // namespace pleat_fuzz

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace pleat_fuzz;
  const std::string_view document = TextOf(data, size);
  ExpectLines<pleat::JsonLiveSet, pleat::LiveSetSpec>(document, LinesOfLiveSet);
  ExpectLines<pleat::JsonRollup, pleat::RollupSpec>(document, LinesOfRollup);
  const absl::StatusOr<FoldSpec> spec = pleat::ParseFoldSpec(document);
  ExpectSameOptionByOption(spec, document);
  if (!spec.ok()) {
    ExpectRefusal(spec.status(), document);
    return 0;
  }
  ExpectRoundTrips(*spec, document);
  ExpectFolds(*spec, document);
  return 0;
}
