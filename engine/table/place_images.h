// PlaceImages lets a table be saved while it changes. The images show the entries of a slab as they
// were at one moment, the cut: an entry that is about to change is saved first, into memory, and
// stays there until the saving thread comes to its place. That thread takes the places in order, a
// strip at a time, and saves those itself that have not changed.
//
//   places   0 ............ next ........................ end ............
//            saved          kept in memory if changed      in use only since the cut
//
// So a change costs one saving of one entry at most, and images take the memory of those entries
// that change before their places are reached.
//
// Thread safety: none; the partition's lock is held.
#pragma once

#include <array>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>
#include <vector>

#include <pleat/stored.h>

#include "engine/base/check.h"
#include "engine/base/prefetch.h"

namespace pleat::inline v0_1 {

class PlaceImages {
 public:
  // How many places are saved at a time: with small states some 3 microseconds.
  static constexpr uint32_t kStrip = 64;

  // All places in use now are below `end`.
  explicit PlaceImages(uint32_t end)
      : end_(end), known_(Count(end, kStrip)), images_(Count(end, kTogether)) {}

  // Whether the place may change: it was saved, or there is nothing to save.
  bool Has(uint32_t place) const noexcept {
    return place >= end_ || place < next_ || (known_[place / kStrip] & BitOf(place)) != 0;
  }

  // Brings the memory that Has() and Keep() read towards the cache.
  void Prefetch(uint32_t place) const noexcept {
    if (place >= end_) return;
    pleat::Prefetch(&known_[place / kStrip]);
    pleat::Prefetch(&images_[place / kTogether]);
  }

  // Keeps what `save(out)` writes, which may be nothing. REQUIRES: !Has(place).
  template <class Save>
  void Keep(uint32_t place, const Save& save) {
    PLEAT_DCHECK(!Has(place));
    known_[place / kStrip] |= BitOf(place);
    image_.Clear();
    save(image_);
    if (image_.size() == 0) return;
    const Head head{.size = image_.size(), .place = place};
    std::string& images = images_[place / kTogether];
    images.append(reinterpret_cast<const char*>(&head), sizeof(head));
    images.append(image_.bytes());
  }

  bool at_end() const noexcept { return next_ >= end_; }

  // Writes the images of the next strip, and calls `save(place)` for the places without one, all in
  // the order of places. REQUIRES: !at_end().
  template <class Save>
  void SaveStrip(FieldWriter& out, const Save& save) {
    const auto put = [&](uint32_t, std::string_view image) { out.PutFields(image); };
    const auto save_and_go_on = [&](uint32_t place) { return save(place), true; };
    TakeStrip(save_and_go_on, put);
  }
  // The same for a caller that puts the images itself, by `put(place, image)` for each one that is
  // not empty, and that leaves the rest of the strip for the next call where `save` returns false.
  template <class Save, class Put>
  void TakeStrip(const Save& save, const Put& put) {
    const uint64_t known = known_[next_ / kStrip];
    const Strip images = ImagesOf(next_ / kStrip);
    const uint32_t rest = kStrip - next_ % kStrip;
    const uint32_t end = end_ - next_ > rest ? next_ + rest : end_;
    for (bool more = true; more && next_ < end; ++next_) {
      if ((known & BitOf(next_)) == 0) {
        more = save(next_);
      } else if (const std::string_view image = images[next_ % kStrip]; !image.empty()) {
        put(next_, image);
      }
    }
    if (next_ % kTogether == 0) images_[next_ / kTogether - 1] = std::string();
  }

 private:
  // Before each image.
  struct Head {
    uint64_t size;
    uint64_t place;
  };
  using Strip = std::array<std::string_view, kStrip>;

  // So many places have their images in one string, in the order of the changes.
  static constexpr uint32_t kTogether = 256;

  static size_t Count(uint32_t end, uint32_t in_one) noexcept {
    return (size_t{end} + in_one - 1) / in_one;
  }
  static uint64_t BitOf(uint32_t place) noexcept { return uint64_t{1} << place % kStrip; }

  Strip ImagesOf(uint32_t strip) const noexcept {
    Strip found{};
    const std::string& images = images_[strip * kStrip / kTogether];
    for (size_t at = 0; at < images.size();) {
      Head head;
      std::memcpy(&head, images.data() + at, sizeof(head));
      at += sizeof(head);
      if (head.place / kStrip == strip) found[head.place % kStrip] = {&images[at], head.size};
      at += head.size;
    }
    return found;
  }

  const uint32_t end_;
  uint32_t next_ = 0;
  std::vector<uint64_t> known_;      // a bit for each place with an image, or with nothing to save
  std::vector<std::string> images_;  // a head and the fields, of one after the other
  FieldWriter image_;
};

}  // namespace pleat::inline v0_1
