#include "tests/model/trace_agreement.h"

#include <algorithm>
#include <span>
#include <sstream>

namespace pleat::inline v0_1 {
namespace {

bool IsOfLease(TraceStep step) {
  return step == TraceStep::kLent || step == TraceStep::kNacked || step == TraceStep::kRanOut ||
         step == TraceStep::kAcked || step == TraceStep::kDead;
}

// Whether the step is one of an emission that is there already.
bool IsOfEmission(TraceStep step) { return step >= TraceStep::kPopped; }

// Steps that a call of the episode brings about, and time never does.
bool IsByCall(TraceStep step) {
  return step == TraceStep::kPopped || step == TraceStep::kLent || step == TraceStep::kNacked ||
         step == TraceStep::kAcked || step == TraceStep::kRetried;
}

std::string LineOf(const TraceRecord& record) {
  std::ostringstream out;
  out << StepName(record.step) << " " << record.count << " events from "
      << Agreement::Show(record.first) << " to " << Agreement::Show(record.last) << ", emission "
      << Agreement::Show(record.emission) << " " << ReasonName(record.reason) << " "
      << record.revision;
  if (!IsOfEmission(record.step)) out << ", at " << Agreement::Show(record.at);
  if (IsOfLease(record.step)) {
    out << ", delivery " << record.deliveries << " at " << Agreement::Show(record.lease_at);
  }
  return out.str();
}

std::string Joined(const std::vector<std::string>& lines) {
  std::string out;
  for (const std::string& line : lines) out += "\n    " + line;
  return out;
}

}  // namespace

TraceAgreement::Groups TraceAgreement::ByGroup(const std::vector<TraceRecord>& records) {
  std::map<std::tuple<std::string, uint64_t>, size_t> places;
  Groups groups;
  for (const TraceRecord& record : records) {
    std::vector<Lines>& of_key = groups[record.key];
    const auto [place, is_new] = places.try_emplace({record.key, record.group}, of_key.size());
    if (is_new) of_key.emplace_back();
    of_key[place->second].push_back(LineOf(record));
  }
  // An emission of the group that waits behind an older deadline may be told later than its end.
  for (auto& [key, of_key] : groups) {
    for (Lines& lines : of_key) {
      Lines ends;
      std::erase_if(lines, [&](const std::string& line) {
        const bool is_end = line.starts_with("silent") || line.starts_with("cancelled");
        if (is_end) ends.push_back(line);
        return is_end;
      });
      lines.insert(lines.end(), ends.begin(), ends.end());
    }
  }
  return groups;
}

TraceAgreement::Emissions TraceAgreement::ByEmission(const std::vector<TraceRecord>& records) {
  Emissions emissions;
  for (const TraceRecord& record : records) {
    emissions[{record.emission->partition, record.emission->generation}].push_back(LineOf(record));
  }
  return emissions;
}

void TraceAgreement::Read(EngineTime now, Agreement& agreement) {
  const auto see = [&](std::span<const TraceRecord> records) {
    for (const TraceRecord& record : records) {
      agreement.Expect<uint64_t>("number of a record", record.number, numbers_[record.partition]++);
      if (record.emission) {
        const std::pair id(record.emission->partition, record.emission->generation);
        agreement.Expect<uint64_t>("partition of a record", record.partition, id.first);
        if (!IsOfEmission(record.step)) ready_.insert(id);
        agreement.Expect<uint64_t>("whether an emission was brought about before its steps",
                                   ready_.contains(id), true);
      }
      if (IsByCall(record.step)) {
        agreement.Expect(std::string("time of ") + std::string(StepName(record.step)), record.at,
                         now);
      }
      (IsOfEmission(record.step) ? of_emissions_ : of_groups_).push_back(record);
    }
  };
  while (reader_->Read(SIZE_MAX, see) > 0) {
  }
  agreement.Expect<uint64_t>("records lost", reader_->lost(), 0);
}

void TraceAgreement::Compare(const FoldModel& model, Agreement& agreement,
                             std::set<TraceStep>& seen) const {
  for (const TraceRecord& record : of_groups_) seen.insert(record.step);
  for (const TraceRecord& record : of_emissions_) seen.insert(record.step);
  const Groups groups = ByGroup(of_groups_);
  const Groups expected = ByGroup(model.group_steps());
  agreement.Expect<uint64_t>("number of keys traced", groups.size(), expected.size());
  for (const auto& [key, of_key] : expected) {
    const auto found = groups.find(key);
    if (found == groups.end()) return agreement.Fail("a key has no trace");
    agreement.Expect<uint64_t>("number of groups of a key", found->second.size(), of_key.size());
    for (size_t i = 0; i < std::min(of_key.size(), found->second.size()); ++i) {
      if (found->second[i] == of_key[i]) continue;
      return agreement.Fail("the steps of a group are" + Joined(found->second[i]) +
                            "\n  should be" + Joined(of_key[i]));
    }
  }
  const Emissions emissions = ByEmission(of_emissions_);
  const Emissions wanted = ByEmission(model.emission_steps());
  agreement.Expect<uint64_t>("number of emissions with steps", emissions.size(), wanted.size());
  for (const auto& [id, steps] : wanted) {
    const auto found = emissions.find(id);
    if (found == emissions.end()) return agreement.Fail("an emission has no steps");
    if (found->second == steps) continue;
    return agreement.Fail("the steps of an emission are" + Joined(found->second) + "\n  should be" +
                          Joined(steps));
  }
}

}  // namespace pleat::inline v0_1
