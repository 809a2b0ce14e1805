#include "engine/lines/plan/value_reader.h"

#include <algorithm>
#include <cstring>

#include "engine/base/check.h"
#include "engine/base/hash.h"
#include "engine/lines/reduce/rounded_counts.h"
#include "engine/lines/scan/number.h"
#include "engine/lines/scan/text.h"

namespace pleat::inline v0_1 {
namespace {

std::string_view Rewritten(std::string_view text, EventBatch& batch) {
  return batch.texts.Take(WriteCanonical(text, batch.texts.Reserve(text.size())));
}

// As Canonical(), for a value at the top that the scanner had no slot for.
std::string_view CanonicalText(std::string_view text, EventBatch& batch) {
  const bool container = text[0] == '{' || text[0] == '[';
  const bool plain = !container && text.find('\\') == std::string_view::npos;
  return plain ? text : Rewritten(text, batch);
}

// How many bytes the canonical text `inside` stands for, which is without its quotes.
uint32_t UnescapedBytes(std::string_view inside) noexcept {
  size_t bytes = inside.size();
  for (size_t i = inside.find('\\'); i != std::string_view::npos;) {
    const size_t escape = inside[i + 1] == 'u' ? 6 : 2;  // stands for one byte
    bytes -= escape - 1;
    i = inside.find('\\', i + escape);
  }
  return static_cast<uint32_t>(bytes);
}

}  // namespace

std::string_view Canonical(const Value& value, EventBatch& batch) {
  return value.plain ? value.text : Rewritten(value.text, batch);
}

uint32_t ValueReader::Read() {
  uint32_t mismatched = 0;
  for (const EventPlan::WantedValue& wanted : plan_.values) {
    EventValue& out = batch_.values.emplace_back();
    if (!ReadUsual(wanted, out)) mismatched += !ReadOne(wanted, out);
  }
  return mismatched;
}

// Reads what most values are: a text as it stands, or a short integer. False for any other.
inline bool ValueReader::ReadUsual(const EventPlan::WantedValue& wanted, EventValue& out) const {
  const bool text = wanted.form == ValueForm::kText || wanted.form == ValueForm::kElements;
  if (!text && wanted.form != ValueForm::kNumber) return false;
  const Value& member = scanner_.value(wanted.slot);
  if (!member.present() || !member.plain) return false;
  if (!text) {
    if (member.kind != Value::Kind::kNumber || !member.short_integer) return false;
    const int64_t whole = ReadShortInteger(member.text);
    out.number.integer = true;
    out.number.fits = true;
    out.number.whole = whole;
    out.number.real = static_cast<double>(whole);
  }
  out.present = true;
  out.text = member.text;
  return true;
}

// False for a member that has not the form that is wanted.
bool ValueReader::ReadOne(const EventPlan::WantedValue& wanted, EventValue& out) {
  out.present = true;
  switch (wanted.form) {
    case ValueForm::kEvent: return true;
    case ValueForm::kLine: return out.text = WholeLine(), true;
    case ValueForm::kMembers: return ReadMembers(out), true;
    default: break;
  }
  const Value& member = scanner_.value(wanted.slot);
  out.present = member.present();
  if (!out.present) return true;
  return out.present = ReadMember(wanted.form, member, out);
}

bool ValueReader::ReadMember(ValueForm form, const Value& member, EventValue& out) {
  switch (form) {
    case ValueForm::kText: return out.text = Canonical(member, batch_), true;
    case ValueForm::kNumber: return ReadNumber(member, out);
    case ValueForm::kRounded: return ReadRounded(member, out);
    case ValueForm::kPiece: return ReadPiece(member, out);
    case ValueForm::kElements: return ReadElements(member, out), true;
    case ValueForm::kIdentities: return ReadIdentities(member, out), true;
    case ValueForm::kNames: return ReadNames(member, out);
    default: PLEAT_DCHECK(form == ValueForm::kPresence); return true;
  }
}

bool ValueReader::ReadNumber(const Value& member, EventValue& out) {
  if (member.kind != Value::Kind::kNumber) return false;
  out.text = member.text;
  out.number = ::pleat::ReadNumber(member.text);
  return true;
}

bool ValueReader::ReadRounded(const Value& member, EventValue& out) {
  if (member.kind != Value::Kind::kNumber) return false;
  out.number.whole = RoundedCodeOf(member.text);
  return true;
}

bool ValueReader::ReadPiece(const Value& member, EventValue& out) {
  if (!member.scalar()) return false;
  out.text = Canonical(member, batch_);
  if (member.kind == Value::Kind::kString) out.text = out.text.substr(1, out.text.size() - 2);
  out.bytes = UnescapedBytes(out.text);
  return true;
}

bool ValueReader::ReadNames(const Value& member, EventValue& out) {
  if (member.kind != Value::Kind::kObject) return false;
  BeginElements(out);
  ForEachMember(member.text, [&](std::string_view name, std::string_view) {
    batch_.elements.push_back(Rewritten(name, batch_));
  });
  EndElements(out);
  return true;
}

void ValueReader::ReadElements(const Value& member, EventValue& out) {
  if (member.kind != Value::Kind::kArray) {
    out.text = Canonical(member, batch_);
    return;
  }
  BeginElements(out);
  ForEachElement(member.text, [&](std::string_view element) {
    batch_.elements.push_back(Rewritten(element, batch_));
  });
  EndElements(out);
}

void ValueReader::ReadIdentities(const Value& member, EventValue& out) {
  ReadElements(member, out);
  out.text = Identity(out.text);
  for (uint32_t i = 0; i < out.elements; ++i) {
    std::string_view& element = batch_.elements[out.first_element + i];
    element = Identity(element);
  }
}

std::string_view ValueReader::WholeLine() {
  if (whole_line_.empty()) whole_line_ = Rewritten(line_, batch_);
  return whole_line_;
}

// Short texts stand for themselves. A long one becomes a byte with which no JSON begins, and 128
// bits that depend on a secret. So a million values take some 40 bytes each, however long they are.
// Two of them are confused with a probability below 2^-88 (2^39 pairs), which nobody outside can
// raise.
std::string_view ValueReader::Identity(std::string_view text) {
  constexpr size_t kBytes = 1 + sizeof(uint64_t) * 2;
  if (text.size() <= kBytes) return text;
  char* to = batch_.texts.Reserve(kBytes);
  *to++ = '#';
  for (const HashKey& key : plan_.identity_keys) {
    const uint64_t half = KeyedHash(text, key);
    std::memcpy(to, &half, sizeof(half));
    to += sizeof(half);
  }
  return batch_.texts.Take(to);
}

// The elements are names and values in turn.
void ValueReader::ReadMembers(EventValue& out) {
  BeginElements(out);
  const size_t begin = std::min(line_.find('{'), line_.size());
  ForEachMember(line_.substr(begin), [&](std::string_view quoted, std::string_view value) {
    if (value[0] == 'n') return;
    const std::string_view name = CanonicalText(quoted, batch_);
    if (plan_.taken_names.contains(name)) return;
    batch_.elements.push_back(name);
    batch_.elements.push_back(CanonicalText(value, batch_));
  });
  EndElements(out);
}

void ValueReader::BeginElements(EventValue& out) const noexcept {
  out.first_element = batch_.elements.size();
}

void ValueReader::EndElements(EventValue& out) const noexcept {
  out.elements = static_cast<uint32_t>(batch_.elements.size() - out.first_element);
}

}  // namespace pleat::inline v0_1
