#include "engine/lines/feed/live_set_line.h"

#include "engine/lines/feed/payload_text.h"
#include "engine/lines/plan/event_plan.h"
#include "engine/lines/reduce/joined_scalars.h"
#include "engine/lines/reduce/line_parts.h"

namespace pleat::inline v0_1 {
LiveSetPrinter::LiveSetPrinter(const LiveSetSpec& spec)
    : key_labels_(LabelsOf(KeyMembers(spec.event))),
      member_labels_(LabelsOf(spec.member.id)),
      has_names_(!key_labels_.empty() || !member_labels_.empty()),
      has_payload_(!spec.payload.empty()) {}

void LiveSetPrinter::AppendChange(const AnyChange& change, LineWriter& out) {
  const size_t begin = BeginMember(change.series, change.id, out);
  PutTime(",\"at\":", change.at, at_times_, out);
  if (!has_names_) out.OpenObjectAt(begin);
  out.Put(",\"cause\":\"");
  out.Put(CauseName(change.cause));
  PutNumber("\",\"count\":", change.count, out);
  if (!IsEnd(change.cause)) PutLife(change.stamp, change.deadline, out);
  EndMember(change.payload, out);
}

void LiveSetPrinter::AppendMember(std::string_view series, const AnyLive& member, LineWriter& out) {
  const size_t begin = BeginMember(series, member.id, out);
  PutLife(member.stamp, member.deadline, out);
  if (!has_names_) out.OpenObjectAt(begin);
  EndMember(member.payload, out);
}

void LiveSetPrinter::AppendCount(std::string_view series, EngineTime at, size_t count,
                                 std::span<const WithinSpan> spans, std::span<const size_t> within,
                                 LineWriter& out) {
  const size_t begin = out.size();
  if (!key_labels_.empty()) out.Put('{');
  AppendScalars(key_labels_, series, out);
  PutTime(",\"at\":", at, at_times_, out);
  if (key_labels_.empty()) out.OpenObjectAt(begin);
  PutNumber(",\"count\":", count, out);
  for (size_t i = 0; i < spans.size(); ++i) {
    out.Put(i == 0 ? ",\"within\":{\"" : ",\"");
    out.Put(spans[i].name);
    PutNumber("\":", within[i], out);
  }
  out.Put(spans.empty() ? "}\n" : "}}\n");
}

// Returns where the line begins. Without names the next member opens the object.
size_t LiveSetPrinter::BeginMember(std::string_view series, std::string_view id,
                                   LineWriter& out) const {
  const size_t begin = out.size();
  if (has_names_) out.Put('{');
  AppendScalars(key_labels_, series, out);
  if (!key_labels_.empty() && !member_labels_.empty()) out.Put(',');
  AppendScalars(member_labels_, id, out);
  return begin;
}

void LiveSetPrinter::PutLife(EngineTime stamp, EngineTime deadline, LineWriter& out) {
  PutTime(",\"stamp\":", stamp, stamp_times_, out);
  PutTime(",\"until\":", deadline, until_times_, out);
}

void LiveSetPrinter::EndMember(const void* payload, LineWriter& out) const {
  if (has_payload_) {
    const std::string_view text = static_cast<const PayloadText*>(payload)->view();
    out.Put(",\"payload\":");
    out.Put(text.empty() ? "null" : text);
  }
  out.Put("}\n");
}

}  // namespace pleat::inline v0_1
