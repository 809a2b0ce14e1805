// The members of a line are looked at four times, ever more loosely: for the very names, with the dots
// and the arrays that a path may have missed; for names that are spelled alike; for the last name
// anywhere; for names that are near. The first answer is the hint.
//
// A line of a million bytes is no reason to wait: no container is looked at twice in one of these
// rounds, and no more than some thousands of them.
#include "engine/lines/spec/path_hint.h"

#include <algorithm>
#include <numeric>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include <pleat/json_lines.h>

#include "engine/lines/scan/number.h"
#include "engine/lines/scan/option_json.h"
#include "engine/lines/scan/reasons.h"
#include "engine/lines/scan/text.h"
#include "engine/lines/scan/written_path.h"

namespace pleat::inline v0_1 {
namespace {

using invalid_line::Quoted;

using Steps = std::span<const std::string>;

constexpr size_t kElementsSeen = 1'000;    // of an array
constexpr size_t kContainersSeen = 4'000;  // of a line
constexpr size_t kNearBytes = 64;          // longer names are near to none
constexpr size_t kMembersShown = 20;

// --- The parts of a line that was checked

size_t EndOfString(std::string_view text, size_t at) {
  for (++at; text[at] != '"'; ++at) {
    if (text[at] == '\\') ++at;
  }
  return at + 1;
}

size_t PastSpace(std::string_view text, size_t at) {
  while (IsJsonSpace(text[at])) ++at;
  return at;
}

size_t EndOfValue(std::string_view text, size_t at) {
  if (text[at] == '"') return EndOfString(text, at);
  if (text[at] != '{' && text[at] != '[') return text.find_first_of(",]} \t\r\n", at);
  for (int depth = 0;;) {
    if (text[at] == '"') {
      at = EndOfString(text, at);
      continue;
    }
    if (text[at] == '{' || text[at] == '[') ++depth;
    if (text[at] == '}' || text[at] == ']') --depth;
    ++at;
    if (depth == 0) return at;
  }
}

struct Child {
  std::string step;  // its name, or its index
  std::string_view value;
};

bool IsObject(std::string_view value) { return value.starts_with('{'); }
bool IsArray(std::string_view value) { return value.starts_with('['); }

std::vector<Child> ChildrenOf(std::string_view container) {
  std::vector<Child> children;
  const bool object = IsObject(container);
  if (!object && !IsArray(container)) return children;
  size_t at = PastSpace(container, 1);
  while (container[at] != '}' && container[at] != ']' &&
         (object || children.size() < kElementsSeen)) {
    Child child;
    if (object) {
      const size_t end = EndOfString(container, at);
      child.step = Unescaped(container.substr(at, end - at));
      at = PastSpace(container, PastSpace(container, end) + 1);
    } else {
      child.step = std::to_string(children.size());
    }
    const size_t end = EndOfValue(container, at);
    child.value = container.substr(at, end - at);
    children.push_back(std::move(child));
    at = PastSpace(container, end);
    if (container[at] == ',') at = PastSpace(container, at + 1);
  }
  return children;
}

// --- Names that are alike

std::string Folded(std::string_view name) {
  std::string folded;
  for (const char c : name) {
    if (c == '_' || c == '-' || c == ' ') continue;
    folded += c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  }
  return folded;
}

// How many letters are wrong, missing, too many, or swapped with the next one.
size_t Distance(std::string_view a, std::string_view b) {
  std::vector<std::vector<size_t>> rows(a.size() + 1, std::vector<size_t>(b.size() + 1));
  std::iota(rows[0].begin(), rows[0].end(), size_t{0});
  for (size_t i = 1; i <= a.size(); ++i) {
    rows[i][0] = i;
    for (size_t j = 1; j <= b.size(); ++j) {
      rows[i][j] = std::min({rows[i - 1][j] + 1, rows[i][j - 1] + 1,
                             rows[i - 1][j - 1] + (a[i - 1] == b[j - 1] ? 0 : 1)});
      const bool swapped = i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1];
      if (swapped) rows[i][j] = std::min(rows[i][j], rows[i - 2][j - 2] + 1);
    }
  }
  return rows.back().back();
}

enum class Likeness { kSame, kSpelling, kNear };

// How far `name` is from the name that was asked for; 0 if equal, nothing if too far.
std::optional<size_t> Unlikeness(std::string_view name, std::string_view asked, Likeness likeness) {
  if (name == asked) return 0;
  if (likeness == Likeness::kSame) return std::nullopt;
  const std::string a = Folded(name);
  const std::string b = Folded(asked);
  if (!a.empty() && a == b) return 0;
  if (likeness != Likeness::kNear || std::max(a.size(), b.size()) > kNearBytes) return std::nullopt;
  // One begins as the other: time and timestamp.
  const size_t shorter = std::min(a.size(), b.size());
  if (shorter >= 3 && a.substr(0, shorter) == b.substr(0, shorter)) return 1;
  const size_t distance = Distance(a, b);
  const bool near = distance <= std::max<size_t>(b.size(), 3) / 3;
  return near && distance < b.size() ? std::optional(distance) : std::nullopt;
}

// --- The path that is meant

std::optional<Path> WithStep(std::string_view step, std::optional<Path> rest) {
  if (rest) rest->insert(rest->begin(), std::string(step));
  return rest;
}

// One round over the containers of a line.
class Round {
 public:
  explicit Round(Likeness likeness) : likeness_(likeness) {}

  // The path from `value` to what `steps` are meant for.
  std::optional<Path> Find(std::string_view value, Steps steps) {
    if (steps.empty()) return Path();
    if (++seen_ > kContainersSeen) return std::nullopt;
    const std::vector<Child> children = ChildrenOf(value);
    std::optional<Path> found = FindNamed(children, steps);
    if (found) return found;
    if (IsArray(value)) {  // it was not thought of
      const bool goes_in = !children.empty() && IndexOf(steps.front()) == kNoIndex;
      return goes_in ? WithStep("0", Find(children.front().value, steps)) : std::nullopt;
    }
    return FindAlike(children, steps);
  }

  // The path to a member that is called as `name`, as near to the top as there is one.
  std::optional<Path> FindAnywhere(std::string_view value, std::string_view name) {
    std::vector<std::pair<Path, std::string_view>> level = {{{}, value}};
    while (!level.empty()) {
      std::vector<std::pair<Path, std::string_view>> next;
      for (const auto& [path, container] : level) {
        if (++seen_ > kContainersSeen) return std::nullopt;
        for (const Child& child : ChildrenOf(container)) {
          if (IsArray(container) && child.step != "0") break;
          Path to = path;
          to.push_back(child.step);
          if (IsObject(container) && Unlikeness(child.step, name, likeness_)) return to;
          if (IsObject(child.value) || IsArray(child.value)) {
            next.emplace_back(std::move(to), child.value);
          }
        }
      }
      level = std::move(next);
    }
    return std::nullopt;
  }

 private:
  // By the child that has the first step's name, or that of several steps with dots between them.
  std::optional<Path> FindNamed(const std::vector<Child>& children, Steps steps) {
    std::string name;
    for (size_t n = 1; n <= steps.size(); ++n) {
      name += (n == 1 ? "" : ".") + steps[n - 1];
      const auto child = std::ranges::find(children, name, &Child::step);
      if (child == children.end()) continue;
      std::optional<Path> found = WithStep(name, Find(child->value, steps.subspan(n)));
      if (found) return found;
    }
    return std::nullopt;
  }

  // By the child whose name is most like the first step.
  std::optional<Path> FindAlike(const std::vector<Child>& children, Steps steps) {
    const Child* best = nullptr;
    size_t best_unlikeness = SIZE_MAX;
    for (const Child& child : children) {
      const std::optional<size_t> unlikeness = Unlikeness(child.step, steps.front(), likeness_);
      if (!unlikeness || *unlikeness >= best_unlikeness) continue;
      best = &child;
      best_unlikeness = *unlikeness;
    }
    if (best == nullptr) return std::nullopt;
    return WithStep(best->step, Find(best->value, steps.subspan(1)));
  }

  const Likeness likeness_;
  size_t seen_ = 0;
};

std::optional<Path> PathMeant(std::string_view line, const Path& asked, const Path& meant) {
  const auto find = [&](Likeness likeness) {
    std::optional<Path> found = Round(likeness).Find(line, asked);
    if (!found && !meant.empty()) found = Round(likeness).Find(line, meant);
    return found;
  };
  const auto find_anywhere = [&](Likeness likeness) {
    return meant.empty() ? std::nullopt : Round(likeness).FindAnywhere(line, meant.back());
  };
  std::optional<Path> found = find(Likeness::kSame);
  if (!found) found = find(Likeness::kSpelling);
  if (!found) found = find_anywhere(Likeness::kSame);
  if (!found) found = find_anywhere(Likeness::kSpelling);
  if (!found) found = find(Likeness::kNear);
  return found;
}

// How far `path` leads, and the value there.
std::pair<Path, std::string_view> Reached(std::string_view line, const Path& path) {
  Path reached;
  std::string_view value = line;
  for (const std::string& step : path) {
    const std::vector<Child> children = ChildrenOf(value);
    const auto child = std::ranges::find(children, step, &Child::step);
    if (child == children.end()) break;
    reached.push_back(step);
    value = child->value;
  }
  return {reached, value};
}

// --- Elements that are told apart by a member, as in [{"key":"page","value":1}]

// The path into the list at `list` by a search, which goes on with `rest`.
std::string SearchText(const Path& list, std::string_view name, const std::string& value,
                       const Path& rest) {
  const auto is_bare = [](std::string_view text) {
    return !text.empty() && text == Trimmed(text) && text.find_first_of("=<>!,|?\"[]") == text.npos;
  };
  const auto shown = [&](std::string_view text) {
    return is_bare(text) ? std::string(text) : JsonString(text);
  };
  const auto part = [](const Path& steps) {
    const std::string text = FormatPath(steps);
    return text.starts_with('/') ? JsonString(text) : text;
  };
  const bool typed = IsJsonScalar(value);  // [a=1] finds the text "1" and the number
  const std::string in_brackets = typed ? value : shown(value);
  const std::string search = part(list) + "[" + shown(name) + "=" + in_brackets + "]";
  return rest.empty() ? search : search + "." + part(rest);
}

// The way on to a scalar in an element that was found by `name`, if there is one way only.
Path OnlyWay(std::string_view element, std::string_view name) {
  Path way;
  for (std::string_view value = element; IsObject(value);) {
    const Child* only = nullptr;
    const std::vector<Child> children = ChildrenOf(value);
    for (const Child& child : children) {
      if (child.value == "null" || (way.empty() && child.step == name)) continue;
      if (only != nullptr) return {};
      only = &child;
    }
    if (only == nullptr) return {};
    way.push_back(only->step);
    value = only->value;
  }
  return way;
}

// Of a path that goes on from a list by a text in its elements, as `params.page.value`.
std::string SearchMeant(std::string_view line, const Path& asked) {
  const auto [list, value] = Reached(line, asked);
  if (!IsArray(value) || list.empty() || list.size() >= asked.size()) return {};
  const std::string& text = asked[list.size()];
  Path rest(asked.begin() + static_cast<ptrdiff_t>(list.size()) + 1, asked.end());
  for (const Child& element : ChildrenOf(value)) {
    if (!IsObject(element.value)) continue;
    for (const Child& child : ChildrenOf(element.value)) {
      if (!child.value.starts_with('"') || Unescaped(child.value) != text) continue;
      if (rest.empty()) rest = OnlyWay(element.value, child.step);
      if (Reached(element.value, rest).first != rest || rest.empty()) return {};
      return SearchText(list, child.step, text, rest);
    }
  }
  return {};
}

// --- The members of the line

std::string WhatIs(std::string_view value) {
  if (IsArray(value)) {
    const size_t size = ChildrenOf(value).size();
    if (size == 0) return "is an empty array";
    return "is an array of " + std::to_string(size) + (size == kElementsSeen ? " or more" : "");
  }
  if (value.starts_with('"')) return "is text";
  if (value == "null" || value == "true" || value == "false") return "is " + std::string(value);
  if (!IsObject(value)) return "is a number";
  const std::vector<Child> members = ChildrenOf(value);
  if (members.empty()) return "has no members";
  std::string has = "has ";
  for (size_t i = 0; i < std::min(members.size(), kMembersShown); ++i) {
    has += (i == 0 ? "" : ", ") + Quoted(members[i].step);
  }
  if (members.size() > kMembersShown) {
    has += " and " + std::to_string(members.size() - kMembersShown) + " more";
  }
  return has;
}

// --- Conditions

// None for null, which is a member of no type.
std::string_view TypeOf(std::string_view value) {
  if (value == "null") return {};
  if (value == "true" || value == "false") return "a boolean";
  if (value.starts_with('"')) return "text";
  return IsObject(value) ? "an object" : IsArray(value) ? "an array" : "a number";
}

void AddOtherTypes(std::string_view line, const Condition& condition, std::string& found) {
  if (condition.kind == Condition::Kind::kAll || condition.kind == Condition::Kind::kAny) {
    for (const Condition& part : condition.parts) AddOtherTypes(line, part, found);
    return;
  }
  const bool compares =
      condition.kind == Condition::Kind::kEqual ||
      (condition.kind >= Condition::Kind::kLess && condition.kind <= Condition::Kind::kAtLeast);
  if (!compares) return;
  const WrittenPath written = *ParseWrittenPath(condition.path);
  if (!written.plain()) return;
  const Path& asked = written.ways[0].steps;
  const auto [reached, value] = Reached(line, asked);
  if (reached != asked) return;
  const std::string_view type = TypeOf(value);
  const std::string_view wanted = TypeOf(condition.value);
  if (type.empty() || wanted.empty() || type == wanted) return;
  const bool number = type == TypeOf("\"\"") && IsNumber(Unescaped(value));
  if (number && wanted == TypeOf("0")) return;  // a text that counts as the number
  if (!found.empty()) found += "; ";
  found += Quoted(condition.path) + " is " + std::string(type) + ", " +
           invalid_line::Shown(condition.value) + " is " + std::string(wanted);
}

// --- A list whose elements should be events

// Whether jq takes `.step` as it stands.
bool IsNameInJq(std::string_view step) {
  const auto is_digit = [](char c) { return c >= '0' && c <= '9'; };
  const auto is_part = [&](char c) {
    return c == '_' || is_digit(c) || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
  };
  return !step.empty() && !is_digit(step[0]) && std::ranges::all_of(step, is_part);
}

// `path` as a filter of jq, with every element in the place of an index.
std::string FilterOf(std::string_view line, const Path& path) {
  std::string filter;
  std::string_view value = line;
  for (const std::string& step : path) {
    const std::vector<Child> children = ChildrenOf(value);
    if (IsArray(value)) {
      filter += "[]";
    } else if (IsNameInJq(step)) {
      filter += "." + step;
    } else {
      filter += filter.empty() ? ".[" : "[";
      AppendJsonString(step, filter);
      filter += ']';
    }
    value = std::ranges::find(children, step, &Child::step)->value;
  }
  return filter + "[]";
}

// The innermost list of objects that `path` enters by an index which the user did not write. Empty
// if there is no such list.
Path ListOnTheWay(std::string_view line, const Path& path, std::string_view asked) {
  const Path written = FirstSteps(asked);
  Path list;
  std::string_view value = line;
  for (size_t i = 0; i < path.size(); ++i) {
    const std::vector<Child> children = ChildrenOf(value);
    const auto child = std::ranges::find(children, path[i], &Child::step);
    const bool asked_for = std::ranges::find(written, path[i]) != written.end() ||
                           asked.find("[" + path[i] + "]") != asked.npos;
    if (IsArray(value) && IsObject(child->value) && !asked_for) {
      list.assign(path.begin(), path.begin() + static_cast<ptrdiff_t>(i));
    }
    value = child->value;
  }
  return list;
}

// No element of the list is what is searched for.
PathHint HintForSearch(std::string_view value, const Path& list, const PathSearch& search) {
  PathHint hint;
  hint.place = Quoted(FormatPath(list));
  std::vector<std::string> texts;
  for (const Child& element : ChildrenOf(value)) {
    const std::vector<Child> children = ChildrenOf(element.value);
    const auto child = std::ranges::find(children, search.name, &Child::step);
    if (!IsObject(element.value) || child == children.end()) continue;
    const bool text = child->value.starts_with('"');
    texts.push_back(text ? Unescaped(child->value) : std::string(child->value));
  }
  if (texts.empty()) {
    hint.has = "is a list in which no element has " + Quoted(search.name);
    return hint;
  }
  hint.has = "has elements with " + Quoted(search.name) + " ";
  for (size_t i = 0; i < std::min(texts.size(), kMembersShown); ++i) {
    hint.has += (i == 0 ? "" : ", ") + Quoted(texts[i]);
  }
  if (texts.size() > kMembersShown) {
    hint.has += " and " + std::to_string(texts.size() - kMembersShown) + " more";
  }
  for (const std::string& text : texts) {
    if (text == search.value) return {};  // it is there, and leads no further
    if (!hint.meant.empty() || !Unlikeness(text, search.value, Likeness::kNear)) continue;
    hint.meant = SearchText(list, search.name, text, search.steps);
  }
  return hint;
}

// The path would tell of the first element alone, and the others would be lost without a word.
PathHint HintForList(std::string_view line, const Path& list) {
  PathHint hint;
  hint.in_list = true;
  hint.place = Quoted(FormatPath(list));
  const size_t size = ChildrenOf(Reached(line, list).second).size();
  hint.has = "is a list of " + std::to_string(size) + (size == kElementsSeen ? " or more" : "") +
             ": make a line of each element first";
  const std::string filter = FilterOf(line, list);
  // No shell takes it apart inside of single quotes, and no terminal obeys it.
  const bool safe = filter.find('\'') == std::string::npos && invalid_line::Shown(filter) == filter;
  if (safe) hint.has += ", jq -c '" + filter + "'";
  return hint;
}

}  // namespace

Path StepsMeant(std::string_view text) {
  Path steps(1);
  if (text.starts_with("$.") || text.starts_with("$[") || text == "$") text.remove_prefix(1);
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '.' || text[i] == '/') {
      steps.emplace_back();
    } else if (const size_t end = text.find(']', i); text[i] == '[' && end != text.npos) {
      std::string_view inside = text.substr(i + 1, end - i - 1);
      const bool quoted = inside.size() >= 2 && inside.front() == inside.back() &&
                          (inside.front() == '"' || inside.front() == '\'');
      if (quoted) inside = inside.substr(1, inside.size() - 2);
      steps.emplace_back(inside.empty() || inside == "*" ? "0" : inside);
      steps.emplace_back();
      i = end;
    } else if (text[i] != '?') {  // .a? in jq
      steps.back() += text[i];
    }
  }
  std::erase(steps, "");
  return steps;
}

std::string FormatPath(const Path& path) {
  const auto needs_pointer = [](const std::string& step) {
    return step.empty() || step.find_first_of(".,|?[\"") != std::string::npos;
  };
  const bool pointer = path.front().starts_with('/') || std::ranges::any_of(path, needs_pointer);
  std::string text;
  for (const std::string& step : path) {
    if (!pointer) {
      text += (text.empty() ? "" : ".") + step;
      continue;
    }
    text += '/';
    for (const char c : step) text += c == '~' ? "~0" : c == '/' ? "~1" : std::string(1, c);
  }
  return text.ends_with('?') || text.find(',') != text.npos ? JsonString(text) : text;
}

PathHint HintFor(std::string_view line, std::string_view path) {
  line = Trimmed(line);
  if (!WhyNoObject(line).empty()) return {};
  const PathWay way = ParseWrittenPath(path)->ways.front();
  const Path& asked = way.steps;
  const auto [reached, value] = Reached(line, asked);
  PathHint hint;
  if (reached == asked && !way.searches.empty() && IsArray(value)) {
    return HintForSearch(value, asked, way.searches.front());
  }
  if (std::string search = SearchMeant(line, asked); !search.empty()) {
    hint.meant = std::move(search);
  } else if (reached == asked) {
    if (!IsObject(value) && !IsArray(value)) return {};
    const std::vector<Child> children = ChildrenOf(value);
    const bool first_is_scalar =
        !children.empty() && !IsObject(children[0].value) && !IsArray(children[0].value);
    if (IsArray(value) && first_is_scalar) {
      Path first = asked;
      first.emplace_back("0");
      hint.meant = FormatPath(first);
    }
  } else if (const auto meant = PathMeant(line, asked, StepsMeant(path))) {
    const Path list = ListOnTheWay(line, *meant, path);
    if (!list.empty()) return HintForList(line, list);
    hint.meant = FormatPath(*meant);
  }
  if (!reached.empty()) hint.place = Quoted(FormatPath(reached));
  hint.has = WhatIs(value);
  return hint;
}

std::string TypeHintFor(std::string_view line, const Condition& condition) {
  line = Trimmed(line);
  std::string found;
  if (WhyNoObject(line).empty()) AddOtherTypes(line, condition, found);
  return found;
}

}  // namespace pleat::inline v0_1
