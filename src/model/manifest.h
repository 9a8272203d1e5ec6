#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "model/document.h"

// The documents of one apply or plan, and the checks that need more than one of them.
namespace berth::model {

using Manifest = std::vector<Document>;

// Something wrong in a document. The codec that read it knows the place in the file by the path.
struct Finding {
  std::size_t document = 0;
  std::string path;                        // "spec.run[0].item"
  std::string what;                        // with a suggestion where there is one
  std::optional<ItemKey> because_of = {};  // what this item is contradicts the document

  friend bool operator==(const Finding&, const Finding&) = default;
};

// Why the item cannot be an application's; empty: it can.
std::string why_no_application(const Item& item);

// All that is wrong with these documents taken together: unknown items and versions, things said
// twice, sizes that contradict each other. Empty = they can be applied.
std::vector<Finding> validate(const Manifest& manifest);

}  // namespace berth::model
