// A MemberCopy is what a watcher of a live set makes of a snapshot and the changes behind it: the
// members that are live, as far as it was told. Every change has to fit to what is known: a member
// begins once and ends once, goes on only between, and the count is that of the copy.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include <pleat/change.h>

namespace pleat::inline v0_1 {

class MemberCopy {
 public:
  struct Member {
    EngineTime stamp;
    int payload;

    friend bool operator==(const Member&, const Member&) = default;
  };
  using Members = std::map<std::string, Member, std::less<>>;

  // Begins again with a snapshot. Members of each series are added by AddLive().
  void Begin(const ChangeCursor& cursor) {
    series_.clear();
    next_ = cursor.next;
    at_ = kBeginningOfTime;
  }
  void AddLive(std::string_view series, const LiveMember<int>& member) {
    series_[std::string(series)][member.id] = {member.stamp, member.payload};
  }

  // Takes the next change of `scope`. Returns what is wrong with it, or nothing.
  std::string Apply(const WatchScope& scope, const Change<int>& change) {
    if (!scope.Covers(change.series)) return Wrong(change, "is of another scope");
    uint64_t& next = next_[change.change.partition];
    if (change.change.number < next) return Wrong(change, "was told before");
    const bool is_all = scope.is_prefix && scope.name.empty();
    if (is_all && change.change.number != next) return Wrong(change, "comes too early");
    next = change.change.number + 1;
    if (change.at < at_) return Wrong(change, "is earlier than the one before");
    at_ = change.at;
    const std::string_view wrong = Fit(change);
    if (!wrong.empty()) return Wrong(change, wrong);
    if (change.count != series_[change.series].size()) return Wrong(change, "has a wrong count");
    return "";
  }

  const Members& members(std::string_view series) {
    return series_.try_emplace(std::string(series)).first->second;
  }
  size_t ends() const noexcept { return ends_; }

 private:
  std::string_view Fit(const Change<int>& change) {
    Members& members = series_[change.series];
    const auto it = members.find(change.id);
    const bool known = it != members.end();
    if (IsEnd(change.cause)) {
      if (!known) return "ends nobody";
      if (it->second.stamp != change.stamp) return "ends with another stamp";
      members.erase(it);
      ++ends_;
      return "";
    }
    const bool begins = change.cause == Cause::kAdded || change.cause == Cause::kRestored;
    if (begins == known) return begins ? "begins twice" : "goes on without having begun";
    members[change.id] = {change.stamp, change.payload};
    return "";
  }

  static std::string Wrong(const Change<int>& change, std::string_view why) {
    std::string text = "change " + std::to_string(change.change.partition) + "/";
    text += std::to_string(change.change.number) + " (" + change.series + " " + change.id + " ";
    text += CauseName(change.cause);
    return text + ", count " + std::to_string(change.count) + ") " + std::string(why);
  }

  std::map<std::string, Members, std::less<>> series_;
  std::vector<uint64_t> next_;
  EngineTime at_ = kBeginningOfTime;
  size_t ends_ = 0;
};

}  // namespace pleat::inline v0_1
