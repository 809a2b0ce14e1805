#include "engine/asio/context_guest.h"

#include <mutex>

#include <boost/asio/execution/context.hpp>
#include <boost/asio/execution_context.hpp>
#include <boost/asio/query.hpp>

namespace pleat::inline v0_1 {
namespace {

class GuestService final : public boost::asio::execution_context::service {
 public:
  using key_type = GuestService;
  static boost::asio::execution_context::id id;

  explicit GuestService(boost::asio::execution_context& context) : service(context) {}

  void Add(const std::shared_ptr<ContextGuest>& guest) {
    const std::lock_guard lock(mutex_);
    guests_.Add(guest);
  }

 private:
  void shutdown() override {
    std::unique_lock lock(mutex_);
    const auto guests = guests_.Take();
    lock.unlock();
    // The last one first: consumers before their driver.
    for (const auto& guest : guests) guest->Shutdown();
  }

  std::mutex mutex_;
  WeakList<ContextGuest> guests_;
};

boost::asio::execution_context::id GuestService::id;

}  // namespace

void AddGuest(const boost::asio::any_io_executor& executor,
              const std::shared_ptr<ContextGuest>& guest) {
  boost::asio::execution_context& context =
      boost::asio::query(executor, boost::asio::execution::context);
  boost::asio::use_service<GuestService>(context).Add(guest);
}

}  // namespace pleat::inline v0_1
