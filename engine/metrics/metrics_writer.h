// How families and samples are written, in either format. The two differ: in OpenMetrics a
// counter's family lacks the _total of its samples, units are named, and the end is marked. Numbers
// are written such that both take them, bounds as the canonical numbers of OpenMetrics.
#pragma once

#include <array>
#include <charconv>
#include <chrono>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include <pleat/metrics.h>

#include "engine/base/utf8.h"

namespace pleat::inline v0_1::metrics_text {

inline std::string Escaped(std::string_view text) {
  std::string out;
  while (!text.empty()) {
    const size_t length = CharacterLength(text);
    switch (text[0]) {
      case '\\': out += "\\\\"; break;
      case '"': out += "\\\""; break;
      case '\n': out += "\\n"; break;
      default: length == 0 ? out += "\xEF\xBF\xBD" : out += text.substr(0, length);
    }
    text.remove_prefix(length == 0 ? 1 : length);
  }
  return out;
}

template <class Number>
std::string Plain(Number value) {
  std::array<char, 32> digits;
  const auto end = std::to_chars(digits.data(), digits.data() + digits.size(), value).ptr;
  return std::string(digits.data(), end);
}

// A count without an exponent.
inline std::string PlainCount(double value) {
  const bool whole = std::abs(value) < 0x1p53 && std::floor(value) == value;
  return whole ? Plain(static_cast<int64_t>(value)) : Plain(value);
}

// As OpenMetrics wants a bound: 0.0001, 5.0, 1e+06.
inline std::string Canonical(double value) {
  std::array<char, 32> digits;
  const auto format = value < 1e6 ? std::chars_format::fixed : std::chars_format::scientific;
  const auto end = std::to_chars(digits.data(), digits.data() + digits.size(), value, format).ptr;
  const std::string text(digits.data(), end);
  return text.find_first_of(".e") == std::string::npos ? text + ".0" : text;
}

inline std::string Seconds(Duration duration) {
  return Plain(std::chrono::duration<double>(duration).count());
}

// The labels of a sample, as they stand between braces.
class Labels {
 public:
  Labels() = default;
  explicit Labels(const MetricLabel& label) { Add(label); }
  explicit Labels(std::span<const MetricLabel> labels) {
    for (const MetricLabel& label : labels) Add(label);
  }
  // These, and another one if it has a name.
  Labels With(const MetricLabel& label) const {
    Labels all = *this;
    if (!label.first.empty()) all.Add(label);
    return all;
  }
  const std::string& text() const noexcept { return text_; }

 private:
  void Add(const MetricLabel& label) {
    if (!text_.empty()) text_ += ',';
    text_ += std::string(label.first) + "=\"" + Escaped(label.second) + '"';
  }

  std::string text_;
};

enum class Type : uint8_t { kCounter, kGauge, kHistogram };

// The samples of one name, behind what all of them have in common.
class Family {
 public:
  void Describe(bool open_metrics, std::string_view name, Type type, std::string_view help,
                std::string_view unit) {
    static constexpr std::array<std::string_view, 3> kTypes = {"counter", "gauge", "histogram"};
    name_ = name;
    suffix_ = type == Type::kCounter ? "_total" : "";
    const std::string family = open_metrics ? name_ : name_ + suffix_;
    text_ = "# HELP " + family + " " + std::string(help) + "\n# TYPE " + family + " " +
            std::string(kTypes[static_cast<size_t>(type)]) + "\n";
    if (open_metrics && !unit.empty()) text_ += "# UNIT " + family + " " + std::string(unit) + "\n";
  }
  // Empty as long as nothing describes the family.
  const std::string& text() const noexcept { return text_; }

  void Sample(const Labels& labels, const std::string& value) { Line(suffix_, labels, value); }

  // A histogram, of which each bucket ends with one of `bounds` and counts it; `scale` of them are
  // 1.
  template <class Values>
  void Buckets(const Labels& labels, const Values& values, std::span<const uint64_t> bounds,
               double scale) {
    for (const uint64_t bound : bounds) {
      const auto below = static_cast<uint64_t>(std::llround(values.CountBelow(bound + 1)));
      const std::string upper = Canonical(static_cast<double>(bound) / scale);
      Line("_bucket", labels.With({"le", upper}), Plain(below));
    }
    Line("_bucket", labels.With({"le", "+Inf"}), Plain(values.count()));
    double sum = 0;
    values.ForEachBucket([&](const typename Values::Bucket& bucket) {
      const double middle =
          static_cast<double>(bucket.lowest) / 2 + static_cast<double>(bucket.highest) / 2;
      sum += middle * static_cast<double>(bucket.count);
    });
    Line("_sum", labels, Plain(sum / scale));
    Line("_count", labels, Plain(values.count()));
  }

 private:
  void Line(const std::string& suffix, const Labels& labels, const std::string& value) {
    text_ += name_ + suffix;
    if (!labels.text().empty()) text_ += "{" + labels.text() + "}";
    text_ += " " + value + "\n";
  }

  std::string name_;
  std::string suffix_;
  std::string text_;
};

// All families, each written once with the samples of everything that has it.
class Writer {
 public:
  // Families come in the order in which they were asked for, but these first.
  Writer(MetricsFormat format, std::span<const std::string_view> first)
      : open_metrics_(format == MetricsFormat::kOpenMetrics) {
    for (const std::string_view name : first) NewPlace(name);
  }

  // The unit, if any, is the last part of the name.
  Family& Of(std::string_view name, Type type, std::string_view help, std::string_view unit = {}) {
    const auto found = by_name_.find(name);
    Family& family = found != by_name_.end() ? *found->second : NewPlace(name);
    if (family.text().empty()) family.Describe(open_metrics_, name, type, help, unit);
    return family;
  }

  std::string Finish() && {
    std::string text;
    for (const Family& family : families_) text += family.text();
    if (open_metrics_) text += "# EOF\n";
    return text;
  }

 private:
  Family& NewPlace(std::string_view name) { return *(by_name_[name] = &families_.emplace_back()); }

  const bool open_metrics_;
  std::deque<Family> families_;
  std::map<std::string_view, Family*> by_name_;
};

}  // namespace pleat::inline v0_1::metrics_text
