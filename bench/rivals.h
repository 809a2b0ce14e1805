// What a C++ engineer would write instead of linking pleat, each as well as it can be within its idea.
//
// A contestant opens a group for every key when it is made, and then:
//   Fold(events)      folds every event into its group and restarts the group's quiet period
//   size()            how many groups there are
//   Find(key)         what one of them holds
//   kHasMasks         whether that includes the field mask
//   cpu_seconds()     only if Fold() uses threads: the processor time of the busiest
// None of them closes anything here: in `fold/*` nothing falls due. All but the yardstick would be
// able to.
#pragma once

#include <chrono>
#include <functional>
#include <mutex>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>

#include <absl/container/flat_hash_map.h>
#include <absl/hash/hash.h>
#include <absl/strings/string_view.h>
#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/multi_index/hashed_index.hpp>
#include <boost/multi_index/mem_fun.hpp>
#include <boost/multi_index/member.hpp>
#include <boost/multi_index/ordered_index.hpp>
#include <boost/multi_index_container.hpp>

#include "bench/stream.h"

namespace pleat::bench {

// Where abseil was built for an older standard, its maps do not know std::string_view.
inline absl::string_view Text(std::string_view text) { return {text.data(), text.size()}; }

// One good hash for the containers that bring none.
struct TextHash {
  using is_transparent = void;
  size_t operator()(std::string_view text) const {
    return absl::Hash<absl::string_view>()(Text(text));
  }
};

// When the i-th group falls due, opened one after the other, a microsecond each, up to kStart.
inline EngineTime DeadlineOf(const Keys& keys, size_t i) {
  return kStart - Duration(keys.size() - i) + kDay;
}

// The yardstick: a plain loop of upserts that count. No deadlines, no lock, no mask. Looked up by a view
// of the key, so that no string is made for an event.
class AbslUpserts {
 public:
  static constexpr bool kHasMasks = false;

  explicit AbslUpserts(const Keys& keys) {
    map_.reserve(keys.size());
    for (size_t i = 0; i < keys.size(); ++i) map_[Text(keys[i])] = 1;
  }
  void Fold(std::span<const Event> events) {
    for (const Event& event : events) ++map_[Text(event.key)];
  }
  size_t size() const { return map_.size(); }
  Fields Find(std::string_view key) const {
    const auto found = map_.find(Text(key));
    return {found == map_.end() ? 0 : static_cast<uint64_t>(found->second), 0};
  }

 private:
  absl::flat_hash_map<std::string, int64_t> map_;
};

// One container, two indexes: by key, and by deadline. Behind a mutex, taken for each event.
class MultiIndexFolds {
 public:
  static constexpr bool kHasMasks = true;

  explicit MultiIndexFolds(const Keys& keys) {
    groups_.reserve(keys.size());
    for (size_t i = 0; i < keys.size(); ++i) {
      groups_.insert({std::string(keys[i]), DeadlineOf(keys, i), {1, 1}});
    }
  }
  void Fold(std::span<const Event> events) {
    for (const Event& event : events) {
      const std::lock_guard hold(mutex_);
      const auto group = groups_.find(event.key);
      groups_.modify(group, [&](Group& g) {
        g.fields.Fold(event.event);
        g.deadline = event.at + kDay;
      });
    }
  }
  size_t size() const { return groups_.size(); }
  Fields Find(std::string_view key) const {
    const auto found = groups_.find(key);
    return found == groups_.end() ? Fields{} : found->fields;
  }

 private:
  struct Group {
    std::string key;
    EngineTime deadline;
    Fields fields;
    std::string_view Key() const { return key; }
  };
  using ByKey = boost::multi_index::hashed_unique<
      boost::multi_index::const_mem_fun<Group, std::string_view, &Group::Key>, TextHash>;
  using ByDeadline = boost::multi_index::ordered_non_unique<
      boost::multi_index::member<Group, EngineTime, &Group::deadline>>;
  using Groups =
      boost::multi_index_container<Group, boost::multi_index::indexed_by<ByKey, ByDeadline>>;

  std::mutex mutex_;
  Groups groups_;
};

// The same with the standard's containers: a map by key, and a set of (deadline, group) whose nodes are
// taken out, changed and put back. Behind a mutex, taken for each event.
class MapAndSetFolds {
 public:
  static constexpr bool kHasMasks = true;

  explicit MapAndSetFolds(const Keys& keys) {
    groups_.reserve(keys.size());
    for (size_t i = 0; i < keys.size(); ++i) {
      const auto group = groups_.try_emplace(std::string(keys[i])).first;
      group->second = {DeadlineOf(keys, i), {1, 1}};
      deadlines_.emplace_hint(deadlines_.end(), group->second.deadline, &*group);
    }
  }
  void Fold(std::span<const Event> events) {
    for (const Event& event : events) {
      const std::lock_guard hold(mutex_);
      const auto found = groups_.find(event.key);
      Group& group = found->second;
      auto node = deadlines_.extract(Deadline(group.deadline, &*found));
      group.fields.Fold(event.event);
      group.deadline = event.at + kDay;
      node.value().first = group.deadline;
      deadlines_.insert(std::move(node));
    }
  }
  size_t size() const { return groups_.size(); }
  Fields Find(std::string_view key) const {
    const auto found = groups_.find(key);
    return found == groups_.end() ? Fields{} : found->second.fields;
  }

 private:
  struct Group {
    EngineTime deadline;
    Fields fields;
  };
  using Groups = std::unordered_map<std::string, Group, TextHash, std::equal_to<>>;

  using Deadline = std::pair<EngineTime, Groups::value_type*>;

  std::mutex mutex_;
  Groups groups_;
  std::set<Deadline> deadlines_;
};

// One steady_timer per key, restarted by each event; the io_context is polled every 64 events, as it is
// in a service that runs on it: the waits that were cancelled complete there. One thread, so no lock.
class SteadyTimerFolds {
 public:
  static constexpr bool kHasMasks = true;

  explicit SteadyTimerFolds(const Keys& keys) {
    groups_.reserve(keys.size());
    for (size_t i = 0; i < keys.size(); ++i) {
      Restart(
          groups_.try_emplace(std::string(keys[i]), Group{boost::asio::steady_timer(io_), {1, 1}})
              .first->second);
      if (i % 64 == 0) io_.poll();
    }
  }
  void Fold(std::span<const Event> events) {
    for (size_t i = 0; i < events.size(); ++i) {
      Group& group = groups_.find(Text(events[i].key))->second;
      group.fields.Fold(events[i].event);
      Restart(group);
      if (i % 64 == 63) io_.poll();
    }
  }
  size_t size() const { return closed_ == 0 ? groups_.size() : 0; }
  Fields Find(std::string_view key) const {
    const auto found = groups_.find(Text(key));
    return found == groups_.end() ? Fields{} : found->second.fields;
  }

 private:
  struct Group {
    boost::asio::steady_timer timer;
    Fields fields;
  };

  void Restart(Group& group) {
    group.timer.expires_after(kDay);
    group.timer.async_wait([this](const boost::system::error_code& error) {
      if (!error) ++closed_;  // the quiet period is over
    });
  }

  boost::asio::io_context io_{1};
  size_t closed_ = 0;
  absl::flat_hash_map<std::string, Group> groups_;
};

}  // namespace pleat::bench
