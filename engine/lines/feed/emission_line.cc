#include "engine/lines/feed/emission_line.h"

#include <charconv>
#include <cstdint>
#include <cstring>

#include "engine/lines/reduce/joined_scalars.h"
#include "engine/lines/reduce/short_text.h"

namespace pleat::inline v0_1 {
namespace {

// A buffer that is filled from the front; the caller knows that it is large enough.
struct Cursor {
  char* at;

  void Put(std::string_view text) noexcept {
    CopyText(at, text.data(), text.size());
    at += text.size();
  }
  void Put(uint64_t number) noexcept {
    if (number < 10) {
      *at++ = static_cast<char>('0' + number);
    } else {
      at = std::to_chars(at, at + 20, number).ptr;
    }
  }
  // "P-G"
  void Put(const EmissionId& id) noexcept {
    Put("\"");
    Put(uint64_t{id.partition});
    Put("-");
    Put(id.generation);
    Put("\"");
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
  const size_t begin = out.size();
  AppendMembers(group.key, group.state, out);
  if (plan_.meta) {
    AppendMeta(group, group.closed, ReasonName(group.reason), out, [&](char* at) {
      const bool corrects = group.reason == Reason::kCorrection;
      if (!plan_.revisions && !plan_.emission_ids && !corrects) return at;  // nearly always
      Cursor to{at};
      if (plan_.revisions) {
        to.Put(group.partial ? ",\"partial\":true,\"revision\":"
                             : ",\"partial\":false,\"revision\":");
        to.Put(uint64_t{group.revision});
      }
      if (corrects) {
        to.Put(",\"corrects\":");
        group.corrects ? to.Put(*group.corrects) : to.Put("null");
      }
      if (plan_.emission_ids) {
        to.Put(",\"id\":");
        to.Put(group.id);
      }
      return to.at;
    });
  } else {
    AppendSaturated(out);
  }
  saturated_ += caveats_.saturated.empty() ? 0 : 1;
  if (plan_.key_labels.empty()) out.OpenObjectAt(begin);
  out.Put("}\n");
}

void EmissionPrinter::AppendOpen(std::string_view key, const GroupInfo& info, const void* state,
                                 EngineTime now, LineWriter& out) {
  const size_t begin = out.size();
  AppendMembers(key, state, out);
  if (plan_.meta) {
    AppendMeta(info, now, "open", out, [&](char* at) {
      Cursor to{at};
      if (plan_.revisions) to.Put(",\"partial\":true");
      return to.at;
    });
  } else {
    AppendSaturated(out);
  }
  if (plan_.key_labels.empty()) out.OpenObjectAt(begin);
  out.Put("}\n");
}

void EmissionPrinter::AppendMembers(std::string_view key, const void* state, LineWriter& out) {
  if (!plan_.key_labels.empty()) {  // nearly always
    out.Put('{');
    AppendScalars(plan_.key_labels, key, out);
  }
  caveats_.saturated.clear();
  caveats_.cut.clear();
  plan_.AppendMerges(state, out, caveats_);
}

// A wrong sum is told without "_fold", too: then nothing else is in it.
void EmissionPrinter::AppendSaturated(LineWriter& out) const {
  if (caveats_.saturated.empty()) return;
  AppendNames(",\"_fold\":{\"saturated\":[", caveats_.saturated, out);
  out.Put('}');
}

// "_fold":{"count":4,"first":T,"last":T,"closed":T,"reason":"quiet"}; what `more(to)` writes comes
// behind these five, and it returns the end.
template <class More>
void EmissionPrinter::AppendMeta(const GroupInfo& info, EngineTime closed, std::string_view reason,
                                 LineWriter& out, const More& more) {
  // 68 of names, 20 of count, 3 x 27 of times, 10 of reason; 38 of revision, 46 of corrects, 40 of
  // id.
  constexpr size_t kBytesMax = 384;
  Cursor to{out.Reserve(kBytesMax)};
  const auto put_time = [&](std::string_view label, TimestampWriter& writer, EngineTime at) {
    to.Put(label);
    writer.Write(at, to.at);
    to.at += kTimestampBytes;
  };
  to.Put(",\"_fold\":{\"count\":");
  to.Put(info.count);
  put_time(",\"first\":\"", first_times_, info.first);
  put_time("\",\"last\":\"", last_times_, info.last);
  put_time("\",\"closed\":\"", closed_times_, closed);
  to.Put("\",\"reason\":\"");
  to.Put(reason);
  to.Put("\"");
  out.TakeUpTo(more(to.at));
  AppendNames(",\"saturated\":[", caveats_.saturated, out);
  AppendNames(",\"cut\":[", caveats_.cut, out);
  out.Put('}');
}

}  // namespace pleat::inline v0_1
