#include "tools/pleat/known_files.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <ctime>
#include <functional>
#include <numeric>
#include <queue>
#include <tuple>
#include <utility>

#include "tools/pleat/errno_status.h"
#include "tools/pleat/flag_value.h"
#include "tools/pleat/input.h"
#include "tools/pleat/interrupt.h"
#include "tools/pleat/named_files.h"
#include "tools/pleat/text_digest.h"

namespace pleat::cli {
namespace {

constexpr int64_t kSecondNs = 1'000'000'000;

template <class Time>
int64_t Nanoseconds(const Time& t) {
  return int64_t{t.tv_sec} * kSecondNs + int64_t{t.tv_nsec};
}

// A change that is a second old has a time of its own on every file system that is in use.
int64_t ChangeTime(const struct statx& info) {
  timespec now{};
  clock_gettime(CLOCK_REALTIME, &now);
  const int64_t changed = Nanoseconds(info.stx_ctime);
  return Nanoseconds(now) - changed > kSecondNs ? changed : 0;
}

// Standard input is read on where it stands: looking at it leaves that place.
class StandardInputPlace {
 public:
  explicit StandardInputPlace(const std::string& path)
      : place_(path == "-" ? lseek(STDIN_FILENO, 0, SEEK_CUR) : -1) {}
  ~StandardInputPlace() {
    if (place_ >= 0) lseek(STDIN_FILENO, place_, SEEK_SET);
  }
  StandardInputPlace(const StandardInputPlace&) = delete;
  StandardInputPlace& operator=(const StandardInputPlace&) = delete;

 private:
  const off_t place_;
};

}  // namespace

absl::StatusOr<std::optional<FileStamp>> StampOf(const std::string& path) {
  struct statx info{};
  const bool is_stdin = path == "-";
  if (statx(is_stdin ? STDIN_FILENO : AT_FDCWD, is_stdin ? "" : path.c_str(),
            is_stdin ? AT_EMPTY_PATH : 0, STATX_BASIC_STATS | STATX_BTIME, &info) != 0) {
    return ErrnoStatus(errno, InputName(path));
  }
  if (!S_ISREG(info.stx_mode)) return std::optional<FileStamp>();
  const bool knows_birth = (info.stx_mask & STATX_BTIME) != 0;
  return std::optional<FileStamp>({.device = makedev(info.stx_dev_major, info.stx_dev_minor),
                                   .inode = info.stx_ino,
                                   .born_ns = knows_birth ? Nanoseconds(info.stx_btime) : 0,
                                   .size = info.stx_size,
                                   .changed_ns = ChangeTime(info)});
}

// Reads a FILE forward, and digests its lines.
class KnownFiles::Beginning {
 public:
  explicit Beginning(LineReader reader) : reader_(std::move(reader)) {}

  // Reads on until so many bytes have been read. False if there are fewer. REQUIRES: no fewer than
  // before. Errors: kCancelled at a signal; those of the file.
  absl::StatusOr<bool> To(uint64_t bytes) {
    while (read_ < bytes && !ended_) {
      if (Interrupted()) return absl::CancelledError();
      const uint64_t wanted = std::min(bytes - read_, kBytesBetweenLooks);
      const absl::StatusOr<uint64_t> got = reader_.Skip(wanted, digest_);
      // A file of another format ends here. The run that reads it will say why.
      if (absl::IsInvalidArgument(got.status())) return !(ended_ = true);
      if (!got.ok()) return got.status();
      read_ += *got;
      ended_ = *got < wanted;
      value_ = digest_.value();
    }
    return read_ == bytes;
  }
  absl::StatusOr<bool> AtEnd() {
    const absl::StatusOr<bool> at_end = ended_ ? true : reader_.AtEnd();
    return absl::IsInvalidArgument(at_end.status()) ? true : at_end;
  }
  absl::StatusOr<bool> AtLineEnd() {
    const absl::StatusOr<bool> at_end = ended_ ? true : reader_.AtLineEnd();
    return absl::IsInvalidArgument(at_end.status()) ? true : at_end;
  }
  absl::StatusOr<bool> AtLastLineEnd() {
    const absl::StatusOr<bool> at_end = ended_ ? true : reader_.AtLastLineEnd();
    return absl::IsInvalidArgument(at_end.status()) ? true : at_end;
  }
  uint64_t digest() const { return value_; }
  uint64_t bytes() const { return read_; }
  // Whether a record without an end was left. REQUIRES: To() has met the end.
  bool has_rest() const { return reader_.has_rest(); }

 private:
  LineReader reader_;
  TextDigest digest_;
  uint64_t value_ = 0;
  uint64_t read_ = 0;
  bool ended_ = false;
};

absl::StatusOr<std::vector<KnownFile>> KnownFiles::Find(std::span<const std::string> paths,
                                                        Open open) {
  files_.clear();
  matches_.clear();
  owners_.assign(inputs_.size(), std::nullopt);
  by_head_.resize(inputs_.size());
  std::iota(by_head_.begin(), by_head_.end(), size_t{0});
  std::ranges::sort(by_head_, {}, [this](size_t i) { return inputs_[i].head_bytes(); });
  for (const std::string& path : paths) {
    if (absl::Status added = Add(path); !added.ok()) return added;
  }
  for (size_t file = 0; file < files_.size(); ++file) {
    if (!files_[file].stamp) continue;
    if (absl::Status compared = Compare(file, open); !compared.ok()) return compared;
  }
  if (absl::Status assigned = Assign(); !assigned.ok()) return assigned;
  if (absl::Status checked = CheckNotEdited(); !checked.ok()) return checked;
  if (absl::Status found = FindCopies(open); !found.ok()) return found;
  if (absl::Status found = FindCopiesOfGone(open); !found.ok()) return found;
  return std::move(files_);
}

absl::Status KnownFiles::Add(const std::string& path) {
  const absl::StatusOr<std::optional<FileStamp>> stamp = StampOf(path);
  if (!stamp.ok()) return stamp.status();
  if (*stamp && path == "-" && lseek(STDIN_FILENO, 0, SEEK_CUR) > 0) {
    return Refused(
        "keeps how far a file was read, and standard input is one that does not stand at its "
        "beginning; give the file itself, or its rest through a pipe");
  }
  if (*stamp) {
    for (const KnownFile& other : files_) {
      if (!other.stamp || !other.stamp->IsSameFile(**stamp)) continue;
      return Refused("reads each file once, and " + Printable(InputName(path)) +
                     " is the same as " + Printable(InputName(other.path)));
    }
  }
  files_.push_back({.path = path, .name = WholeName(path), .stamp = *stamp});
  return absl::OkStatus();
}

absl::Status KnownFiles::Refused(std::string_view why) const {
  std::string text = keeper_ + ": ";
  text += why;
  return absl::InvalidArgumentError(text);
}

absl::Status KnownFiles::Compare(size_t file, Open open) {
  for (size_t i = 0; i < inputs_.size(); ++i) {
    if (!inputs_[i].read_whole || !inputs_[i].stamp.Proves(*files_[file].stamp)) continue;
    Note(file, i, Fit::kWhole);
    return absl::OkStatus();
  }
  if (inputs_.empty()) return absl::OkStatus();
  const StandardInputPlace place(files_[file].path);
  absl::StatusOr<LineReader> reader = open(files_[file].path, UnfinishedEnd::kTaken);
  if (!reader.ok()) return reader.status();
  const absl::StatusOr<std::optional<FileStamp>> opened = StampOf(files_[file].path);
  if (!opened.ok()) return opened.status();
  if (!*opened || !(*opened)->IsSameFile(*files_[file].stamp)) {
    return absl::FailedPreconditionError(Printable(InputName(files_[file].path)) +
                                         ": was replaced while it was looked at; the same command "
                                         "looks again");
  }
  return CompareWithInputs(Beginning(*std::move(reader)), file);
}

// In one pass, through all places where the digest of an input ends: of its head, and if that is
// alike, of its whole lines and of its unfinished last ones.
absl::Status KnownFiles::CompareWithInputs(Beginning beginning, size_t file) {
  enum Part { kHead, kLines, kLastLines };
  using Place = std::tuple<uint64_t, Part, size_t>;
  std::priority_queue<Place, std::vector<Place>, std::greater<>> places;
  std::vector<Fit> fits(inputs_.size(), Fit::kNone);
  for (size_t head = 0; head < by_head_.size() || !places.empty();) {
    if (head < by_head_.size()) {
      const size_t i = by_head_[head];
      const Place next{inputs_[i].head_bytes(), kHead, i};
      if (places.empty() || next < places.top()) {
        places.push(next);
        ++head;
      }
    }
    const auto [bytes, part, i] = places.top();
    places.pop();
    const RunNote::Input& input = inputs_[i];
    const absl::StatusOr<bool> reached = beginning.To(bytes);
    if (!reached.ok()) return reached.status();
    if (!*reached) {
      if (part == kLines) fits[i] = Fit::kShorter;
      head = by_head_.size();  // all others are as long
      continue;
    }
    if (part == kHead) {
      if (bytes > 0 && beginning.digest() != input.head) continue;
      fits[i] = Fit::kHead;
      places.emplace(input.bytes, kLines, i);
      continue;
    }
    const uint64_t digest = part == kLines ? input.digest : input.last_digest;
    if (bytes > 0 && beginning.digest() != digest) continue;
    const absl::StatusOr<bool> ended =
        part == kLines ? beginning.AtEnd() : beginning.AtLastLineEnd();
    if (!ended.ok()) return ended.status();
    if (part == kLines && input.last_bytes > 0) {
      fits[i] = Fit::kLastLine;
      places.emplace(bytes + input.last_bytes, kLastLines, i);
    } else if (part == kLines || *ended) {
      fits[i] = *ended ? Fit::kWhole : Fit::kAll;
    } else {
      const absl::StatusOr<bool> line_ends = beginning.AtLineEnd();
      if (!line_ends.ok()) return line_ends.status();
      if (*line_ends) fits[i] = Fit::kMoreLines;
    }
  }
  for (size_t i = 0; i < fits.size(); ++i) {
    if (fits[i] != Fit::kNone) Note(file, i, fits[i]);
  }
  return absl::OkStatus();
}

void KnownFiles::Note(size_t file, size_t input, Fit fit) {
  const RunNote::Input& was = inputs_[input];
  if (was.is_copy && fit != Fit::kWhole) return;
  const bool same_file = was.stamp.IsSameFile(*files_[file].stamp);
  // Nothing but an unfinished line was read: where the file has other lines, only its growth tells.
  const bool has_grown = same_file && files_[file].stamp->size > was.stamp.size;
  if (was.bytes == 0 && fit == Fit::kLastLine && !has_grown) return;
  const int distance = same_file ? 0 : was.name == files_[file].name ? 1 : 2;
  matches_.push_back({file, input, fit, distance});
}

absl::Status KnownFiles::Assign() {
  std::ranges::sort(matches_, [this](const Match& a, const Match& b) {
    if (a.distance != b.distance) return a.distance < b.distance;
    const uint64_t bytes_a = inputs_[a.input].bytes;
    const uint64_t bytes_b = inputs_[b.input].bytes;
    if (bytes_a != bytes_b) return bytes_a > bytes_b;
    const bool a_goes_on = a.fit == Fit::kAll;
    return a_goes_on != (b.fit == Fit::kAll) ? a_goes_on : a.file < b.file;
  });
  for (const Match& match : matches_) {
    KnownFile& file = files_[match.file];
    if (match.fit < Fit::kLastLine || file.input || owners_[match.input]) continue;
    if (match.fit <= Fit::kMoreLines) {
      return Changed(
          match.file, "the last line, which had no end, has become longer",
          "give what follows that line as a FILE of its own; for files that grow there is "
          "--at-end keep");
    }
    file.input = match.input;
    file.nothing_new = match.fit == Fit::kWhole;
    file.is_renamed = inputs_[match.input].name != file.name;
    owners_[match.input] = match.file;
  }
  for (KnownFile& file : files_) {
    const auto has_name = [&](const RunNote::Input& input) {
      return input.name == file.name && !input.is_copy;
    };
    const bool is_new = file.stamp && file.stamp->size > 0 && !file.input;
    file.is_successor = is_new && std::ranges::any_of(inputs_, has_name);
  }
  return absl::OkStatus();
}

// A file that still begins as it did, and that has nothing else of that, is no other one.
absl::Status KnownFiles::CheckNotEdited() const {
  for (const Match& match : matches_) {
    const bool is_it =
        match.distance < 2 && inputs_[match.input].bytes > RunNote::Input::kHeadBytes;
    if (!is_it || files_[match.file].input || owners_[match.input]) continue;
    return Changed(match.file, match.fit == Fit::kShorter ? "has become shorter" : "has changed",
                   "if it is another file now, give a copy of it that has another name");
  }
  return absl::OkStatus();
}

// Those that end within a head may be copies of any input's file, others of those whose head they have.
absl::Status KnownFiles::FindCopies(Open open) {
  std::erase_if(matches_, [this](const Match& match) {
    return files_[match.file].input || !owners_[match.input];
  });
  if (std::ranges::none_of(owners_, [](const auto& owner) { return owner.has_value(); })) {
    return absl::OkStatus();
  }
  std::ranges::sort(matches_, {}, &Match::input);
  std::vector<size_t> of_any;
  for (size_t file = 0; file < files_.size(); ++file) {
    if (!files_[file].stamp || files_[file].input) continue;
    const absl::StatusOr<bool> ends = EndsWithinHead(file, open);
    if (!ends.ok()) return ends.status();
    if (!*ends) continue;
    if (absl::Status read = ReadContent(file, open); !read.ok()) return read;
    of_any.push_back(file);
  }
  auto match = matches_.begin();
  for (size_t input = 0; input < inputs_.size(); ++input) {
    if (!owners_[input]) continue;
    std::vector<size_t> candidates = of_any;
    for (; match != matches_.end() && match->input == input; ++match) {
      if (absl::Status read = ReadContent(match->file, open); !read.ok()) return read;
      candidates.push_back(match->file);
    }
    absl::Status found = FindCopiesOf(*owners_[input], std::move(candidates), open);
    if (!found.ok()) return found;
  }
  return absl::OkStatus();
}

absl::StatusOr<bool> KnownFiles::EndsWithinHead(size_t file, Open open) const {
  const StandardInputPlace place(files_[file].path);
  absl::StatusOr<LineReader> reader = open(files_[file].path, UnfinishedEnd::kLeft);
  if (!reader.ok()) return reader.status();
  const absl::StatusOr<bool> reached = Beginning(*std::move(reader)).To(RunNote::Input::kHeadBytes);
  return reached.ok() ? !*reached : reached;
}

// Once.
absl::Status KnownFiles::ReadContent(size_t file, Open open) {
  if (files_[file].content) return absl::OkStatus();
  const StandardInputPlace place(files_[file].path);
  absl::StatusOr<LineReader> reader = open(files_[file].path, UnfinishedEnd::kLeft);
  if (!reader.ok()) return reader.status();
  Beginning beginning(*std::move(reader));
  if (const auto read = beginning.To(RunNote::Input::kHeadBytes); !read.ok()) return read.status();
  const uint64_t head = beginning.digest();
  if (const auto read = beginning.To(UINT64_MAX); !read.ok()) return read.status();
  files_[file].content = {.bytes = beginning.bytes(),
                          .digest = beginning.digest(),
                          .head = head,
                          .has_rest = beginning.has_rest()};
  return absl::OkStatus();
}

absl::Status KnownFiles::FindCopiesOf(size_t original, std::vector<size_t> files, Open open) {
  std::erase_if(files, [this](size_t file) {
    return files_[file].content->bytes == 0 || !files_[file].copy_of.empty();
  });
  if (files.empty()) return absl::OkStatus();
  std::ranges::sort(files, {}, [this](size_t file) { return files_[file].content->bytes; });
  const StandardInputPlace place(files_[original].path);
  absl::StatusOr<LineReader> reader = open(files_[original].path, UnfinishedEnd::kTaken);
  if (!reader.ok()) return reader.status();
  Beginning beginning(*std::move(reader));
  for (const size_t file : files) {
    KnownFile& copy = files_[file];
    const absl::StatusOr<bool> reached = beginning.To(copy.content->bytes);
    if (!reached.ok()) return reached.status();
    if (!*reached) break;
    if (beginning.digest() != copy.content->digest) continue;
    copy.copy_of = files_[original].path;
    copy.is_successor = false;
  }
  return absl::OkStatus();
}

// The originals are those of inputs that no FILE begins with any more.
absl::Status KnownFiles::FindCopiesOfGone(Open open) {
  for (KnownFile& file : files_) {
    if (!file.stamp || file.stamp->size == 0 || file.input || !file.copy_of.empty()) continue;
    std::vector<size_t> inputs;
    for (size_t i = 0; i < inputs_.size(); ++i) {
      const RunNote::Input& input = inputs_[i];
      const bool is_it = input.stamp.IsSameFile(*file.stamp) || input.name == file.name;
      if (!owners_[i] && !is_it && !input.line_ends.empty()) inputs.push_back(i);
    }
    if (inputs.empty()) continue;
    const StandardInputPlace place(file.path);
    absl::StatusOr<LineReader> reader = open(file.path, UnfinishedEnd::kLeft);
    if (!reader.ok()) return reader.status();
    const absl::StatusOr<std::optional<size_t>> longer =
        LongerInput(Beginning(*std::move(reader)), inputs);
    if (!longer.ok()) return longer.status();
    if (!*longer) continue;
    file.copy_of = inputs_[**longer].name;
    file.original_is_gone = true;
    file.is_successor = false;
  }
  return absl::OkStatus();
}

// In one pass, until no input is left or the file ends.
absl::StatusOr<std::optional<size_t>> KnownFiles::LongerInput(
    Beginning beginning, const std::vector<size_t>& inputs) const {
  using Place =
      std::tuple<uint64_t, size_t, size_t>;  // bytes, and which end of a line of which input
  std::priority_queue<Place, std::vector<Place>, std::greater<>> places;
  for (const size_t i : inputs) places.emplace(inputs_[i].line_ends[0].bytes, 0, i);
  while (!places.empty()) {
    const auto [bytes, end, i] = places.top();
    places.pop();
    const RunNote::Input& input = inputs_[i];
    const absl::StatusOr<bool> reached = beginning.To(bytes);
    if (!reached.ok()) return reached.status();
    if (!*reached) {
      if (end > 0) return i;
      continue;
    }
    if (bytes == input.bytes || beginning.digest() != input.line_ends[end].digest) continue;
    const bool is_last = end + 1 == input.line_ends.size();
    places.emplace(is_last ? input.bytes : input.line_ends[end + 1].bytes, end + 1, i);
  }
  return std::nullopt;
}

absl::Status KnownFiles::Changed(size_t file, std::string_view what,
                                 std::string_view remedy) const {
  std::string text = Printable(InputName(files_[file].path)) + ": ";
  text += what;
  text += " since it was read into " + keeper_ + " " + Printable(directory_) + "; ";
  text += remedy;
  return absl::FailedPreconditionError(text);
}

}  // namespace pleat::cli
