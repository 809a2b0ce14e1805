#include <map>
#include <optional>
#include <string>

#include <pleat/rollup_values.h>

#include "engine/base/concat.h"
#include "engine/base/lock.h"
#include "engine/base/map_part.h"

namespace pleat::inline v0_1 {

class MemoryCheckpointStore::Impl {
 public:
  mutable Lock lock;
  std::map<std::string, Checkpoint, std::less<>> checkpoints ABSL_GUARDED_BY(lock);
  std::optional<std::string> calendar ABSL_GUARDED_BY(lock);
};

void CheckpointStore::PublishBatch(std::span<const std::string_view> keys,
                                   std::span<const Checkpoint> offers,
                                   std::span<absl::StatusOr<Checkpoint>> kept) {
  for (size_t i = 0; i < keys.size(); ++i) kept[i] = Publish(keys[i], offers[i]);
}

absl::Status CheckpointStore::List(std::string& /*cursor*/, size_t /*max*/, SeeCheckpoint /*see*/) {
  return absl::UnimplementedError("this store of checkpoints cannot list its keys");
}

absl::Status CheckpointStore::CheckCalendar(std::string_view /*calendar_name*/) {
  return absl::OkStatus();
}

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

absl::Status MemoryCheckpointStore::List(std::string& cursor, size_t max, SeeCheckpoint see) {
  LockGuard guard(impl_->lock);
  SeePart(impl_->checkpoints, cursor, max, see);
  return absl::OkStatus();
}

absl::Status MemoryCheckpointStore::CheckCalendar(std::string_view calendar_name) {
  LockGuard guard(impl_->lock);
  if (!impl_->calendar) impl_->calendar = calendar_name;
  if (*impl_->calendar == calendar_name) return absl::OkStatus();
  const auto shown = [](std::string_view name) {
    return name.empty() ? std::string("none") : Concat("\"", name, "\"");
  };
  return absl::FailedPreconditionError(Concat("calendar_name: the calendar is ",
                                              shown(calendar_name), ", and ",
                                              shown(*impl_->calendar), " in the store"));
}

size_t MemoryCheckpointStore::size() const {
  LockGuard guard(impl_->lock);
  return impl_->checkpoints.size();
}

}  // namespace pleat::inline v0_1
