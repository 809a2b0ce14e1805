#include "engine/json/emission_line.h"

#include <algorithm>
#include <charconv>
#include <cstring>

namespace pleat::inline v0 {
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

// A buffer that is filled from the front; the caller knows that it is large enough.
struct Cursor {
  char* at;

  void Put(std::string_view text) noexcept {
    std::memcpy(at, text.data(), text.size());
    at += text.size();
  }
};

void AppendNames(std::string_view label, std::string_view names, LineWriter& out) {
  if (names.empty()) return;
  out.Put(label);
  out.Put(names);
  out.Put(']');
}

}  // namespace

void EmissionPrinter::Append(const ClosedGroup& group, LineWriter& out) {
  out.Put('{');
  AppendKey(group.key, out);
  caveats_.saturated.clear();
  caveats_.cut.clear();
  plan_.AppendMerges(group.state, out, caveats_);
  if (plan_.meta) AppendMeta(group, out);
  out.Put("}\n");
}

void EmissionPrinter::AppendKey(std::string_view key, LineWriter& out) const {
  for (const FoldPlan::Key& field : plan_.keys) {
    if (&field != &plan_.keys.front()) out.Put(',');
    out.Put(field.label);
    out.Put(plan_.keys.size() == 1 ? key : TakeScalar(key));
  }
}

// "_fold":{"count":4,"first":T,"last":T,"closed":T,"reason":"quiet"}
void EmissionPrinter::AppendMeta(const ClosedGroup& group, LineWriter& out) {
  constexpr size_t kBytesMax = 256;  // 68 of names, 20 of count, 3 x 27 of times, 10 of reason
  Cursor to{out.Reserve(kBytesMax)};
  const auto put_time = [&](std::string_view label, TimestampWriter& writer, EngineTime at) {
    to.Put(label);
    writer.Write(at, to.at);
    to.at += kTimestampBytes;
  };
  to.Put(",\"_fold\":{\"count\":");
  to.at = std::to_chars(to.at, to.at + 20, group.count).ptr;
  put_time(",\"first\":\"", first_times_, group.first);
  put_time("\",\"last\":\"", last_times_, group.last);
  put_time("\",\"closed\":\"", closed_times_, group.closed);
  to.Put("\",\"reason\":\"");
  to.Put(ReasonName(group.reason));
  to.Put("\"");
  out.TakeUpTo(to.at);
  AppendNames(",\"saturated\":[", caveats_.saturated, out);
  AppendNames(",\"cut\":[", caveats_.cut, out);
  out.Put('}');
}

}  // namespace pleat::inline v0
