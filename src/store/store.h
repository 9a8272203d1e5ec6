#pragma once

#include <functional>
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

// Durable ordered map of bytes to bytes. It knows keys and bytes, not the domain. Used by one
// thread. What every implementation promises is in store/conformance.h.
class Store {
 public:
  virtual ~Store() = default;

  // All changes or none, in the order given, durable when it returns. After an error nothing of the
  // batch is there, and the store can be used on.
  virtual Result<void> commit(const std::vector<Change>& batch) = 0;

  virtual Result<std::optional<std::string>> get(std::string_view key) const = 0;

  // Everything whose key starts with `prefix`, ordered by the bytes of the key.
  virtual Result<std::vector<Entry>> list(std::string_view prefix) const = 0;
};

}  // namespace berth::store
