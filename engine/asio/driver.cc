#include <memory>
#include <string>
#include <thread>
#include <utility>

#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/io_context.hpp>
#include <pleat/asio_driver.h>
#include <pleat/engine.h>

#include "engine/asio/driver_core.h"
#include "engine/base/check.h"

namespace pleat::inline v0_1 {
namespace {

// For constructors.
DriverOptions OrEnd(Engine& engine, const DriverOptions& options) noexcept {
  const absl::Status jump = DriverCore::CheckJump(engine, options);
  if (!jump.ok()) Fail("driver: " + std::string(jump.message()));
  return options;
}

}  // namespace

struct [[gnu::visibility("hidden")]] DriverThread::Impl {
  explicit Impl(std::shared_ptr<boost::asio::io_context> io)
      : context(std::move(io)), work(context->get_executor()), thread([this] { context->run(); }) {}

  std::shared_ptr<boost::asio::io_context> context;
  boost::asio::executor_work_guard<boost::asio::io_context::executor_type> work;
  std::thread thread;
};

DriverThread::DriverThread(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
DriverThread::DriverThread(DriverThread&&) noexcept = default;
DriverThread& DriverThread::operator=(DriverThread&& other) noexcept {
  Stop();
  impl_ = std::move(other.impl_);
  return *this;
}
DriverThread::~DriverThread() { Stop(); }

void DriverThread::Stop() noexcept {
  if (impl_ == nullptr) return;
  impl_->context->stop();
  impl_->thread.join();
  impl_.reset();
}

Driver::Driver(executor_type executor, Engine& engine, const DriverOptions& options)
    : core_(std::make_shared<DriverCore>(std::move(executor), engine, OrEnd(engine, options))) {
  core_->Begin();
}

// For Open(), which has checked the jump: a second look at the clock might not say the same.
Driver::Driver(std::shared_ptr<boost::asio::io_context> context, std::shared_ptr<DriverCore> core)
    : context_(std::move(context)), core_(std::move(core)) {
  core_->Begin();
}

Driver::Driver(boost::asio::io_context& context, Engine& engine, const DriverOptions& options)
    : Driver(executor_type(context.get_executor()), engine, options) {}

Driver::Driver(Engine& engine, const DriverOptions& options)
    : context_(std::make_shared<boost::asio::io_context>()),
      core_(
          std::make_shared<DriverCore>(context_->get_executor(), engine, OrEnd(engine, options))) {
  core_->Begin();
}

absl::StatusOr<std::unique_ptr<Driver>> Driver::Open(executor_type executor, Engine& engine,
                                                     const DriverOptions& options) {
  if (absl::Status jump = DriverCore::CheckJump(engine, options); !jump.ok()) return jump;
  return std::unique_ptr<Driver>(
      new Driver(nullptr, std::make_shared<DriverCore>(std::move(executor), engine, options)));
}
absl::StatusOr<std::unique_ptr<Driver>> Driver::Open(boost::asio::io_context& context,
                                                     Engine& engine, const DriverOptions& options) {
  return Open(executor_type(context.get_executor()), engine, options);
}
absl::StatusOr<std::unique_ptr<Driver>> Driver::Open(Engine& engine, const DriverOptions& options) {
  if (absl::Status jump = DriverCore::CheckJump(engine, options); !jump.ok()) return jump;
  auto context = std::make_shared<boost::asio::io_context>();
  auto core = std::make_shared<DriverCore>(context->get_executor(), engine, options);
  return std::unique_ptr<Driver>(new Driver(std::move(context), std::move(core)));
}

Driver::~Driver() { Stop(); }

EngineTime Driver::now() const noexcept { return core_->Now(); }
void Driver::Wake() { core_->Wake(); }
absl::Status Driver::Reanchor(EngineTime confirmed) { return core_->Reanchor(confirmed); }
void Driver::Stop() noexcept { core_->Stop(); }
DriverStats Driver::stats() const { return core_->stats(); }
Driver::executor_type Driver::get_executor() const noexcept { return core_->executor(); }

DriverThread Driver::RunThread() {
  if (context_ == nullptr) Fail("RunThread() is for a driver that was made without an io_context");
  return DriverThread(std::make_unique<DriverThread::Impl>(context_));
}

}  // namespace pleat::inline v0_1
