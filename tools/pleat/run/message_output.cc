#include "tools/pleat/run/message_output.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <iterator>
#include <map>
#include <optional>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include <absl/container/flat_hash_set.h>
#include <pleat/event_store.h>
#include <pleat/event_store_reader.h>

#include "tools/pleat/errno_status.h"
#include "tools/pleat/json_text.h"
#include "tools/pleat/lock_owner.h"
#include "tools/pleat/named_files.h"
#include "tools/pleat/output_file.h"
#include "tools/pleat/quantity_text.h"
#include "tools/pleat/run/run_handler.h"

namespace pleat::cli {
namespace {

constexpr std::string_view kIdMember = "{\"_id\":\"";

// What an earlier run has left in a file.
struct LinesBefore {
  uint64_t size = 0;   // of the file
  uint64_t bytes = 0;  // of whole lines
  absl::flat_hash_set<std::string> ids;
};

absl::Status NotOurs(const NamedFile& file) {
  return absl::InvalidArgumentError(file.role + ": " + Printable(file.path) +
                                    " holds lines that no run has written; name another file");
}

// A file that is not there, a device and a pipe have none.
absl::StatusOr<LinesBefore> ReadLinesBefore(const NamedFile& file) {
  LinesBefore before;
  struct stat info{};
  if (file.path.empty() || file.path == "-" || stat(file.path.c_str(), &info) != 0 ||
      !S_ISREG(info.st_mode) || info.st_size == 0) {
    return before;
  }
  // Twice as much as messages may have: lines have ids, and the largest line.
  const uint64_t size = before.size = static_cast<uint64_t>(info.st_size);
  const uint64_t begin = size - std::min(size, 2 * kUnconfirmedBytesMax);
  std::ifstream in(file.path, std::ios::binary);
  std::string tail(size - begin, '\0');
  in.seekg(static_cast<std::streamoff>(begin));
  if (!in.read(tail.data(), static_cast<std::streamsize>(tail.size()))) {
    return absl::UnavailableError("cannot read " + Printable(file.path));
  }
  // A line that was cut off by the end of its writer is written anew.
  const size_t whole = tail.rfind('\n') + 1;
  const std::string_view cut_off = std::string_view(tail).substr(whole);
  if (!cut_off.starts_with(kIdMember) && !kIdMember.starts_with(cut_off)) return NotOurs(file);
  before.bytes = begin + whole;
  std::string_view rest = std::string_view(tail).substr(0, whole);
  if (begin > 0) rest.remove_prefix(std::min(rest.find('\n') + 1, rest.size()));
  while (!rest.empty()) {
    const std::string_view line = rest.substr(0, rest.find('\n') + 1);
    rest.remove_prefix(line.size());
    const size_t end = line.find('"', kIdMember.size());
    if (!line.starts_with(kIdMember) || end == line.npos) return NotOurs(file);
    before.ids.insert(std::string(line.substr(kIdMember.size(), end - kIdMember.size())));
  }
  return before;
}

// One of the files, and the messages that it has had before.
class LineFile {
 public:
  explicit LineFile(NamedFile named) : named_(std::move(named)) {}

  const NamedFile& named() const { return named_; }
  absl::Status Look() {
    absl::StatusOr<LinesBefore> before = ReadLinesBefore(named_);
    if (!before.ok()) return before.status();
    before_ = *std::move(before);
    return absl::OkStatus();
  }
  // Nobody else writes the file from now on, if that is a run as well.
  absl::Status Lock() {
    if (file_ == nullptr || !file_->is_cut_back()) return absl::OkStatus();
    const bool is_ours = flock(file_->fd(), LOCK_EX | LOCK_NB) == 0;
    return is_ours ? CheckSize(before_.size) : SomebodyElse("is written by another run");
  }
  // A line of what --check says. Errors: the file cannot be written.
  absl::StatusOr<std::string> Text() const {
    if (named_.path.empty()) return std::string();
    if (named_.path == "-") return std::string("output      standard output\n");
    std::string out = named_.role.substr(2);
    out.resize(12, ' ');
    struct stat info{};
    const bool is_there = stat(named_.path.c_str(), &info) == 0;
    const std::string& written = is_there ? named_.path : DirectoryOf(named_.path);
    if (access(written.c_str(), W_OK) != 0) return ErrnoStatus(errno, named_.path);
    out += Printable(named_.path);
    if (!is_there) return out + ", which is made\n";
    if (!S_ISREG(info.st_mode)) return out + "\n";
    if (IsLocked()) return SomebodyElse("is written by another run");
    return out + ", behind the " + ByteText(static_cast<double>(before_.bytes)) + " that it has\n";
  }
  WantedOutput Wanted() { return {named_, OutputFile::Mode::kStream, file_, before_.bytes}; }
  bool Has(const std::string& id) const { return before_.ids.contains(id); }
  // `members`: the line behind its opening brace.
  absl::Status Append(std::string_view id, std::string_view members) {
    line_.assign(kIdMember);
    line_ += id;
    line_ += members == "}" ? "\"" : "\",";
    line_ += members;
    line_ += '\n';
    return file_->Append(line_);
  }
  absl::Status Sync() {
    if (file_ == nullptr) return absl::OkStatus();
    if (!file_->is_cut_back()) return file_->Flush();
    absl::Status status = file_->Sync();
    return status.ok() ? CheckSize(file_->bytes_written()) : status;
  }

 private:
  bool IsLocked() const {
    const int fd = open(named_.path.c_str(), O_WRONLY | O_CLOEXEC);
    if (fd < 0) return false;
    const bool is_locked = flock(fd, LOCK_EX | LOCK_NB) != 0;
    close(fd);
    return is_locked;
  }
  absl::Status SomebodyElse(std::string_view what) const {
    return absl::FailedPreconditionError(named_.role + ": " + Printable(named_.path) + " " +
                                         std::string(what) + "; each run has a file of its own");
  }
  absl::Status CheckSize(uint64_t size) const {
    struct stat info{};
    if (fstat(file_->fd(), &info) != 0) return ErrnoStatus(errno, named_.path);
    if (info.st_size == static_cast<off_t>(size)) return absl::OkStatus();
    return SomebodyElse("was changed by somebody else");
  }

  NamedFile named_;
  LinesBefore before_;
  std::unique_ptr<OutputFile> file_;
  std::string line_;
};

// Numbers of messages, as ranges: mostly one. They come in no order where others of the stream go into a
// topic: a message whose key has one on its way there is lent behind later ones.
class Numbers {
 public:
  // False: it is there already.
  bool Add(uint64_t number) {
    const auto above = ranges_.upper_bound(number);
    const auto below = above == ranges_.begin() ? ranges_.end() : std::prev(above);
    if (below != ranges_.end() && number < below->second) return false;
    uint64_t end = number + 1;
    if (above != ranges_.end() && above->first == end) {
      end = above->second;
      ranges_.erase(above);
    }
    if (below != ranges_.end() && below->second == number) {
      below->second = end;
    } else {
      ranges_.emplace(number, end);
    }
    if (ranges_.size() > kMost) ranges_.erase(ranges_.begin());  // confirmed for long
    return true;
  }

 private:
  static constexpr size_t kMost = 65'536;

  std::map<uint64_t, uint64_t> ranges_;  // the end behind each begin
};

class FileOutput final : public MessageOutput {
 public:
  explicit FileOutput(const RunOptions& options)
      : source_(options.consumer),
        output_(NamedOutput("--output", options.output_store.empty() && options.output_topic.empty()
                                            ? options.output_file
                                            : std::string())),
        invalid_(NamedOutput("--invalid", options.invalid_file)),
        late_(NamedOutput("--late", options.late_file)) {}

  // Changes nothing.
  absl::Status Look(const RunOptions& options) {
    const NamedFile named[] = {output_.named(), invalid_.named(), late_.named(),
                               NamedOutput("--metrics", options.metrics_file)};
    absl::Status status =
        options.store.empty()
            ? CheckNoneInside({.role = "the snapshots", .path = options.snapshots}, named)
            : CheckNoneInside({.role = "the store", .path = options.store}, named);
    if (status.ok()) status = CheckNoneOverwritten({}, named);
    for (LineFile* const each : {&output_, &invalid_, &late_}) {
      if (status.ok()) status = each->Look();
    }
    return status;
  }
  absl::StatusOr<std::string> Text() const {
    std::string out;
    for (const LineFile* const each : {&output_, &invalid_, &late_}) {
      const absl::StatusOr<std::string> text = each->Text();
      if (!text.ok()) return text.status();
      out += *text;
    }
    return out;
  }

  absl::Status Open(const RunOptions& options) {
    if (absl::Status looked = Look(options); !looked.ok()) return looked;
    const WantedOutput wanted[] = {output_.Wanted(), invalid_.Wanted(), late_.Wanted()};
    absl::Status status = OpenWanted({}, wanted);
    for (LineFile* const each : {&output_, &invalid_, &late_}) {
      if (status.ok()) status = each->Lock();
    }
    return status;
  }

  absl::Status Write(const Message& message, EngineTime /*now*/) override {
    const bool is_line = message.stream != kEmittedStream;
    LineFile& file = is_line ? output_ : message.payload[0] == kInvalidMark ? invalid_ : late_;
    Stream& stream = streams_[{message.id.partition, message.id.stream, message.id.life}];
    if (stream.ids.empty()) {
      stream.ids = FormatMessageId(source_, message.id, message.stream);
      stream.ids.resize(stream.ids.rfind('/') + 1);
    }
    id_ = stream.ids;
    id_ += std::to_string(message.id.number);
    // A lane that comes back to this process lends messages again.
    if (!stream.numbers.Add(message.id.number) || file.Has(id_)) {
      ++repeated_;
      return absl::OkStatus();
    }
    ++written_;
    return file.Append(id_, std::string_view(message.payload).substr(1));
  }
  absl::Status Sync() override {
    absl::Status status = output_.Sync();
    status.Update(invalid_.Sync());
    status.Update(late_.Sync());
    return status;
  }

 private:
  // The messages of a stream of a lane.
  struct Stream {
    std::string ids;  // up to the number
    Numbers numbers;  // of those that were written
  };

  const std::string source_;
  LineFile output_;
  LineFile invalid_;
  LineFile late_;
  std::map<std::tuple<int, uint32_t, uint64_t>, Stream> streams_;
  std::string id_;
};

// Lines of collections go into another store, and what was left out into files.
class StoreOutput final : public MessageOutput {
 public:
  StoreOutput(const RunOptions& options, std::unique_ptr<EventStore> store)
      : source_(options.consumer), store_(std::move(store)), files_(options) {}

  absl::Status Open(const RunOptions& options) { return files_.Open(options); }

  absl::Status Write(const Message& message, EngineTime now) override {
    if (message.stream == kEmittedStream) return files_.Write(message, now);
    const std::string id = FormatMessageId(source_, message.id, message.stream);
    const std::string key = PlainKey(message.key);
    const AppendAnswer answer =
        store_->Append({.key = key, .stamp = now, .id = id, .payload = message.payload}, now);
    if (answer.outcome != AppendOutcome::kAppended) {
      absl::Status why = store_->state().last_error;
      if (!why.ok()) return why;
      return absl::InternalError("--output-store: a line was refused, with answer " +
                                 std::to_string(static_cast<int>(answer.outcome)));
    }
    ++written_;
    return absl::OkStatus();
  }
  absl::Status Sync() override {
    absl::Status status = store_->Sync();
    status.Update(files_.Sync());
    return status;
  }

 private:
  const std::string source_;
  const std::unique_ptr<EventStore> store_;
  FileOutput files_;
};

template <class Output>
absl::StatusOr<std::unique_ptr<MessageOutput>> Opened(std::unique_ptr<Output> output,
                                                      const RunOptions& options) {
  if (absl::Status opened = output->Open(options); !opened.ok()) return opened;
  return std::unique_ptr<MessageOutput>(std::move(output));
}

}  // namespace

absl::StatusOr<std::vector<MessageId>> MessageOutput::TakeKept(std::span<const Message> written) {
  std::vector<MessageId> kept;
  if (written.empty()) return kept;
  if (absl::Status synced = Sync(); !synced.ok()) return synced;
  kept.reserve(written.size());
  for (const Message& each : written) kept.push_back(each.id);
  return kept;
}

std::string PlainKey(std::string_view key) {
  const bool is_plain = key.size() >= 2 && key.front() == '"' && key.back() == '"' &&
                        key.find_first_of("\"\\", 1) == key.size() - 1;
  return std::string(is_plain ? key.substr(1, key.size() - 2) : key);
}

absl::StatusOr<std::unique_ptr<MessageOutput>> OpenOutput(const RunOptions& options) {
  if (options.output_store.empty()) return Opened(std::make_unique<FileOutput>(options), options);
  absl::StatusOr<std::unique_ptr<EventStore>> store = EventStore::Open(
      options.output_store, {.durability = StoreDurability::kGroup, .max_forward_jump = kForever});
  if (!store.ok()) return store.status();
  return Opened(std::make_unique<StoreOutput>(options, *std::move(store)), options);
}

absl::StatusOr<std::string> OutputsText(const RunOptions& options) {
  FileOutput files(options);
  if (absl::Status looked = files.Look(options); !looked.ok()) return looked;
  absl::StatusOr<std::string> text = files.Text();
  if (!text.ok()) return text;
  for (const auto& [name, topic] : {std::pair("output      ", &options.output_topic),
                                    std::pair("invalid     ", &options.invalid_topic),
                                    std::pair("late        ", &options.late_topic)}) {
    if (!topic->empty()) *text += name + ("the topic " + Printable(*topic)) + "\n";
  }
  if (options.output_store.empty()) return text;
  std::string out = "output      the store " + Printable(options.output_store);
  absl::Status opened = EventStoreReader::Open(options.output_store).status();
  if (absl::IsNotFound(opened)) return out + ", which is made\n" + *text;
  if (!opened.ok()) return opened;
  if (const std::optional<int> process = LockOwner(options.output_store)) {
    return absl::UnavailableError(Printable(options.output_store) + ": process " +
                                  std::to_string(*process) + " appends to it");
  }
  return out + "\n" + *text;
}

}  // namespace pleat::cli
