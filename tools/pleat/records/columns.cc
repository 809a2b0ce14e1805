#include "tools/pleat/records/columns.h"

#include <algorithm>
#include <optional>
#include <set>
#include <utility>

#include <pleat/json_lines.h>

#include "tools/pleat/byte_source.h"
#include "tools/pleat/errno_status.h"
#include "tools/pleat/records/known_log.h"

namespace pleat::cli {
namespace {

// Whether there is a \r that no newline follows.
bool HasReturnAlone(std::string_view text) {
  for (size_t at = text.find('\r'); at != text.npos; at = text.find('\r', at + 1)) {
    if (!text.substr(at + 1).starts_with('\n')) return true;
  }
  return false;
}

}  // namespace

void Columns::Name(std::vector<std::string> names) {
  names_ = std::move(names);
  beginnings_.clear();
  ends_ = {0};
  doubled_.clear();
  // Those of the header first, so that none is given the name of another column.
  std::set<std::string> taken(names_.begin(), names_.end());
  std::set<std::string> seen;
  for (size_t i = 0; i < names_.size(); ++i) {
    std::string name = names_[i];
    if (name.empty()) name = "column_" + std::to_string(i + 1);
    const bool is_free = names_[i].empty() ? !taken.contains(name) : seen.insert(name).second;
    if (!is_free) {
      size_t number = 2;
      while (taken.contains(name + "_" + std::to_string(number))) ++number;
      name += "_" + std::to_string(number);
      if (!names_[i].empty()) {
        auto doubled = std::ranges::find(doubled_, names_[i], &DoubledName::name);
        if (doubled == doubled_.end()) doubled = doubled_.insert(doubled_.end(), {names_[i], {}});
        doubled->others.push_back(name);
      }
    }
    taken.insert(name);
    beginnings_ += i == 0 ? '{' : ',';
    AppendJsonString(name, beginnings_);
    beginnings_ += ':';
    ends_.push_back(beginnings_.size());
  }
  beginnings_.append(kBytesBehind, '\0');
}

std::string Columns::Mistake(size_t fields) const {
  if (fields == names_.size()) return "";
  return std::to_string(fields) + (fields == 1 ? " field" : " fields") + ", and the header has " +
         std::to_string(names_.size());
}

std::string HeaderMistake(std::string_view record, size_t fields, bool in_quotes) {
  if (record.starts_with("{\"") && !KnownLogOf(record))
    return "looks like lines of JSON, not like a header";
  if (HasReturnAlone(record)) {
    return "lines that end with \\r alone: tr '\\r' '\\n' < FILE | pleat ...";
  }
  if (const std::optional<KnownLog> log = KnownLogOf(record)) {
    return "looks like " + std::string(log->looks_like) + ": --input " + std::string(log->input);
  }
  if (fields > kObjectMembersMax) return "a header of more than 1,024 columns";
  if (fields > 1 || in_quotes) return "";
  constexpr std::pair<char, std::string_view> kOthers[] = {
      {'\t', "tabs in it: --input tsv"},
      {',', "commas in it: --input csv"},
      {';', "semicolons in it: --input csv --separator ';'"},
      {'|', "bars in it: --input csv --separator '|'"}};
  for (const auto& [separator, what] : kOthers) {
    if (record.find(separator) == record.npos) continue;
    return "the header is one column with " + std::string(what);
  }
  return "";
}

absl::Status HeaderError(const std::string& input, uint64_t line, std::string_view why) {
  return absl::InvalidArgumentError(Printable(input) + ":" + std::to_string(line) + ": " +
                                    std::string(why));
}

}  // namespace pleat::cli
