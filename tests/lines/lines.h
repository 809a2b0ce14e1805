// Lines as JsonFolder wants them: with readable bytes behind, and those as misleading as can be.
#pragma once

#include <string>
#include <string_view>

#include <pleat/json.h>

namespace pleat {

// A copy of a text followed by brackets, quotes and commas that a parser must not take for part of it.
class PaddedLine {
 public:
  explicit PaddedLine(std::string_view text) : bytes_(text), size_(text.size()) {
    while (bytes_.size() < size_ + kLinePaddingBytes) bytes_ += "}]\",:1\\";
  }

  std::string_view view() const { return std::string_view(bytes_).substr(0, size_); }

 private:
  std::string bytes_;
  size_t size_;
};

}  // namespace pleat
