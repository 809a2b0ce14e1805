#include "engine/lines/reduce/joined_scalars.h"

#include <algorithm>

#include "engine/lines/reduce/short_text.h"
#include "engine/table/spelled_key.h"

namespace pleat::inline v0_1 {
namespace {

// Takes the first of some scalars joined by commas, and the comma behind it.
std::string_view TakeScalar(std::string_view& joined) {
  size_t end = 0;
  if (joined.starts_with('"')) {
    for (end = 1; joined[end] != '"'; ++end) {
      if (joined[end] == '\\') ++end;
    }
    ++end;
  } else {
    end = std::min(joined.find(','), joined.size());
  }
  const std::string_view scalar = joined.substr(0, end);
  joined.remove_prefix(std::min(end + 1, joined.size()));
  return scalar;
}

}  // namespace

void AppendScalars(std::span<const std::string> labels, std::string_view joined, LineWriter& out) {
  joined = SpelledKey::Of(joined).shown;
  if (labels.size() == 1) {
    char* const to = out.Reserve(labels[0].size() + joined.size());
    CopyText(to, labels[0].data(), labels[0].size());
    CopyText(to + labels[0].size(), joined.data(), joined.size());
    out.TakeUpTo(to + labels[0].size() + joined.size());
    return;
  }
  for (const std::string& label : labels) {
    if (&label != &labels.front()) out.Put(',');
    out.Put(label);
    out.Put(TakeScalar(joined));
  }
}

}  // namespace pleat::inline v0_1
