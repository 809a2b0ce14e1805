#include <string>

#include <boost/system/error_category.hpp>
#include <pleat/asio_driver.h>

namespace pleat::inline v0_1 {
namespace {

// error_category has no virtual destructor, on purpose: nobody deletes one.
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wnon-virtual-dtor"
class Category final : public boost::system::error_category {
 public:
  const char* name() const noexcept override { return "pleat"; }
  std::string message(int value) const override {
    switch (static_cast<AsioError>(value)) {
      case AsioError::kOverloaded: return "too many operations wait";
      case AsioError::kClosed:
        return "the driver was stopped, the collection was closed, or the engine is gone";
      case AsioError::kResync: return "changes were lost; watch again to know what is live";
    }
    return "unknown error of pleat";
  }
};
#pragma GCC diagnostic pop

}  // namespace

const boost::system::error_category& AsioErrorCategory() noexcept {
  static const Category category;
  return category;
}

boost::system::error_code make_error_code(AsioError error) noexcept {
  return {static_cast<int>(error), AsioErrorCategory()};
}

}  // namespace pleat::inline v0_1
