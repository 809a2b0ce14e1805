#include "engine/lines/plan/value_reader.h"

#include <algorithm>
#include <cstring>

#include "engine/base/check.h"
#include "engine/base/hash.h"
#include "engine/lines/reduce/rounded_counts.h"
#include "engine/lines/scan/decimal.h"
#include "engine/lines/scan/normal.h"
#include "engine/lines/scan/number.h"
#include "engine/lines/scan/text.h"

namespace pleat::inline v0_1 {
namespace {

std::string_view Rewritten(std::string_view text, EventBatch& batch) {
  return batch.texts.Take(WriteCanonical(text, batch.texts.Reserve(CanonicalBytes(text.size()))));
}

// As Canonical(), for a value at the top that the scanner had no slot for.
std::string_view CanonicalText(std::string_view text, EventBatch& batch) {
  const bool copies = text[0] == '"' || text[0] == 't' || text[0] == 'f' || IsDigit(text[0]);
  const bool plain = copies && text.find('\\') == std::string_view::npos;
  return plain ? text : Rewritten(text, batch);
}

// Of a value as it stands in a line.
bool IsNull(std::string_view text) noexcept {
  return text[0] == 'n' || text[0] == 'N' || text[0] == 'I' || text == "-Infinity";
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
  return value.plain || value.kind == Value::Kind::kNumber ? value.text
                                                           : Rewritten(value.text, batch);
}

std::string_view Identity(const Value& value, EventBatch& batch) {
  const std::string_view text = Canonical(value, batch);
  const bool tells = value.plain || value.kind == Value::Kind::kString || IsNormal(text);
  return tells ? text : batch.texts.Copy(Normal(text));
}

uint32_t ValueReader::ReadFrom(size_t first) {
  uint32_t mismatched = ReadOne(plan_.values[first], batch_.values.back()) ? 0 : 1;
  for (size_t i = first + 1; i < plan_.values.size(); ++i) {
    const EventPlan::WantedValue& wanted = plan_.values[i];
    EventValue& out = batch_.values.emplace_back();
    if (!ReadUsual(wanted, scanner_, out)) mismatched += !ReadOne(wanted, out);
  }
  return mismatched;
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

// The text of a number. Of a number in quotes, as many systems write integers of 64 bits, that between
// them. Empty for any other value.
std::string_view ValueReader::NumberIn(const Value& member) {
  if (member.kind == Value::Kind::kNumber) return member.text;
  if (member.kind != Value::Kind::kString) return {};
  const std::string_view quoted = Canonical(member, batch_);
  const std::string_view inside = quoted.substr(1, quoted.size() - 2);
  return IsNumber(inside) ? inside : std::string_view();
}

bool ValueReader::ReadNumber(const Value& member, EventValue& out) {
  out.text = NumberIn(member);
  if (out.text.empty()) return false;
  out.number = ::pleat::ReadNumber(out.text);
  return true;
}

bool ValueReader::ReadRounded(const Value& member, EventValue& out) {
  const std::string_view number = NumberIn(member);
  if (number.empty()) return false;
  out.number.whole = RoundedCodeOf(number);
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
    out.odd = member.kind != Value::Kind::kString && !IsNormal(out.text);
    return;
  }
  BeginElements(out);
  ForEachElement(member.text, [&](std::string_view element) {
    batch_.elements.push_back(Rewritten(element, batch_));
    out.odd |= !IsNormalElement(batch_.elements.back());
  });
  EndElements(out);
}

void ValueReader::ReadIdentities(const Value& member, EventValue& out) {
  ReadElements(member, out);
  if (!out.text.empty()) out.text = Mark(out.text);
  for (uint32_t i = 0; i < out.elements; ++i) {
    std::string_view& element = batch_.elements[out.first_element + i];
    element = Mark(element);
  }
  out.odd = false;  // marks of equal values are equal, and their bytes are no numbers
}

std::string_view ValueReader::WholeLine() {
  if (whole_line_.empty()) whole_line_ = Rewritten(line_, batch_);
  return whole_line_;
}

// Short texts stand for themselves. A long one becomes a byte with which no JSON begins, and 128
// bits that depend on a secret. So a million values take some 40 bytes each, however long they are.
// Two of them are confused with a probability below 2^-88 (2^39 pairs), which nobody outside can
// raise.
std::string_view ValueReader::Mark(std::string_view text) {
  constexpr size_t kBytes = 1 + sizeof(uint64_t) * 2;
  if (!IsNormalElement(text)) text = batch_.texts.Copy(Normal(text));
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
    if (IsNull(value)) return;
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
