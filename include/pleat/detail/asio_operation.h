// Operations: handlers, their allocators and executors. An implementation detail of asio.h,
// asio_watcher.h and asio_store.h.
//
// An operation is started when the completion token has made a handler. It is one HandlerOperation
// in the handler's memory, waits in its queue, and completes by posting itself. That of a Consumer
// or a Watcher does TakeWork: it takes items under the mutex of its queue.
#pragma once

#include <algorithm>
#include <cstddef>
#include <memory>
#include <new>
#include <optional>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include <boost/asio/associated_allocator.hpp>
#include <boost/asio/associated_cancellation_slot.hpp>
#include <boost/asio/associated_executor.hpp>
#include <boost/asio/bind_executor.hpp>
#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/recycling_allocator.hpp>
#include <boost/system/error_code.hpp>
#include <pleat/detail/asio_waiter.h>
#include <pleat/detail/export.h>
#include <pleat/outcome.h>
#include <pleat/time.h>

namespace pleat::inline v0_1 {

// The operation of one handler. `Work` is what the queue sees: a WaitingOperation that has Queue,
// the type of its queue; Cancel, a function for a cancellation slot; and TakeResult(), a tuple of
// what the handler is called with behind the error.
template <class Work, class Handler, class Executor>
class HandlerOperation final : public Work {
 public:
  using Queue = typename Work::Queue;
  using Pointer = std::unique_ptr<HandlerOperation, DestroyWaiter>;

  template <class AnyHandler, class... Args>
  static Pointer Make(const std::shared_ptr<Queue>& queue, const Executor& executor,
                      AnyHandler&& handler, Args&&... args) {
    Allocator allocator = AllocatorOf(handler);
    auto memory = Traits::allocate(allocator, 1);
    try {
      return Pointer(::new (static_cast<void*>(std::to_address(memory))) HandlerOperation(
          queue, executor, std::forward<AnyHandler>(handler), std::forward<Args>(args)...));
    } catch (...) {
      Traits::deallocate(allocator, memory, 1);
      throw;
    }
  }

  void ConnectCancellation() override {
    auto slot = boost::asio::get_associated_cancellation_slot(handler_);
    if (slot.is_connected()) slot.template emplace<typename Work::Cancel>(queue_, *this);
  }

  // By way of the queue's executor, as Asio's own operations do: the posted handler is work for
  // both executors, and an executor that runs functions at once, such as a future's, runs it there.
  void Complete(boost::system::error_code error) noexcept override {
    error_ = error;
    const auto queue_work = std::move(queue_work_);
    const auto work = std::move(work_);
    boost::asio::post(queue_work.get_executor(),
                      boost::asio::bind_executor(work.get_executor(), Invocation(this)));
  }

  void Destroy() noexcept override { Free(AllocatorOf(handler_)); }

 private:
  using HandlerExecutor = boost::asio::associated_executor_t<Handler, Executor>;
  using Allocator = typename std::allocator_traits<boost::asio::associated_allocator_t<
      Handler, boost::asio::recycling_allocator<void>>>::template rebind_alloc<HandlerOperation>;
  using Traits = std::allocator_traits<Allocator>;

  // The function that is posted. Destroyed without having run, it destroys the operation.
  class Invocation {
   public:
    explicit Invocation(HandlerOperation* operation) noexcept : operation_(operation) {}
    void operator()() { operation_.release()->Invoke(); }

   private:
    Pointer operation_;
  };

  template <class AnyHandler, class... Args>
  HandlerOperation(const std::shared_ptr<Queue>& queue, const Executor& executor,
                   AnyHandler&& handler, Args&&... args)
      : Work(std::forward<Args>(args)...),
        queue_(queue),
        handler_(std::forward<AnyHandler>(handler)),
        queue_work_(executor),
        work_(boost::asio::get_associated_executor(handler_, executor)) {}
  ~HandlerOperation() override = default;

  static Allocator AllocatorOf(const Handler& handler) noexcept {
    return Allocator(
        boost::asio::get_associated_allocator(handler, boost::asio::recycling_allocator<void>()));
  }

  void Free(Allocator allocator) noexcept {
    auto memory = std::pointer_traits<typename Traits::pointer>::pointer_to(*this);
    this->~HandlerOperation();
    Traits::deallocate(allocator, memory, 1);
  }

  // On the handler's executor. Frees the memory before the handler runs, which may want it for its
  // next operation.
  void Invoke() {
    auto slot = boost::asio::get_associated_cancellation_slot(handler_);
    if (slot.is_connected()) slot.clear();
    Allocator allocator = AllocatorOf(handler_);
    const boost::system::error_code error = error_;
    auto result = this->TakeResult();
    Handler handler = std::move(handler_);
    Free(std::move(allocator));
    const auto call = [&](auto&... each) { std::move(handler)(error, std::move(each)...); };
    std::apply(call, result);
  }

  std::shared_ptr<Queue> queue_;
  boost::system::error_code error_;
  Handler handler_;
  boost::asio::executor_work_guard<Executor> queue_work_;
  boost::asio::executor_work_guard<HandlerExecutor> work_;
};

// `Call` puts up to `max` items into a vector of Call::Item; the handler gets that vector, or with
// kOne its only element.
template <class Call, bool kOne>
class TakeWork : public Waiter {
 public:
  using Queue = WaiterQueue;
  using Cancel = WaiterHandle::CancelWaiter;

  Took Take(EngineTime now, See see) noexcept override { return call_(max_, now, see, items_); }

 protected:
  TakeWork(Call call, size_t max) : call_(std::move(call)), max_(std::max<size_t>(max, 1)) {}
  ~TakeWork() override = default;

  auto TakeResult() {
    if constexpr (kOne) {
      std::optional<Item> item;
      if (!items_.empty()) item.emplace(std::move(items_.front()));
      return std::make_tuple(std::move(item));
    } else {
      return std::make_tuple(std::move(items_));
    }
  }

 private:
  using Item = typename Call::Item;

  Call call_;
  const size_t max_;
  std::vector<Item> items_;
};

// Takes emissions by `take(max, now)`. Late are those that time closed, at their first delivery.
template <class Take>
struct TakeEmissions {
  using Item = typename std::invoke_result_t<Take&, size_t, LeaseTime>::value_type;

  Took operator()(size_t max, EngineTime now, Waiter::See see, std::vector<Item>& items) noexcept {
    items = take(max, LeaseTime(now));
    for (const Item& item : items) {
      if constexpr (requires { item.delivery; }) {
        if (item.delivery.deliveries > 1) continue;
      }
      if (IsByTime(item.reason)) see(item.closed);
    }
    return {.items = items.size()};
  }
  static bool IsByTime(Reason reason) noexcept {
    return reason == Reason::kQuiet || reason == Reason::kMaxWait || reason == Reason::kPartial;
  }

  Take take;
};

// Starts the operation of a handler.
template <class Call, bool kOne, class Executor>
struct TakeInitiation {
  using executor_type = Executor;
  executor_type get_executor() const noexcept { return executor; }

  template <class Handler>
  void operator()(Handler&& handler, Call call, size_t max) const {
    using Operation = HandlerOperation<TakeWork<Call, kOne>, std::decay_t<Handler>, Executor>;
    WaiterHandle::Start(*queue, Operation::Make(queue, executor, std::forward<Handler>(handler),
                                                std::move(call), max));
  }

  std::shared_ptr<WaiterQueue> queue;
  Executor executor;
};

}  // namespace pleat::inline v0_1
