// Four parsers read one document, alone and as the value of a member: the scanner that judges our
// lines, simdjson On-Demand asked for every value, simdjson's DOM, and the slow plain parser of
// tests/support. Claims:
//   - They agree on what is valid. Where rules differ it is by intention, and the walk over On-Demand,
//     which has the least rules, says which one makes the difference:
//       our limits (64 levels, 1,024 members, no name twice) refuse: the scanner and the plain parser
//       a number outside 64 bits or the range of a double refuses:   the DOM; to us it is text
//       the document alone is no object:                             the scanner
//   - What all accept means the same to all: the same tree, numbers exactly as written, strings and
//     names unescaped to the same bytes; the values found by path are those of the tree.
//   - A scanner that has seen the document before judges it no differently.
//   - The fast and the plain tokenizer give the same tokens, or the same reason why there are none; a
//     scanner over either gives the same verdict.
#include <simdjson.h>

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <optional>
#include <set>
#include <string>
#include <string_view>

#include "engine/lines/scan/number.h"
#include "engine/lines/scan/path.h"
#include "engine/lines/scan/reasons.h"
#include "engine/lines/scan/scanner.h"
#include "engine/lines/scan/text.h"
#include "engine/lines/scan/tokens.h"
#include "engine/lines/scan/written_path.h"
#include "fuzz/target.h"
#include "tests/support/plain_json.h"

namespace pleat_fuzz {
namespace {

using pleat::PlainJson;
using Kind = PlainJson::Kind;

// Deeper documents are left to the scanner and the plain parser, which have refused them long before.
constexpr int kLevelsMax = 500;

PlainJson Scalar(Kind kind, std::string text) { return {kind, std::move(text), {}, {}}; }

bool IsInteger(const std::string& number) {
  return number.find_first_of(".eE") == std::string::npos;
}

// Whether simdjson has a type for `number`: 64 bits for integers, signed or not, else a double.
bool InRange(const std::string& number) {
  errno = 0;
  if (!IsInteger(number)) return std::isfinite(std::strtod(number.c_str(), nullptr));
  if (number[0] == '-') {
    std::strtoll(number.c_str(), nullptr, 10);
  } else {
    std::strtoull(number.c_str(), nullptr, 10);
  }
  return errno == 0;
}

// The whole document by On-Demand: every container walked to its end, every scalar read as its type.
class Walk {
 public:
  explicit Walk(std::string_view text) : padded_(text) {
    if (parser_.iterate(padded_).get(document_) != simdjson::SUCCESS) return;
    PlainJson tree;
    if (Root(tree)) tree_ = std::move(tree);
  }

  // By RFC 8259 with no limits at all, but for kLevelsMax.
  bool valid() const { return tree_.has_value(); }
  const PlainJson& tree() const { return *tree_; }
  bool too_deep() const { return levels_ > kLevelsMax; }

  bool within_our_limits() const {
    return levels_ <= pleat::kJsonDepthMax && members_ <= pleat::kObjectMembersMax && !name_twice_;
  }
  bool numbers_in_range() const { return numbers_in_range_; }

 private:
  bool Root(PlainJson& out) {
    simdjson::ondemand::json_type type;
    if (document_.type().get(type) != simdjson::SUCCESS) return false;
    simdjson::ondemand::object object;
    simdjson::ondemand::array array;
    bool good = false;
    if (type == simdjson::ondemand::json_type::object) {
      good = document_.get_object().get(object) == simdjson::SUCCESS && Object(object, out, 1);
    } else if (type == simdjson::ondemand::json_type::array) {
      good = document_.get_array().get(array) == simdjson::SUCCESS && Array(array, out, 1);
    }
    // There is a location as long as there is a token that was not taken.
    return good && document_.current_location().error() == simdjson::OUT_OF_BOUNDS;
  }

  bool Enter(int level) {
    levels_ = std::max(levels_, level);
    return level <= kLevelsMax;
  }

  bool Object(simdjson::ondemand::object& object, PlainJson& out, int level) {
    if (!Enter(level)) return false;
    out.kind = Kind::kObject;
    std::set<std::string> names;
    for (auto member : object) {
      simdjson::ondemand::field field;
      std::string_view name;
      if (std::move(member).get(field) != simdjson::SUCCESS) return false;
      if (field.unescaped_key().get(name) != simdjson::SUCCESS) return false;
      out.names.emplace_back(name);
      name_twice_ |= !names.insert(out.names.back()).second;
      if (!Value(field.value(), out.elements.emplace_back(), level)) return false;
    }
    members_ = std::max(members_, out.names.size());
    return true;
  }

  bool Array(simdjson::ondemand::array& array, PlainJson& out, int level) {
    if (!Enter(level)) return false;
    out.kind = Kind::kArray;
    for (auto element : array) {
      simdjson::ondemand::value value;
      if (std::move(element).get(value) != simdjson::SUCCESS) return false;
      if (!Value(value, out.elements.emplace_back(), level)) return false;
    }
    return true;
  }

  bool Value(simdjson::ondemand::value value, PlainJson& out, int level) {
    simdjson::ondemand::json_type type;
    if (value.type().get(type) != simdjson::SUCCESS) return false;
    switch (type) {
      case simdjson::ondemand::json_type::object: {
        simdjson::ondemand::object object;
        return value.get_object().get(object) == simdjson::SUCCESS &&
               Object(object, out, level + 1);
      }
      case simdjson::ondemand::json_type::array: {
        simdjson::ondemand::array array;
        return value.get_array().get(array) == simdjson::SUCCESS && Array(array, out, level + 1);
      }
      case simdjson::ondemand::json_type::string: {
        std::string_view text;
        if (value.get_string().get(text) != simdjson::SUCCESS) return false;
        out = Scalar(Kind::kString, std::string(text));
        return true;
      }
      case simdjson::ondemand::json_type::boolean: {
        bool flag = false;
        if (value.get_bool().get(flag) != simdjson::SUCCESS) return false;
        out = Scalar(Kind::kBool, flag ? "true" : "false");
        return true;
      }
      case simdjson::ondemand::json_type::null: {
        bool null = false;
        return value.is_null().get(null) == simdjson::SUCCESS && null;
      }
      case simdjson::ondemand::json_type::number: return Number(value, out);
    }
    return false;
  }

  // On-Demand cannot read a number that is out of range. Its spelling is judged in its place by the
  // one rule that is left, that of the plain parser.
  bool Number(simdjson::ondemand::value& value, PlainJson& out) {
    const std::string_view token = value.raw_json_token();
    const std::string text(token.substr(0, token.find_last_not_of(" \t\r\n") + 1));
    simdjson::ondemand::number number;
    const bool read = value.get_number().get(number) == simdjson::SUCCESS;
    out = Scalar(Kind::kNumber, text);
    if (read) {
      FUZZ_EXPECT(InRange(text), text);
      return true;
    }
    const std::optional<PlainJson> plain = pleat::ParsePlainJson(text);
    if (!plain || plain->kind != Kind::kNumber || InRange(text)) return false;
    numbers_in_range_ = false;
    return true;
  }

  simdjson::padded_string padded_;
  simdjson::ondemand::parser parser_;
  simdjson::ondemand::document document_;
  std::optional<PlainJson> tree_;
  int levels_ = 0;
  size_t members_ = 0;
  bool name_twice_ = false;
  bool numbers_in_range_ = true;
};

void ExpectNumber(const std::string& text, simdjson::dom::element element) {
  FUZZ_EXPECT(IsInteger(text) != (element.type() == simdjson::dom::element_type::DOUBLE), text);
  switch (element.type()) {
    case simdjson::dom::element_type::DOUBLE: {
      const double expected = std::strtod(text.c_str(), nullptr);
      const double got = element.get_double().value_unsafe();
      return FUZZ_EXPECT(std::memcmp(&got, &expected, sizeof(got)) == 0, text);
    }
    case simdjson::dom::element_type::INT64: {
      const int64_t got = element.get_int64().value_unsafe();
      return FUZZ_EXPECT(got == std::strtoll(text.c_str(), nullptr, 10), text);
    }
    case simdjson::dom::element_type::UINT64: {
      const uint64_t got = element.get_uint64().value_unsafe();
      return FUZZ_EXPECT(got == std::strtoull(text.c_str(), nullptr, 10), text);
    }
    default: Broken(__FILE__, __LINE__, "the DOM has a number", text);
  }
}

// That the DOM's value is that of the tree.
void ExpectElement(const PlainJson& tree, simdjson::dom::element element) {
  switch (tree.kind) {
    case Kind::kNull: return FUZZ_EXPECT(element.is_null(), "null");
    case Kind::kBool:
      return FUZZ_EXPECT(
          element.is_bool() && element.get_bool().value_unsafe() == (tree.text == "true"),
          tree.text);
    case Kind::kNumber: return ExpectNumber(tree.text, element);
    case Kind::kString:
      FUZZ_EXPECT(element.is_string(), tree.text);
      return FUZZ_EXPECT_SAME(element.get_string().value_unsafe(), tree.text, "");
    case Kind::kArray: {
      FUZZ_EXPECT(element.is_array(), "[");
      const simdjson::dom::array array = element.get_array().value_unsafe();
      size_t i = 0;
      for (simdjson::dom::element each : array) {
        FUZZ_EXPECT(i < tree.elements.size(), "[");
        ExpectElement(tree.elements[i++], each);
      }
      return FUZZ_EXPECT(i == tree.elements.size(), "[");
    }
    case Kind::kObject: {
      FUZZ_EXPECT(element.is_object(), "{");
      const simdjson::dom::object object = element.get_object().value_unsafe();
      size_t i = 0;
      for (const simdjson::dom::key_value_pair each : object) {
        FUZZ_EXPECT(i < tree.names.size() && each.key == tree.names[i], each.key);
        ExpectElement(tree.elements[i++], each.value);
      }
      return FUZZ_EXPECT(i == tree.names.size(), "{");
    }
  }
}

std::string Unescaped(std::string_view quoted) {
  const std::string_view inside = quoted.substr(1, quoted.size() - 2);
  std::string out(inside.size(), '\0');
  out.resize(static_cast<size_t>(pleat::WriteUnescaped(inside, out.data()) - out.data()));
  return out;
}

// The tree of a text that the scanner took, read with the functions that our reducers read it with.
PlainJson OurTree(std::string_view text) {
  PlainJson out;
  switch (text[0]) {
    case '{':
      out.kind = Kind::kObject;
      pleat::ForEachMember(text, [&](std::string_view name, std::string_view value) {
        out.names.push_back(Unescaped(name));
        out.elements.push_back(OurTree(value));
      });
      return out;
    case '[':
      out.kind = Kind::kArray;
      pleat::ForEachElement(
          text, [&](std::string_view element) { out.elements.push_back(OurTree(element)); });
      return out;
    case '"': return Scalar(Kind::kString, Unescaped(text));
    case 't':
    case 'f': return Scalar(Kind::kBool, std::string(text));
    case 'n': return out;
    default: return Scalar(Kind::kNumber, std::string(text));
  }
}

std::string Canonical(std::string_view text) {
  std::string out(text.size(), '\0');
  out.resize(static_cast<size_t>(pleat::WriteCanonical(text, out.data()) - out.data()));
  return out;
}

std::string_view Trimmed(std::string_view text) {
  while (!text.empty() && pleat::IsJsonSpace(text.front())) text.remove_prefix(1);
  while (!text.empty() && pleat::IsJsonSpace(text.back())) text.remove_suffix(1);
  return text;
}

// Paths to look up in every document.
struct Paths {
  static constexpr const char* kTexts[] = {"k",
                                           "k.k",
                                           "k.a",
                                           "/a",
                                           "a.b",
                                           "/",
                                           "/k/",
                                           "id",
                                           "a|k",
                                           "k.a|id|k",
                                           "k[k=a]",
                                           "k[k=a].a|a[id=1]",
                                           "a?",
                                           "a.k[b=1]",
                                           "k[\"k\"=\"1\"]",
                                           "k.b[a=null].k[k=true].a"};

  Paths() {
    for (const char* text : kTexts) {
      paths.push_back(*pleat::ParseWrittenPath(text));
      slots.push_back(tree.AddWritten(paths.back()));
    }
    tree.AskForAll();  // so that no name may come twice, as other parsers have it
  }

  pleat::PathTree tree;
  std::vector<pleat::WrittenPath> paths;
  std::vector<int> slots;
};

const PlainJson* Follow(const PlainJson* at, const pleat::Path& path) {
  for (const std::string& step : path) {
    if (at != nullptr) at = at->Member(step);
  }
  return at;
}

bool Matches(const PlainJson* value, const pleat::PathSearch& search) {
  if (value == nullptr) return false;
  if (value->kind == Kind::kString) return value->text == search.value;
  if (search.text_only) return false;
  const std::optional<PlainJson> wanted = pleat::ParsePlainJson(search.value);
  if (!wanted || wanted->kind != value->kind) return false;
  if (value->kind != Kind::kNumber) return pleat::WritePlainJson(*value) == search.value;
  return pleat::CompareNumbers(value->text, search.value) == 0;
}

const PlainJson* ValueBy(const PlainJson& tree, const pleat::PathWay& way) {
  const PlainJson* at = Follow(&tree, way.steps);
  for (const pleat::PathSearch& search : way.searches) {
    const PlainJson* found = nullptr;
    const bool list = at != nullptr && at->kind == Kind::kArray;
    for (size_t i = 0; list && found == nullptr && i < at->elements.size(); ++i) {
      const PlainJson& element = at->elements[i];
      if (element.kind == Kind::kObject && Matches(element.Member(search.name), search))
        found = &element;
    }
    at = Follow(found, search.steps);
  }
  return at;
}

const PlainJson* ValueAt(const PlainJson& tree, const pleat::WrittenPath& path) {
  const PlainJson* null = nullptr;
  for (const pleat::PathWay& way : path.ways) {
    const PlainJson* const value = ValueBy(tree, way);
    if (value != nullptr && value->kind != Kind::kNull) return value;
    if (value != nullptr) null = value;
  }
  return null;
}

void ExpectValues(const Paths& paths, const pleat::Scanner& scanner, const PlainJson& tree,
                  std::string_view text) {
  for (size_t i = 0; i < paths.slots.size(); ++i) {
    const pleat::Value& value = scanner.value(paths.slots[i]);
    const PlainJson* const expected = ValueAt(tree, paths.paths[i]);
    FUZZ_EXPECT((expected == nullptr) == (value.kind == pleat::Value::Kind::kAbsent), text);
    if (expected == nullptr) continue;
    const std::string written = pleat::WritePlainJson(*expected);
    FUZZ_EXPECT(static_cast<int>(value.kind) == static_cast<int>(expected->kind) + 1, text);
    FUZZ_EXPECT_SAME(Canonical(value.text), written, text);
    if (value.plain) FUZZ_EXPECT_SAME(value.text, written, text);
  }
}

// `text` as it is, which may be several lines.
void CompareTokenizers(std::string_view text) {
  const auto fast = pleat::MakeFastTokenizer();
  if (fast == nullptr) return;
  const auto plain = pleat::MakePlainTokenizer();
  const std::string_view wrong = fast->Index(text);
  FUZZ_EXPECT_SAME(plain->Index(text), wrong, text);
  if (wrong.empty()) FUZZ_EXPECT(std::ranges::equal(fast->tokens(), plain->tokens()), text);
}

bool ScannerAccepts(pleat::Scanner& scanner, std::string_view text) {
  const std::string first(scanner.Scan(text));
  FUZZ_EXPECT_SAME(scanner.Scan(text), first, text);
  pleat::PathTree all;
  all.AskForAll();
  // Of several mistakes in a line another one may be named.
  pleat::Scanner plain(all, pleat::MakePlainTokenizer());
  FUZZ_EXPECT(plain.Scan(text).empty() == first.empty(), text);
  return first.empty() && scanner.not_numbers() == 0;
}

// Returns whether the scanner accepts it.
bool Compare(const Paths& paths, pleat::Scanner& scanner, std::string_view bytes) {
  const PaddedText padded(bytes);
  const std::string_view text = padded.view();
  CompareTokenizers(text);
  if (Trimmed(text).empty()) return false;
  const bool ours = ScannerAccepts(scanner, text);
  const std::optional<PlainJson> plain = pleat::ParsePlainJson(text);
  FUZZ_EXPECT(ours == (plain && plain->kind == Kind::kObject), text);
  if (ours) {
    const std::string written = pleat::WritePlainJson(*plain);
    FUZZ_EXPECT_SAME(Canonical(text), written, text);
    FUZZ_EXPECT_SAME(pleat::WritePlainJson(OurTree(Trimmed(text))), written, text);
    ExpectValues(paths, scanner, *plain, text);
  }

  // A scalar by itself is no document to walk over; as the value of a member it is.
  const char first = Trimmed(text)[0];
  if (first != '{' && first != '[') return ours;
  const Walk walk(text);
  if (walk.too_deep()) {
    FUZZ_EXPECT(!plain, text);
    return ours;
  }
  FUZZ_EXPECT(plain.has_value() == (walk.valid() && walk.within_our_limits()), text);
  if (plain) {
    FUZZ_EXPECT_SAME(pleat::WritePlainJson(*plain), pleat::WritePlainJson(walk.tree()), text);
  }

  simdjson::dom::parser parser;
  simdjson::dom::element root;
  const bool dom = parser.parse(text.data(), text.size()).get(root) == simdjson::SUCCESS;
  FUZZ_EXPECT(dom == (walk.valid() && walk.numbers_in_range()), text);
  if (dom) ExpectElement(walk.tree(), root);
  return ours;
}

}  // namespace
}  // namespace pleat_fuzz

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace pleat_fuzz;
  static const Paths paths;
  const std::string_view document = TextOf(data, size);
  pleat::Scanner scanner(paths.tree);
  const bool accepted = Compare(paths, scanner, document);
  Compare(paths, scanner, "{\"k\":" + std::string(document) + "}");
  if (accepted) {
    const PaddedText again(document);
    FUZZ_EXPECT(ScannerAccepts(scanner, again.view()), document);
  }
  return 0;
}
