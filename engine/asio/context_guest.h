// A ContextGuest lets go of an execution context before that is gone: drivers and consumers, which
// may outlive the context. A service of the context tells them of the shutdown.
#pragma once

#include <cstddef>
#include <memory>
#include <utility>
#include <vector>

#include <boost/asio/any_io_executor.hpp>

namespace pleat::inline v0_1 {

class ContextGuest {
 public:
  // The context is shutting down: nobody runs handlers any more. Drop executors, timers and
  // handlers.
  virtual void Shutdown() noexcept = 0;

 protected:
  ~ContextGuest() = default;
};

// Objects that somebody else owns. Those that are gone are dropped as others come, so that the list
// stays below twice the most there ever were at once.
template <class T>
class WeakList {
 public:
  void Add(const std::shared_ptr<T>& object) {
    if (objects_.size() >= sweep_at_) {
      std::erase_if(objects_, [](const std::weak_ptr<T>& weak) { return weak.expired(); });
      sweep_at_ = 2 * objects_.size() + 8;
    }
    objects_.push_back(object);
  }

  // Hands them out, the last one first, and forgets them.
  std::vector<std::shared_ptr<T>> Take() {
    std::vector<std::shared_ptr<T>> out;
    for (auto weak = objects_.rbegin(); weak != objects_.rend(); ++weak) {
      if (auto object = weak->lock()) out.push_back(std::move(object));
    }
    objects_.clear();
    return out;
  }

 private:
  std::vector<std::weak_ptr<T>> objects_;
  size_t sweep_at_ = 8;
};

// From its return on, `guest` is told when the context of `executor` shuts down.
void AddGuest(const boost::asio::any_io_executor& executor,
              const std::shared_ptr<ContextGuest>& guest);

}  // namespace pleat::inline v0_1
