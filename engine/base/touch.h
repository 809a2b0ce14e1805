// The system backs and clears a page of memory when somebody first writes to it. Touch() has that done
// now, for memory whose content does not matter yet.
#pragma once

#include <cstddef>

namespace pleat::inline v0_1 {

inline void Touch(std::byte* begin, size_t bytes) noexcept {
  constexpr size_t kSmallestPage = 4096;
  for (size_t i = 0; i < bytes; i += kSmallestPage) {
    static_cast<volatile std::byte*>(begin)[i] = std::byte{0};
  }
}

}  // namespace pleat::inline v0_1
