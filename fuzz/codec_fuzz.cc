// The codec of fields: any bytes as the fields of a type that has every kind of field. Claims:
//   - Fields that are read to the end and written again are the same bytes: a value has one
//     spelling.
//   - Read once more, it is the same fields.
//   - Bytes that cannot be read end the reading: nothing follows, and every field can be written.
//   - A writer that cuts its bytes into pieces writes the same.
// What bytes make a reader allocate, the limit of the fuzzer tells.
//
// The input: a byte, the version of the fields; the bytes.
#include <array>
#include <bit>
#include <chrono>
#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <pleat/stored.h>

#include "fuzz/target.h"

namespace pleat_fuzz {
namespace {

enum class Color : uint8_t { kRed, kBlue };
enum class Far : int32_t { kNear = -1 };

struct Inner {
  int16_t small = 0;
  std::optional<std::vector<std::string>> texts;

  template <class F>
  void Stored(F& f) {
    f(small);
    if (f.version() >= 2) f(texts);
  }
};

struct Nothing {
  template <class F>
  void Stored(F&) {}
};

// A field of every kind that stored.h names.
struct Fields {
  bool flag = false;
  int8_t i8 = 0;
  int32_t i32 = 0;
  int64_t i64 = 0;
  uint8_t u8 = 0;
  uint16_t u16 = 0;
  uint64_t u64 = 0;
  char letter = 'a';
  float real32 = 0;
  double real64 = 0;
  Color color = Color::kRed;
  Far far = Far::kNear;
  std::chrono::milliseconds milliseconds{0};
  pleat::Duration duration{0};
  pleat::EngineTime time{};
  pleat::LeaseTime lease_time{};
  std::string text;
  std::optional<std::pair<std::string, int64_t>> pair;
  std::array<uint32_t, 3> numbers{};
  std::vector<std::vector<uint8_t>> rows;
  std::deque<Inner> inner;
  Nothing nothing;
  std::vector<std::array<uint64_t, 512>> wide;
  std::map<std::string, std::vector<double>> by_name;
  std::set<int64_t> set;
  std::multiset<std::string> multiset;
  std::multimap<uint16_t, bool> multimap;

  template <class F>
  void Stored(F& f) {
    f(flag, i8, i32, i64, u8, u16, u64, letter, real32, real64, color, far, milliseconds, duration);
    f(time, lease_time, text, pair, numbers, rows, inner, nothing, wide, by_name, set, multiset);
    f(multimap);
  }
};

std::string BytesOf(const Fields& fields, uint32_t version) {
  pleat::FieldWriter out;
  out.set_version(version);
  out(fields);
  return std::string(out.bytes());
}

std::string BytesInPieces(const Fields& fields, uint32_t version) {
  pleat::FieldWriter out(64);
  out.set_version(version);
  out(fields);
  std::string bytes;
  for (const auto& piece : out.TakePieces()) bytes += piece.bytes();
  return bytes;
}

}  // namespace
}  // namespace pleat_fuzz

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace pleat_fuzz;
  if (size == 0) return 0;
  const uint32_t version = 1 + (data[0] & 1);
  const std::string_view bytes = TextOf(data + 1, size - 1);

  pleat::FieldReader in(bytes);
  in.set_version(version);
  Fields fields;
  in(fields);
  FUZZ_EXPECT(in.ok() || in.at_hand() == 0, bytes);
  const std::string written = BytesOf(fields, version);
  FUZZ_EXPECT_SAME(BytesInPieces(fields, version), written, bytes);
  if (in.ok()) FUZZ_EXPECT_SAME(written, bytes.substr(0, bytes.size() - in.at_hand()), bytes);

  pleat::FieldReader again(written);
  again.set_version(version);
  Fields same;
  again(same);
  FUZZ_EXPECT(again.done(), bytes);
  FUZZ_EXPECT_SAME(BytesOf(same, version), written, bytes);
  return 0;
}
