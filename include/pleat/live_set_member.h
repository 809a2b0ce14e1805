// The events that go into a LiveSet, and the members that come out.
//
//   struct News { std::string title; bool operator==(const News&) const = default; };
//   pleat::LiveSet<News> news(*engine, "news", {.ttl = 5min});
//   news.Add("sports", {.id = "4711", .payload = {"Won"}}, at);
//   for (const pleat::LiveMember<News>& m : news.List("sports")) Show(m.payload.title, m.stamp);
//
// Ownership: an event borrows the bytes of its id until the call that adds it returns; a LiveMember
// is plain data of its own.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

#include <pleat/batch.h>
#include <pleat/export.h>
#include <pleat/time.h>

namespace pleat::inline v0_1 {

// The payload of members that are their id alone.
struct NoPayload {
  friend constexpr bool operator==(const NoPayload&, const NoPayload&) = default;
};

template <class Payload>
struct LiveSetEvent {
  // Takes no temporary std::string, which would be gone before the call: name the string first.
  KeyView id;

  // The member's own TTL. Zero: that of the series, or the one that the live member has. Below
  // zero: the event is late.
  Duration ttl{0};

  // Decides between events of one stamp: the higher version counts. None is below any.
  std::optional<uint64_t> version = {};

  Payload payload = {};
};

template <class Payload = NoPayload>
struct LiveMember {
  std::string id;
  Payload payload;
  EngineTime stamp;
  EngineTime deadline;  // kNever: none
  std::optional<uint64_t> version;
};

struct SeriesCount {
  std::string series;
  size_t count;
};

}  // namespace pleat::inline v0_1
