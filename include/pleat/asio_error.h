// AsioError: how the operations of a Consumer or a Watcher fail, beside
// boost::asio::error::operation_aborted, which tells that an operation was cancelled.
//
//   if (error == pleat::AsioError::kClosed) return;
#pragma once

#include <type_traits>

#include <boost/system/error_code.hpp>
#include <pleat/export.h>

namespace pleat::inline v0_1 {

enum class AsioError {
  // max_waiters operations wait already. Start it again when one has completed.
  kOverloaded = 1,
  // The driver was stopped, the collection was closed, or the engine is gone. Start no other
  // operation.
  kClosed = 2,
  // Of a Watcher: changes that it had not taken are gone. Call Watch() again.
  kResync = 3,
};
PLEAT_EXPORT const boost::system::error_category& AsioErrorCategory() noexcept;
PLEAT_EXPORT boost::system::error_code make_error_code(AsioError error) noexcept;

}  // namespace pleat::inline v0_1

template <>
struct boost::system::is_error_code_enum<pleat::AsioError> : std::true_type {};
