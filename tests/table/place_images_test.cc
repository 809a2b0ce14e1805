// A slab of numbers changes while it is saved. Whatever changes, and whenever, the bytes are those of
// the moment at which the saving began.
#include "engine/table/place_images.h"

#include <optional>
#include <random>
#include <string>
#include <string_view>
#include <vector>

#include <gtest/gtest.h>

#include "tests/support/seeds.h"

namespace pleat {
namespace {

using Places = std::vector<std::optional<uint64_t>>;  // empty: the place is not in use

struct Saving {
  explicit Saving(const Places& all)
      : now(all), images(static_cast<uint32_t>(all.size()), copies) {}

  void Save(FieldWriter& out, uint32_t place) const {
    if (now[place]) out(*now[place]);
  }
  void Change(uint32_t place, std::optional<uint64_t> value) {
    images.Prefetch(place);
    if (!images.Has(place)) {
      images.Keep(place, [&](FieldWriter& out) { Save(out, place); });
    }
    EXPECT_TRUE(images.Has(place));
    now[place] = value;
  }
  void SaveStrip() {
    images.SaveStrip(written, [&](uint32_t place) { Save(written, place); });
  }

  UncountedCopies copies;
  Places now;
  PlaceImages images;
  FieldWriter written;
};

std::string BytesOf(const Places& places) {
  FieldWriter out;
  for (const auto& place : places) {
    if (place) out(*place);
  }
  return std::string(out.bytes());
}

Places Draw(uint32_t count, std::mt19937_64& random) {
  Places places(count);
  for (auto& place : places) {
    if (random() % 8 != 0) place = random();
  }
  return places;
}

TEST(PlaceImages, ShowEachPlaceAsItWasAtTheCut) {
  ForEachSeed(1, 40, [](uint64_t seed) {
    std::mt19937_64 random(seed);
    for (const uint32_t count : {0u, 1u, 63u, 64u, 65u, 256u, 257u, 4096u, 4097u, 12'345u}) {
      const Places cut = Draw(count, random);
      Saving saving(cut);
      // From no change at all to several of each place.
      const uint64_t changes_a_strip = seed % 4 == 0 ? 0 : random() % 200;
      while (!saving.images.at_end()) {
        for (uint64_t i = 0; i < changes_a_strip; ++i) {
          const auto value = random() % 3 == 0 ? std::nullopt : std::optional(random());
          saving.Change(static_cast<uint32_t>(random() % count), value);
        }
        saving.SaveStrip();
      }
      EXPECT_EQ(saving.written.bytes(), BytesOf(cut)) << "of " << count << " places";
    }
  });
}

TEST(PlaceImages, KnowNothingOfPlacesBehindTheCut) {
  UncountedCopies copies;
  PlaceImages images(100, copies);
  EXPECT_FALSE(images.Has(99));
  EXPECT_TRUE(images.Has(100));
  images.Prefetch(5'000'000);
  EXPECT_TRUE(images.Has(5'000'000));
}

// One that writes into blocks of a limited size stops in the middle of a strip.
TEST(PlaceImages, GoOnWhereAStripWasLeft) {
  ForEachSeed(1, 10, [](uint64_t seed) {
    std::mt19937_64 random(seed);
    const Places cut = Draw(10'000, random);
    Saving saving(cut);
    for (uint32_t step = 0; !saving.images.at_end(); ++step) {
      saving.Change(static_cast<uint32_t>(random() % cut.size()), step);
      saving.images.TakeStrip(
          [&](uint32_t place) {
            saving.Save(saving.written, place);
            return random() % 32 != 0;
          },
          [&](uint32_t, std::string_view image) { saving.written.PutFields(image); });
    }
    EXPECT_EQ(saving.written.bytes(), BytesOf(cut));
  });
}

}  // namespace
}  // namespace pleat
