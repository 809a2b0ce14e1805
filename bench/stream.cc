#include "bench/stream.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "bench/settings.h"
#include "bench/workloads.h"

namespace pleat::bench {
namespace {

Stream FromWorkload(const KeyedWorkload& work) {
  const size_t keys = Shrunk(work.keys.size());
  const size_t events = Shrunk(Quick() ? work.events.size() / 4 : work.events.size());
  std::vector<uint32_t> order(work.events.begin(),
                              work.events.begin() + static_cast<ptrdiff_t>(events));
  for (uint32_t& key : order) key %= static_cast<uint32_t>(keys);
  return {Keys::Copy(std::span(work.keys).first(keys)), std::move(order)};
}

}  // namespace

Keys Keys::Make(size_t count, size_t bytes) {
  Keys keys;
  keys.bytes_ = bytes;
  keys.text_.assign(count * bytes, 'k');
  for (size_t i = 0; i < count; ++i) {
    const uint64_t own = Scatter(i);
    std::memcpy(keys.text_.data() + (i + 1) * bytes - sizeof(own), &own, sizeof(own));
  }
  return keys;
}

size_t Shrunk(size_t n) { return Tiny() ? n / 64 : n; }

Keys Keys::Copy(std::span<const std::string> texts) {
  Keys keys;
  keys.bytes_ = texts.front().size();
  keys.text_.reserve(texts.size() * keys.bytes_);
  for (const std::string& text : texts) keys.text_ += text;
  return keys;
}

Stream::Stream(Keys keys, std::vector<uint32_t> order)
    : keys_(std::move(keys)), order_(std::move(order)) {
  text_.resize(order_.size() * keys_.bytes_each());
  events_.reserve(order_.size());
  char* text = text_.data();
  for (uint32_t key : order_) {
    std::memcpy(text, keys_[key].data(), keys_.bytes_each());
    const uint64_t field = Scatter(events_.size());
    events_.push_back({{text, keys_.bytes_each()}, kStart, {field % 64}});
    text += keys_.bytes_each();
  }
}

std::span<const Event> Stream::Stamped(size_t begin, size_t end, EngineTime from) {
  for (size_t i = begin; i < end; ++i) events_[i].at = from + Duration(i - begin);
  return std::span(events_).subspan(begin, end - begin);
}

Stream& UniformStream() {
  static auto* stream = new Stream(FromWorkload(Uniform1M()));
  return *stream;
}

Stream& ZipfStream() {
  static auto* stream = new Stream(FromWorkload(Zipf1M()));
  return *stream;
}

Stream MakeUniformStream(size_t keys, size_t key_bytes, size_t events) {
  std::vector<uint32_t> order(events);
  for (size_t i = 0; i < events; ++i) {
    order[i] = static_cast<uint32_t>(Scatter(events + i) % keys);
  }
  return {Keys::Make(keys, key_bytes), std::move(order)};
}

void Model::Fold(const Stream& stream, size_t n) {
  for (; n > 0; n -= std::min(n, stream.size())) {
    for (size_t i = 0; i < std::min(n, stream.size()); ++i) {
      groups_[stream.order()[i]].Fold({Scatter(i)});
    }
  }
}

size_t Model::Stride() { return Quick() ? 16 : 1; }

}  // namespace pleat::bench
