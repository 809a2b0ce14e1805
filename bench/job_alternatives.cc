// What a C++ engineer would write for the whole job instead: the groups by key and by last time behind
// one mutex, once with Boost.MultiIndex and once with two containers of the standard library. Both move
// a group in an ordered index at each event, as the recipe does.
#include <mutex>
#include <set>
#include <unordered_map>

#include <boost/multi_index/hashed_index.hpp>
#include <boost/multi_index/member.hpp>
#include <boost/multi_index/ordered_index.hpp>
#include <boost/multi_index_container.hpp>

#include "bench/job.h"

namespace pleat::bench {
namespace {

// Finds a string by a view of it.
struct Hash {
  using is_transparent = void;
  size_t operator()(std::string_view key) const { return std::hash<std::string_view>()(key); }
};

class MultiIndexStore {
 public:
  explicit MultiIndexStore(const Job& job) : quiet_(job.quiet) {}

  void Poll(int64_t tick, Emissions& emissions) {
    std::lock_guard lock(mutex_);
    auto& by_last = groups_.get<1>();
    while (!by_last.empty() && by_last.begin()->last + quiet_ <= tick) {
      emissions.Add(by_last.begin()->key, tick, dictionary_.NamesOf(by_last.begin()->names));
      by_last.erase(by_last.begin());
    }
  }

  void Fold(const Tick& tick) {
    for (const JobEvent& event : tick.events) {
      const NameNumbers numbers = dictionary_.Numbers(event.event);
      std::lock_guard lock(mutex_);
      auto found = groups_.find(event.key);
      if (found == groups_.end()) {
        found = groups_.insert({std::string(event.key), tick.at, {}}).first;
      }
      groups_.modify(found, [&](Group& group) {
        group.last = tick.at;
        group.names.Fold(numbers);
      });
    }
  }

  double BytesPerGroup() const { return 0; }

 private:
  struct Group {
    std::string key;
    int64_t last;
    NameSet names;
  };
  using Groups = boost::multi_index_container<
      Group,
      boost::multi_index::indexed_by<
          boost::multi_index::hashed_unique<
              boost::multi_index::member<Group, std::string, &Group::key>, Hash, std::equal_to<>>,
          boost::multi_index::ordered_non_unique<
              boost::multi_index::member<Group, int64_t, &Group::last>>>>;

  NameDictionary dictionary_;
  std::mutex mutex_;
  int64_t quiet_;
  Groups groups_;
};

class MapAndSetStore {
 public:
  explicit MapAndSetStore(const Job& job) : quiet_(job.quiet) {}

  void Poll(int64_t tick, Emissions& emissions) {
    std::lock_guard lock(mutex_);
    while (!by_last_.empty() && by_last_.begin()->first + quiet_ <= tick) {
      const auto group = groups_.find(by_last_.begin()->second);
      emissions.Add(group->first, tick, dictionary_.NamesOf(group->second.names));
      by_last_.erase(by_last_.begin());
      groups_.erase(group);
    }
  }

  void Fold(const Tick& tick) {
    for (const JobEvent& event : tick.events) {
      const NameNumbers numbers = dictionary_.Numbers(event.event);
      std::lock_guard lock(mutex_);
      auto found = groups_.find(event.key);
      const bool opens = found == groups_.end();
      if (opens) found = groups_.try_emplace(std::string(event.key)).first;
      auto& [key, group] = *found;
      if (opens || group.last != tick.at) {
        if (!opens) by_last_.erase({group.last, key});
        group.last = tick.at;
        by_last_.emplace(group.last, key);
      }
      group.names.Fold(numbers);
    }
  }

  double BytesPerGroup() const { return 0; }

 private:
  struct Group {
    int64_t last = 0;
    NameSet names;
  };

  NameDictionary dictionary_;
  std::mutex mutex_;
  int64_t quiet_;
  std::unordered_map<std::string, Group, Hash, std::equal_to<>> groups_;
  std::set<std::pair<int64_t, std::string_view>> by_last_;  // the views are of the keys of groups_
};

}  // namespace

JobResult MultiIndex(const Job& job, bool keep_rows) {
  MultiIndexStore store(job);
  return RunTicks(job, keep_rows, store);
}

JobResult MapAndSet(const Job& job, bool keep_rows) {
  MapAndSetStore store(job);
  return RunTicks(job, keep_rows, store);
}

}  // namespace pleat::bench
