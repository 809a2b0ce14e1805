#include <map>
#include <string>

#include <pleat/rollup_values.h>

#include "engine/base/lock.h"

namespace pleat::inline v0_1 {

class MemoryCheckpointStore::Impl {
 public:
  mutable Lock lock;
  std::map<std::string, Checkpoint, std::less<>> checkpoints ABSL_GUARDED_BY(lock);
};

MemoryCheckpointStore::MemoryCheckpointStore() : impl_(std::make_unique<Impl>()) {}
MemoryCheckpointStore::~MemoryCheckpointStore() = default;

absl::StatusOr<Checkpoint> MemoryCheckpointStore::Load(std::string_view key) {
  LockGuard guard(impl_->lock);
  const auto found = impl_->checkpoints.find(key);
  return found == impl_->checkpoints.end() ? Checkpoint{} : found->second;
}

absl::StatusOr<Checkpoint> MemoryCheckpointStore::Publish(std::string_view key,
                                                          const Checkpoint& checkpoint) {
  LockGuard guard(impl_->lock);
  auto kept = impl_->checkpoints.find(key);
  if (kept == impl_->checkpoints.end()) {
    kept = impl_->checkpoints.emplace(key, checkpoint).first;
  } else if (checkpoint.until > kept->second.until) {
    kept->second = checkpoint;
  }
  return kept->second;
}

size_t MemoryCheckpointStore::size() const {
  LockGuard guard(impl_->lock);
  return impl_->checkpoints.size();
}

}  // namespace pleat::inline v0_1
