#include "tools/pleat/inputs_read.h"

#include <algorithm>
#include <cassert>

#include "tools/pleat/errno_status.h"
#include "tools/pleat/input.h"
#include "tools/pleat/interrupt.h"
#include "tools/pleat/named_files.h"
#include "tools/pleat/quantity_text.h"

namespace pleat::cli {
namespace {

// Whether the file that the note means is there, and not shorter than it was.
bool IsInPlace(const RunNote::Input& input) {
  if (input.name.empty()) return false;
  const absl::StatusOr<std::optional<FileStamp>> stamp = StampOf(input.name);
  return stamp.ok() && *stamp && (*stamp)->IsSameFile(input.stamp) &&
         (*stamp)->size >= input.stamp.size;
}

}  // namespace

std::string NamesOf(const std::vector<std::string>& files) {
  constexpr size_t kShown = 3;
  std::string text;
  for (size_t i = 0; i < std::min(files.size(), kShown); ++i) {
    if (i > 0) text += ", ";
    text += Printable(InputName(files[i]));
  }
  if (files.size() > kShown) text += " and " + Grouped(files.size() - kShown) + " more";
  return text;
}

absl::Status InputsRead::Check(const std::vector<std::string>& paths, KnownFiles::Open open) {
  absl::StatusOr<std::vector<KnownFile>> files =
      KnownFiles(inputs_, directory_, keeper_).Find(paths, open);
  if (!files.ok()) return files.status();
  files_ = *std::move(files);
  return absl::OkStatus();
}

std::string InputsRead::CopiesText() const {
  std::vector<std::string> copies;
  for (const KnownFile& file : files_) {
    if (file.copy_of.empty()) continue;
    copies.push_back(InputName(file.path) + " (of " + InputName(file.copy_of) +
                     (file.original_is_gone ? ", of which more was read)" : ")"));
  }
  return NamesOf(copies);
}

absl::StatusOr<InputStart> InputsRead::Begin(const std::string& path) {
  const auto file = std::ranges::find(files_, path, &KnownFile::path);
  assert(file != files_.end());
  input_ = nullptr;
  path_ = path;
  file_ = file->stamp ? &*file : nullptr;
  digest_.Clear();
  if (!file->copy_of.empty()) return InputStart{.skipped = true, .bytes = 0, .lines = 0};
  if (file_ == nullptr || !file_->input) return InputStart{};
  RunNote::Input& input = inputs_[*file_->input];
  if (file_->nothing_new) {
    Enter(input);
    input.read_whole |= input.stamp.IsSameFile(*file_->stamp);
    input_ = nullptr;
    ++skipped_;
    return InputStart{.skipped = true, .bytes = 0, .lines = 0};
  }
  return InputStart{.skipped = false, .bytes = input.bytes, .lines = input.lines};
}

// From here on the snapshots say how far the input has been read. If the original is still there, the
// FILE is a copy of it: the note keeps the name and the stamp of the original, which has at least as much.
void InputsRead::Enter(RunNote::Input& input) {
  input_ = &input;
  const auto is_original = [&](const KnownFile& file) {
    return file.stamp && file.stamp->IsSameFile(input.stamp);
  };
  // One that is a FILE of this run, and was not taken for the input, begins otherwise by now.
  if (std::ranges::none_of(files_, is_original) && IsInPlace(input)) return;
  input.name = file_->name;
  input.stamp = *file_->stamp;
}

absl::Status InputsRead::CheckOpened(const struct stat& info) const {
  if (S_ISREG(info.st_mode) != (file_ != nullptr)) return Replaced();
  if (file_ == nullptr) return absl::OkStatus();
  const FileStamp opened{.device = info.st_dev, .inode = info.st_ino};
  const bool is_same =
      file_->stamp->IsSameFile(opened) && static_cast<uint64_t>(info.st_size) >= file_->stamp->size;
  return is_same ? absl::OkStatus() : Replaced();
}

absl::Status InputsRead::Replaced() const {
  return absl::FailedPreconditionError(
      Printable(InputName(path_)) +
      ": was replaced or cut while the run was under way. It and what follows it wait for the next "
      "run: the same command goes on");
}

absl::Status InputsRead::ReadPast(LineReader& reader) {
  RunNote::Input& input = inputs_[*file_->input];
  for (uint64_t left = input.bytes; left > 0;) {
    if (Interrupted()) return absl::CancelledError();
    const absl::StatusOr<uint64_t> read = reader.Skip(std::min(left, kBytesBetweenLooks), digest_);
    if (!read.ok()) return read.status();
    if (*read == 0) break;
    left -= *read;
  }
  if (digest_.value() != input.digest) return Replaced();
  if (input.in_long_line) reader.GoOnInLongLine();
  Enter(input);
  return absl::OkStatus();
}

void InputsRead::Took(const LineBlock& block, uint64_t lines) {
  if (file_ == nullptr || block.text.empty()) return;
  if (input_ == nullptr) Enter(inputs_.emplace_back());
  input_->lines += lines;
  input_->read_whole = false;
  if (block.unfinished) {
    SealDigest();
    digest_.Add(block.text);
    input_->last_bytes += block.text.size();
    return;
  }
  TakeWhole(block.text);
  input_->in_long_line = !block.text.ends_with('\n');
}

// In pieces, up to each place of which the note has the digest.
void InputsRead::TakeWhole(std::string_view text) {
  assert(input_->last_bytes == 0);
  while (!text.empty()) {
    size_t size = text.size();
    const uint64_t from_here = std::max(input_->next_line_end(), input_->bytes) - input_->bytes;
    const size_t newline = from_here < size ? text.find('\n', from_here) : text.npos;
    if (newline != text.npos) size = newline + 1;
    const uint64_t head = input_->head_bytes();
    const uint64_t rest_of_head = RunNote::Input::kHeadBytes - head;
    if (rest_of_head > 0) size = std::min(size, rest_of_head);
    digest_.Add(text.substr(0, size));
    input_->bytes += size;
    if (rest_of_head > 0) input_->head = digest_.value();
    if (size == newline + 1) input_->line_ends.push_back({input_->bytes, digest_.value()});
    text.remove_prefix(size);
  }
}

void InputsRead::SealDigest() {
  (input_->last_bytes > 0 ? input_->last_digest : input_->digest) = digest_.value();
}

void InputsRead::End(bool unfinished) {
  if (unfinished) unfinished_.push_back(file_->path);
  if (input_ == nullptr) return;
  SealDigest();
  input_->read_whole = !unfinished && input_->stamp.IsSameFile(*file_->stamp);
  input_ = nullptr;
}

// Of copies whose lines have all been read of their originals. The next run may find them alone, after
// the original has had more lines, and was emptied.
void InputsRead::NoteCopies() {
  for (const KnownFile& copy : files_) {
    if (copy.copy_of.empty() || copy.original_is_gone) continue;
    const FileContent& content = *copy.content;
    const auto original = std::ranges::find(files_, copy.copy_of, &KnownFile::path);
    const RunNote::Input& read = inputs_[*original->input];
    if (read.bytes + read.last_bytes < content.bytes) continue;
    const auto is_noted = [&](const RunNote::Input& input) {
      return input.is_copy && input.bytes == content.bytes && input.digest == content.digest;
    };
    if (std::ranges::any_of(inputs_, is_noted)) continue;
    inputs_.push_back({.name = copy.name,
                       .stamp = *copy.stamp,
                       .bytes = content.bytes,
                       .digest = content.digest,
                       .head = content.head,
                       .read_whole = !content.has_rest,
                       .is_copy = true});
  }
}

// Between two FILEs the copies are noted as well.
void InputsRead::Seal() { input_ != nullptr ? SealDigest() : NoteCopies(); }

std::optional<size_t> InputsRead::current() const {
  if (input_ == nullptr) return std::nullopt;
  return static_cast<size_t>(input_ - inputs_.data());
}

// What may not be as the names of the files suggest.
std::string InputsRead::FilesText() const {
  std::vector<std::string> renamed;
  std::vector<std::string> successors;
  for (const KnownFile& file : files_) {
    if (file.is_renamed) renamed.push_back(file.path);
    if (file.is_successor) successors.push_back(file.path);
  }
  const std::pair<const std::vector<std::string>&, std::string_view> kinds[] = {
      {renamed, "known by another name: "},
      {successors, "new content under a known name, read from its start: "},
      {unfinished_, "unfinished at its end, which waits for the next run: "}};
  std::string text;
  for (const auto& [files, what] : kinds) {
    if (files.empty()) continue;
    text += what;
    text += NamesOf(files) + "; ";
  }
  return text;
}

}  // namespace pleat::cli
