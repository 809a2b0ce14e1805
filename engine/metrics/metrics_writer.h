// How families and samples are written, in either format.
#pragma once

#include <array>
#include <charconv>
#include <chrono>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
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

enum class Type : uint8_t { kCounter, kGauge, kHistogram };

using Label = std::pair<std::string_view, std::string>;

class Writer {
 public:
  explicit Writer(MetricsFormat format) : open_metrics_(format == MetricsFormat::kOpenMetrics) {}

  // Begins a family; its samples come next. The unit, if any, is the last part of the name.
  void Family(std::string_view name, Type type, std::string_view help, std::string_view unit = "") {
    static constexpr std::array<std::string_view, 3> kTypes = {"counter", "gauge", "histogram"};
    name_ = name;
    suffix_ = type == Type::kCounter ? "_total" : "";
    std::string family(name);
    if (!open_metrics_) family += suffix_;
    text_ += "# HELP " + family + " " + std::string(help) + "\n# TYPE " + family + " " +
             std::string(kTypes[static_cast<size_t>(type)]) + "\n";
    if (open_metrics_ && !unit.empty())
      text_ += "# UNIT " + family + " " + std::string(unit) + "\n";
  }

  void Sample(std::string_view collection, std::initializer_list<Label> labels,
              const std::string& value) {
    Line(suffix_, collection, labels, value);
  }
  // One for each collection.
  template <class Some, class Get>
  void Samples(const Some& some, const Get& get) {
    for (const auto& each : some) Sample(each.collection, {}, Plain(get(each)));
  }
  template <class Some, class Get>
  void Gauge(std::string_view name, std::string_view help, const Some& some, const Get& get) {
    Family(name, Type::kGauge, help);
    Samples(some, get);
  }
  // One for each column of a ledger: `label` says which.
  template <class Ledger, class Columns>
  void ByColumn(std::string_view collection, const Ledger& ledger, std::string_view label,
                const Columns& columns) {
    for (const auto& column : columns) {
      Sample(collection, {{label, std::string(column.name)}}, Plain(ledger.*column.count));
    }
  }

  // A histogram, of which each bucket ends with one of `bounds` and counts it; `scale` of them are
  // 1.
  template <class Values>
  void Buckets(std::string_view collection, const Values& values, std::span<const uint64_t> bounds,
               double scale) {
    for (const uint64_t bound : bounds) {
      const auto below = static_cast<uint64_t>(std::llround(values.CountBelow(bound + 1)));
      Line("_bucket", collection, {{"le", Canonical(static_cast<double>(bound) / scale)}},
           Plain(below));
    }
    Line("_bucket", collection, {{"le", "+Inf"}}, Plain(values.count()));
    double sum = 0;
    values.ForEachBucket([&](const typename Values::Bucket& bucket) {
      const double middle =
          static_cast<double>(bucket.lowest) / 2 + static_cast<double>(bucket.highest) / 2;
      sum += middle * static_cast<double>(bucket.count);
    });
    Line("_sum", collection, {}, Plain(sum / scale));
    Line("_count", collection, {}, Plain(values.count()));
  }

  // From here on samples have another label than `collection`; or, with an empty one, those that the
  // caller gives as LabelText().
  void SetLabel(std::string_view label) { label_ = label; }
  static std::string LabelText(std::span<const MetricLabel> labels) {
    std::string text;
    for (const auto& [name, value] : labels) {
      if (!text.empty()) text += ',';
      text += std::string(name) + "=\"" + Escaped(value) + '"';
    }
    return text;
  }

  std::string Finish() && {
    if (open_metrics_) text_ += "# EOF\n";
    return std::move(text_);
  }

 private:
  void Line(std::string_view suffix, std::string_view collection,
            std::initializer_list<Label> labels, const std::string& value) {
    text_ += name_;
    text_ += suffix;
    std::string all = label_.empty() ? std::string(collection)
                                     : std::string(label_) + "=\"" + Escaped(collection) + '"';
    for (const auto& [label, content] : labels) {
      if (!all.empty()) all += ',';
      all += std::string(label) + "=\"" + content + '"';
    }
    if (!all.empty()) text_ += "{" + all + "}";
    text_ += " " + value + "\n";
  }

  const bool open_metrics_;
  std::string_view name_;
  std::string_view suffix_;
  std::string_view label_ = "collection";
  std::string text_;
};

}  // namespace pleat::inline v0_1::metrics_text
