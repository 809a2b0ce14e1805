#include "engine/lines/scan/path.h"

#include <algorithm>
#include <utility>

namespace pleat::inline v0_1 {
namespace {

absl::StatusOr<Path> ParsePointer(std::string_view text) {
  Path steps;
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '/') {
      steps.emplace_back();
    } else if (text[i] != '~') {
      steps.back() += text[i];
    } else if (i + 1 < text.size() && (text[i + 1] == '0' || text[i + 1] == '1')) {
      steps.back() += text[++i] == '0' ? '~' : '/';
    } else {
      return absl::InvalidArgumentError("has a ~ that is neither ~0 nor ~1");
    }
  }
  return steps;
}

absl::StatusOr<Path> ParseDotted(std::string_view text) {
  Path steps;
  for (;;) {
    const size_t dot = text.find('.');
    const std::string_view step = text.substr(0, dot);
    if (step.empty()) return absl::InvalidArgumentError("has an empty step");
    steps.emplace_back(step);
    if (dot == std::string_view::npos) return steps;
    text.remove_prefix(dot + 1);
  }
}

}  // namespace

uint32_t IndexOf(std::string_view step) noexcept {
  constexpr size_t kDigitsMax = 7;  // a line has at most a million bytes
  if (step.empty() || step.size() > kDigitsMax) return kNoIndex;
  if (step.size() > 1 && step[0] == '0') return kNoIndex;
  uint32_t index = 0;
  for (const char c : step) {
    if (c < '0' || c > '9') return kNoIndex;
    index = 10 * index + static_cast<uint32_t>(c - '0');
  }
  return index;
}

absl::StatusOr<Path> ParsePath(std::string_view text) {
  if (text.empty()) return absl::InvalidArgumentError("is empty");
  return text[0] == '/' ? ParsePointer(text) : ParseDotted(text);
}

int PathTree::Add(const Path& path) {
  int at = kRoot;
  for (const std::string& step : path) {
    const uint32_t fingerprint = Fingerprint(step);
    int next = Child(at, step, fingerprint);
    if (next == kNone) {
      next = static_cast<int>(nodes_.size());
      nodes_.emplace_back();
      const uint32_t index = IndexOf(step);
      Node& parent = nodes_[static_cast<size_t>(at)];
      parent.branches.push_back({step, fingerprint, index, next});
      if (index != kNoIndex) parent.elements = std::max(parent.elements, index + 1);
    }
    at = next;
  }
  Node& node = nodes_[static_cast<size_t>(at)];
  if (node.slot == kNone) node.slot = slots_++;
  return node.slot;
}

int PathTree::AddWritten(const WrittenPath& path) {
  std::vector<DerivedWay> ways;
  for (const PathWay& way : path.ways) ways.push_back({Add(way.steps), way.searches});
  if (ways.size() == 1 && ways[0].searches.empty()) return ways[0].slot;
  const auto known = std::ranges::find(derived_, ways, &Derived::ways);
  if (known != derived_.end()) return known->slot;
  derived_.push_back({slots_, std::move(ways)});
  return slots_++;
}

}  // namespace pleat::inline v0_1
