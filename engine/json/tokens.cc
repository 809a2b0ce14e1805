#include "engine/json/tokens.h"

#include <simdjson.h>

#include <algorithm>
#include <bit>

#include "engine/base/check.h"
#include "engine/json/reasons.h"

namespace pleat::inline v0_1 {
namespace {

constexpr size_t kCapacityMin = 64 * 1024;

std::string_view ReasonOf(simdjson::error_code error) {
  switch (error) {
    case simdjson::UTF8_ERROR: return bad_line::kNotUtf8;
    case simdjson::UNESCAPED_CHARS: return bad_line::kControl;
    case simdjson::UNCLOSED_STRING: return bad_line::kUnclosedString;
    default: return bad_line::kNotIndexed;
  }
}

}  // namespace

struct Tokenizer::Stage {
  std::unique_ptr<simdjson::internal::dom_parser_implementation> implementation;
};

Tokenizer::Tokenizer() : stage_(std::make_unique<Stage>()) { Reserve(kCapacityMin); }
Tokenizer::~Tokenizer() = default;

// Fails only for want of memory, which ends the process like any other such failure.
void Tokenizer::Reserve(size_t line_bytes) noexcept {
  capacity_ = std::bit_ceil(line_bytes);
  std::unique_ptr<simdjson::internal::dom_parser_implementation>& it = stage_->implementation;
  const simdjson::error_code error =
      it ? it->set_capacity(capacity_)
         : simdjson::get_active_implementation()->create_dom_parser_implementation(
               capacity_, /*max_depth=*/1, it);
  PLEAT_CHECK(error == simdjson::SUCCESS);
}

std::string_view Tokenizer::Index(std::string_view line) noexcept {
  if (line.size() > capacity_) Reserve(line.size());
  simdjson::internal::dom_parser_implementation& stage = *stage_->implementation;
  const simdjson::error_code error = stage.stage1(reinterpret_cast<const uint8_t*>(line.data()),
                                                  line.size(), simdjson::stage1_mode::regular);
  if (error != simdjson::SUCCESS) return ReasonOf(error);
  // The array has room behind the last token; simdjson keeps end marks of its own there.
  const size_t count = stage.n_structural_indexes;
  stage.structural_indexes[count] = static_cast<uint32_t>(line.size());
  tokens_ = {stage.structural_indexes.get(), count + 1};
  return {};
}

bool IsUtf8(std::string_view text) noexcept {
  return simdjson::validate_utf8(text.data(), text.size());
}

}  // namespace pleat::inline v0_1
