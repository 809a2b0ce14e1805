#include "engine/lines/scan/time_paths.h"

#include "engine/lines/scan/written_path.h"

namespace pleat::inline v0_1 {

std::vector<std::string> SplitTimePaths(std::string_view text) {
  std::vector<std::string> paths;
  for (std::string_view rest = text;;) {
    const std::string_view path =
        rest.starts_with('/') ? rest : rest.substr(0, EndOfWritten(rest, ","));
    paths.push_back(NormalPath(path));
    if (path.size() == rest.size()) return paths;
    rest.remove_prefix(path.size() + 1);
  }
}

}  // namespace pleat::inline v0_1
