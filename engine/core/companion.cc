#include <pleat/untyped/companion.h>

#include <utility>

#include "engine/base/concat.h"
#include "engine/core/collection.h"
#include "engine/core/engine_core.h"

namespace pleat::inline v0_1 {

absl::Status SetCompanion(Engine& engine, std::string_view name,
                          std::shared_ptr<Companion> companion) {
  absl::Status status;
  EngineAccess::CoreOf(engine)->WithCollections([&](const EngineCore::Collections& collections) {
    const auto found = collections.find(name);
    if (found == collections.end()) {
      status = absl::NotFoundError(Concat("there is no collection \"", name, "\""));
    } else if (!found->second->SetCompanion(std::move(companion))) {
      status = absl::AlreadyExistsError(Concat("\"", name, "\" has a companion"));
    }
  });
  return status;
}

}  // namespace pleat::inline v0_1
