// PlaceImages lets a table be saved while it changes. The images show the entries of a slab as they
// were at one moment, the cut: an entry that is about to change is saved first, into memory, and
// stays there until the saving thread comes to its place. That thread takes the places in order, a
// strip at a time, and saves those itself that have not changed.
//
//   places   0 ............ next ........................ end ............
//            saved          kept in memory if changed      in use only since the cut
//
// So a change costs one saving of one entry at most, and images take the memory of those entries
// that change before their places are reached. To begin, to end and to go on takes microseconds,
// however large the slab is: pages of images come with the first one and go with the last.
//
// Pages and images are copies of the snapshot (see Copies). Once it was given up, no place has anything
// to save; images that were kept are empty.
//
// Thread safety: none; the partition's lock is held. What Has() reads changes under that lock alone, so
// other threads may free the images meanwhile.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include <pleat/stored.h>

#include "engine/base/check.h"
#include "engine/base/copies.h"
#include "engine/base/prefetch.h"

namespace pleat::inline v0_1 {

class PlaceImages : private Copies::Holder {
 public:
  // How many places are saved at a time: with small states some 3 microseconds.
  static constexpr uint32_t kStrip = 64;

  // All places in use now are below `end`.
  PlaceImages(uint32_t end, Copies& copies)
      : Holder(copies), end_(end), pages_((size_t{end} + kPagePlaces - 1) / kPagePlaces) {}
  ~PlaceImages() override { Leave(); }

  // Whether the place may change: it was saved, or there is nothing to save.
  bool Has(uint32_t place) const noexcept {
    if (place >= end_ || place < next_) return true;
    const Page* page = pages_[place / kPagePlaces].get();
    return page != nullptr && (page->row(place).known[StripIn(place)] & BitOf(place)) != 0;
  }

  // Brings the memory that Has() and Keep() read towards the cache.
  void Prefetch(uint32_t place) const noexcept {
    if (place >= end_ || place < next_) return;
    if (const Page* page = pages_[place / kPagePlaces].get(); page != nullptr) {
      pleat::Prefetch(&page->row(place));
    }
  }

  // Keeps what `save(out)` writes, which may be nothing. REQUIRES: !Has(place).
  template <class Save>
  void Keep(uint32_t place, const Save& save) {
    PLEAT_DCHECK(!Has(place));
    image_.Clear();
    save(image_);
    std::unique_ptr<Page>& page = pages_[place / kPagePlaces];
    const size_t more = image_.size() == 0 ? 0 : sizeof(Head) + image_.size();
    size_t room = 0;
    size_t added = 0;
    const auto size = [&] {
      room = more == 0 || page == nullptr ? more : RoomToAdd(page->row(place), more);
      return added = (page == nullptr ? sizeof(Page) : 0) + room;
    };
    const bool kept = HoldAs(size, [&] {
      if (page == nullptr) page = std::make_unique<Page>();
      page->bytes += added;
      Row& row = page->row(place);
      row.known[StripIn(place)] |= BitOf(place);
      if (more == 0) return;
      const Head head{.size = image_.size(), .place = place};
      if (room > 0) row.images.reserve(row.images.capacity() + room);
      row.images.append(reinterpret_cast<const char*>(&head), sizeof(head));
      row.images.append(image_.bytes());
    });
    if (!kept) next_ = end_;
  }

  // Before an entry begins at a place, which is free.
  [[gnu::cold]] void KeepNothing(uint32_t place) {
    if (!Has(place)) Keep(place, [](FieldWriter&) {});
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
    LockGuard guard(lock());
    std::unique_ptr<Page>& page = pages_[next_ / kPagePlaces];
    const uint64_t known = page == nullptr ? 0 : page->row(next_).known[StripIn(next_)];
    const Strip images = known == 0 ? Strip{} : ImagesOf(page->row(next_), next_ / kStrip);
    const uint32_t rest = kStrip - next_ % kStrip;
    const uint32_t end = end_ - next_ > rest ? next_ + rest : end_;
    for (bool more = true; more && next_ < end; ++next_) {
      if ((known & BitOf(next_)) == 0) {
        more = save(next_);
      } else if (const std::string_view image = images[next_ % kStrip]; !image.empty()) {
        put(next_, image);
      }
    }
    if (next_ % kPagePlaces == 0 && page != nullptr) {
      LetGo(page->bytes);
      page = nullptr;
    }
  }

 protected:
  using Holder::Leave;

 private:
  // Before each image.
  struct Head {
    uint64_t size;
    uint64_t place;
  };
  using Strip = std::array<std::string_view, kStrip>;

  // What is kept of some strips; one line of the cache.
  static constexpr uint32_t kRowStrips = 4;
  struct alignas(64) Row {
    // A bit for each place that has an image, or nothing to save.
    std::array<uint64_t, kRowStrips> known{};
    // A head and the fields, of one after the other, in the order of the changes.
    std::string images;
  };
  static constexpr uint32_t kRowPlaces = kRowStrips * kStrip;
  static constexpr uint32_t kPageRows = 16;
  static constexpr uint32_t kPagePlaces = kPageRows * kRowPlaces;
  struct Page {
    Row& row(uint32_t place) noexcept { return rows[place / kRowPlaces % kPageRows]; }
    const Row& row(uint32_t place) const noexcept { return rows[place / kRowPlaces % kPageRows]; }
    std::array<Row, kPageRows> rows;
    size_t bytes = 0;  // that are held
  };

  // Pages stay, and with them what Has() reads.
  void Free() noexcept override {
    for (const std::unique_ptr<Page>& page : pages_) {
      if (page == nullptr) continue;
      page->bytes = 0;
      for (Row& row : page->rows) std::string().swap(row.images);
    }
  }

  // How many bytes a row has to grow by to take `more`. Its capacity at least doubles then.
  static size_t RoomToAdd(const Row& row, size_t more) noexcept {
    const size_t left = row.images.capacity() - row.images.size();
    return more <= left ? 0 : std::max(row.images.capacity(), more - left);
  }

  static uint32_t StripIn(uint32_t place) noexcept { return place / kStrip % kRowStrips; }
  static uint64_t BitOf(uint32_t place) noexcept { return uint64_t{1} << place % kStrip; }

  static Strip ImagesOf(const Row& row, uint32_t strip) noexcept {
    Strip found{};
    for (size_t at = 0; at < row.images.size();) {
      Head head;
      std::memcpy(&head, row.images.data() + at, sizeof(head));
      at += sizeof(head);
      if (head.place / kStrip == strip) found[head.place % kStrip] = {&row.images[at], head.size};
      at += head.size;
    }
    return found;
  }

  const uint32_t end_;
  uint32_t next_ = 0;
  std::vector<std::unique_ptr<Page>> pages_;  // null: no image yet, or none any more
  FieldWriter image_;
};

}  // namespace pleat::inline v0_1
