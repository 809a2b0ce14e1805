#include "tools/pleat/parked_lanes.h"

#include <unistd.h>

#include <cerrno>
#include <fstream>
#include <memory>
#include <utility>

#include <absl/status/statusor.h>

#include "tools/pleat/errno_status.h"
#include "tools/pleat/output_file.h"

namespace pleat::cli {
namespace {

// Whoever removes or copies the lanes of a consumer takes this with them, by its name.
std::string PathOfParked(const std::string& store, const std::string& consumer) {
  return store + "/consumers/" + consumer + "/lane-parked";
}

}  // namespace

// A line for each: "3 401 why".
absl::Status KeepParked(const std::string& store, const std::string& consumer,
                        const std::vector<ParkedLane>& lanes) {
  const std::string path = PathOfParked(store, consumer);
  if (lanes.empty()) {
    return unlink(path.c_str()) == 0 || errno == ENOENT ? absl::OkStatus()
                                                        : ErrnoStatus(errno, path);
  }
  absl::StatusOr<std::unique_ptr<OutputFile>> file =
      OutputFile::Create({.role = "the parked lanes", .path = path}, OutputFile::Mode::kWhole);
  if (!file.ok()) return file.status();
  std::string text;
  for (const ParkedLane& each : lanes) {
    text += std::to_string(each.partition) + " " + std::to_string(each.next) + " " +
            Printable(each.why) + "\n";
  }
  absl::Status status = (*file)->Append(text);
  if (status.ok()) status = (*file)->Commit();
  return status;
}

std::vector<ParkedLane> ReadParked(const std::string& store, const std::string& consumer) {
  std::vector<ParkedLane> lanes;
  std::ifstream in(PathOfParked(store, consumer));
  for (ParkedLane lane; in >> lane.partition >> lane.next && in.get() == ' ';) {
    if (!std::getline(in, lane.why)) break;
    lanes.push_back(lane);
  }
  return lanes;
}

}  // namespace pleat::cli
