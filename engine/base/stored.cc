#include <pleat/stored.h>

#include <algorithm>
#include <cstring>
#include <utility>

namespace pleat::inline v0_1 {

FieldWriter::~FieldWriter() { delete[] begin_; }

void FieldWriter::Grow(size_t bytes) {
  if (piece_bytes_ > 0) return BeginPiece();
  constexpr size_t kFirst = 256;
  const size_t used = size();
  const size_t room = std::max({kFirst, 2 * static_cast<size_t>(limit_ - begin_), used + bytes});
  char* const grown = new char[room];
  if (used > 0) std::memcpy(grown, begin_, used);
  delete[] begin_;
  begin_ = grown;
  end_ = grown + used;
  limit_ = grown + room;
}

void FieldWriter::BeginPiece() {
  if (begin_ != nullptr) pieces_.push_back({std::unique_ptr<char[]>(begin_), size()});
  begin_ = end_ = new char[piece_bytes_];
  limit_ = begin_ + piece_bytes_;
}

std::vector<FieldWriter::Piece> FieldWriter::TakePieces() {
  if (size() > 0) {
    pieces_.push_back({std::unique_ptr<char[]>(begin_), size()});
    begin_ = end_ = limit_ = nullptr;
  }
  return std::exchange(pieces_, {});
}

void FieldWriter::PutBytes(std::string_view bytes) {
  PutNumber(bytes.size());
  PutFields(bytes);
}

void FieldWriter::PutFields(std::string_view fields) {
  if (piece_bytes_ == 0) Reserve(fields.size());
  while (!fields.empty()) {
    if (end_ == limit_) BeginPiece();
    const size_t size = std::min(fields.size(), static_cast<size_t>(limit_ - end_));
    std::memcpy(end_, fields.data(), size);
    end_ += size;
    fields.remove_prefix(size);
  }
}

bool FieldReader::Fetch(uint64_t bytes) noexcept {
  if (source_ == nullptr || !ok_) return false;
  const std::string_view more = source_->More({at_, at_hand()}, static_cast<size_t>(bytes));
  at_ = more.data();
  end_ = at_ + more.size();
  return bytes <= more.size();
}

uint64_t FieldReader::LongNumber() noexcept {
  uint64_t number = 0;
  for (int shift = 0; shift < 64; shift += 7) {
    if (at_ == end_ && !Fetch(1)) break;
    const auto byte = static_cast<uint8_t>(*at_++);
    const uint64_t bits = byte & 0x7f;
    // The tenth byte has room for one bit only. A last byte of zero would be a longer spelling of a
    // shorter number, and each number has one spelling.
    if (shift == 63 && bits > 1) break;
    number |= bits << shift;
    if (byte < 0x80) {
      if (byte == 0 && shift > 0) break;
      return number;
    }
  }
  Fail();
  return 0;
}

uint64_t FieldReader::Word() noexcept {
  if (!Has(8)) return Fail(), uint64_t{0};
  uint64_t word = 0;
  for (int shift = 0; shift < 64; shift += 8) {
    word |= uint64_t{static_cast<uint8_t>(*at_++)} << shift;
  }
  return word;
}

std::string_view FieldReader::Bytes() noexcept {
  const uint64_t size = Number();
  if (!Has(size)) return Fail(), std::string_view();
  if (at_hand() - size < kStayBytes) Has(size + kStayBytes);
  const std::string_view bytes(at_, static_cast<size_t>(size));
  at_ += size;
  return bytes;
}

}  // namespace pleat::inline v0_1
