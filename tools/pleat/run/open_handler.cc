#include "tools/pleat/run/open_handler.h"

#include <cstdlib>
#include <utility>
#include <variant>

#include "tools/pleat/run/line_handler.h"
#include "tools/pleat/run/live_handler.h"

namespace pleat::cli {

absl::StatusOr<std::unique_ptr<RunHandler>> OpenHandler(Engine& engine, const RunOptions& options,
                                                        RunCounts& counts) {
  const auto as_handler = [](auto opened) -> absl::StatusOr<std::unique_ptr<RunHandler>> {
    if (!opened.ok()) return opened.status();
    return std::unique_ptr<RunHandler>(*std::move(opened));
  };
  if (std::holds_alternative<LiveSetSpec>(options.collections.front().spec)) {
    return as_handler(LiveHandler::Open(engine, options, counts));
  }
  return as_handler(LineHandler::Open(engine, options, counts));
}

MakeHandler HandlerFor(const RunOptions& options, RunCounts& counts) {
  return [&options, &counts](Lane& lane) {
    auto handler = OpenHandler(lane.engine(), options, counts);
    if (!handler.ok()) std::abort();
    (*handler)->PublishIn(lane);
    return *std::move(handler);
  };
}

}  // namespace pleat::cli
