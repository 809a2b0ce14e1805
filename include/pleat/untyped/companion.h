// A Companion is what an adapter keeps beside a collection, and wants stored with it: counts of its
// own, texts that are on their way out, keys of hashes. It gets into the same snapshots, at the
// same cut, and comes back with the collection.
//
//   class Lines final : public pleat::Companion {
//    public:
//     NamedTexts Options() const override { return {{"path", path_}}; }
//     void Save(pleat::FieldWriter& out) const override { out(lines_.load()); }
//     void Load(pleat::FieldReader& in) override { lines_ = in.Number(); }
//     ...
//   };
//
//   auto live_set = *pleat::AnyLiveSet::Open(*engine, "readers", options, ops);
//   absl::Status kept = pleat::SetCompanion(*engine, "readers", std::make_shared<Lines>(path));
//
// A program with typed collections needs none of this: what its states store is said in stored.h.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <absl/status/status.h>
#include <pleat/detail/export.h>
#include <pleat/engine.h>
#include <pleat/stored.h>

namespace pleat::inline v0_1 {

// REQUIRES: no function throws, nor calls an engine.
class Companion {
 public:
  using NamedTexts = std::vector<std::pair<std::string, std::string>>;

  virtual ~Companion() = default;

  // Names and values of the adapter's options that have a part in the results; a list has its name
  // several times. A snapshot is refused by a collection whose companion has other ones, and the
  // error names the first that differs. They never change.
  virtual NamedTexts Options() const = 0;

  // Writes what is to be stored. All partitions are locked meanwhile, so be quick. Threads that are
  // in no call on the engine may be using the object.
  virtual void Save(FieldWriter& out) const = 0;

  // Reads what Save() has written, after the collection, by one thread; and once more, as it was,
  // if the restoring fails. Bytes that make no sense: in.Fail().
  virtual void Load(FieldReader& in) = 0;

  // --- A rest that takes long to write. By default there is none.

  // The rest is as it was when the snapshot was cut.
  class Rest {
   public:
    virtual ~Rest() = default;
    // Writes some more; returns false if that was all. The thread that takes the snapshot calls it,
    // and no partition is locked, so that other threads use the companion meanwhile.
    virtual bool SaveNext(FieldWriter& out) = 0;
  };
  // Called behind Save(), with all partitions locked too. Null: there is no rest. One at a time.
  virtual std::unique_ptr<Rest> BeginRest() { return nullptr; }
  // Reads what the rest has written, after Load(). It is not called if there was none, or if it was
  // lost in a snapshot that was salvaged.
  virtual void LoadRest(FieldReader& in) { in.Fail(); }
  // Whether Load() would lose something, so that no snapshot can be restored any more.
  virtual bool is_used() const { return false; }
};

// Gives the collection `name` its companion. The engine keeps it as long as the collection.
// REQUIRES: no snapshot of the engine is being taken or restored.
// Errors: kNotFound if the engine has no such collection; kAlreadyExists if it has a companion.
PLEAT_EXPORT absl::Status SetCompanion(Engine& engine, std::string_view name,
                                       std::shared_ptr<Companion> companion);

}  // namespace pleat::inline v0_1
