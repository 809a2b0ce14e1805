// The tokenizer over simdjson, and the only file of the libraries that includes it.
//
// simdjson works in two stages. The first finds the tokens and checks UTF-8, control characters and
// the ends of strings. The second, or On-Demand, reads values: On-Demand checks only the values
// that somebody asks for, and converts them. We need the opposite, every value checked and none
// converted, so this file runs the first stage by itself.
//
// That stage is marked "for internal implementation use". It has kept its form from 3.0 to 4.6. The
// checks that guard against a change are listed in tokens.h.
#include <simdjson.h>

#include <bit>
#include <string>

#include "engine/base/check.h"
#include "engine/lines/scan/reasons.h"
#include "engine/lines/scan/tokens.h"

namespace pleat::inline v0_1 {
namespace {

static_assert(simdjson::SIMDJSON_VERSION_MAJOR >= 3 && simdjson::SIMDJSON_VERSION_MAJOR < 5,
              "pleat was not tried with this version of simdjson");

constexpr size_t kCapacityMin = 64 * 1024;

std::string_view ReasonOf(simdjson::error_code error) {
  switch (error) {
    case simdjson::UTF8_ERROR: return invalid_line::kNotUtf8;
    case simdjson::UNESCAPED_CHARS: return invalid_line::kControl;
    case simdjson::UNCLOSED_STRING: return invalid_line::kUnclosedString;
    default: return invalid_line::kNotIndexed;
  }
}

class FastTokenizer final : public Tokenizer {
 public:
  FastTokenizer() { Reserve(kCapacityMin); }

  std::string_view Index(std::string_view text) noexcept override;

 private:
  void Reserve(size_t bytes) noexcept;

  std::unique_ptr<simdjson::internal::dom_parser_implementation> stage_;
  size_t capacity_ = 0;
};

// Fails only for lack of memory, which ends the process as any other such failure does.
void FastTokenizer::Reserve(size_t bytes) noexcept {
  capacity_ = std::bit_ceil(bytes);
  const simdjson::error_code error =
      stage_ ? stage_->set_capacity(capacity_)
             : simdjson::get_active_implementation()->create_dom_parser_implementation(
                   capacity_, /*max_depth=*/1, stage_);
  PLEAT_CHECK(error == simdjson::SUCCESS);
}

std::string_view FastTokenizer::Index(std::string_view text) noexcept {
  PLEAT_DCHECK(text.size() < UINT32_MAX);
  if (text.size() > capacity_) Reserve(text.size());
  const simdjson::error_code error = stage_->stage1(reinterpret_cast<const uint8_t*>(text.data()),
                                                    text.size(), simdjson::stage1_mode::regular);
  if (error != simdjson::SUCCESS) return ReasonOf(error);
  // The array has room behind the last token, where simdjson keeps end marks of its own.
  const size_t count = stage_->n_structural_indexes;
  stage_->structural_indexes[count] = static_cast<uint32_t>(text.size());
  tokens_ = {stage_->structural_indexes.get(), count + 1};
  return {};
}

// Stops the program if the simdjson that was loaded is not the one that this code was written for.
bool CheckOnce() {
  FastTokenizer tokenizer;
  const std::string_view surprise = CheckTokenizer(tokenizer);
  if (surprise.empty()) return true;
  Fail("the simdjson library is not fit for use: " + std::string(surprise) +
       "; configure pleat with -DPLEAT_PLAIN_TOKENIZER=ON");
}

// simdjson's kernel for machines without vector instructions lets a backslash at the end of a line
// escape the newline, and swallows quotes inside other tokens. So an invalid line would take its
// neighbours with it.
bool HasFitKernel() { return simdjson::get_active_implementation()->name() != "fallback"; }

}  // namespace

std::unique_ptr<Tokenizer> MakeFastTokenizer() {
  if (!HasFitKernel()) return nullptr;
  static const bool checked = CheckOnce();
  PLEAT_CHECK(checked);
  return std::make_unique<FastTokenizer>();
}

}  // namespace pleat::inline v0_1
