#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace berth::store {

// One change of a batch: a value replaces, nullopt erases (also what is not there).
struct Change {
  std::string key;
  std::optional<std::string> value;

  friend bool operator==(const Change&, const Change&) = default;
};

struct Entry {
  std::string key;
  std::string value;

  friend bool operator==(const Entry&, const Entry&) = default;
};

// How many commits there were; grows by one with each that changes something. It survives whoever
// has the store open.
using Revision = std::uint64_t;

struct Commit {
  Revision revision = 0;  // that it has made
  std::vector<Change> changes;

  friend bool operator==(const Commit&, const Commit&) = default;
};

// A condition on a commit: the key has this value, or, of nullopt, is not there. So who has been
// replaced as the owner of a store that several can reach writes nothing to it any more.
struct Fence {
  std::string key;
  std::optional<std::string> value;
};

// Durable ordered map of bytes to bytes. It knows keys and bytes, not the domain. Used by one
// thread. What every implementation promises is in store/conformance.h.
class Store {
 public:
  virtual ~Store() = default;

  // All changes or none, in the order given, durable when it returns. After an error nothing of the
  // batch is there, and the store can be used on.
  Result<void> commit(const std::vector<Change>& batch) { return commit_if(std::nullopt, batch); }
  // The same if the fence holds; Conflict if it does not, and for no other reason but that another
  // has the store now.
  virtual Result<void> commit_if(const std::optional<Fence>& fence,
                                 const std::vector<Change>& batch) = 0;

  virtual Result<std::optional<std::string>> get(std::string_view key) const = 0;

  // Everything whose key starts with `prefix`, ordered by the bytes of the key.
  virtual Result<std::vector<Entry>> list(std::string_view prefix) const = 0;

  virtual Result<Revision> revision() const = 0;

  // The commits after that one, oldest first: who has a copy as of a revision follows by them.
  // Nullopt: not all of them are known any more, or that revision never was; begin with a list.
  virtual Result<std::optional<std::vector<Commit>>> changes_since(Revision revision) const = 0;
};

}  // namespace berth::store
