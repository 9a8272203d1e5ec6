#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "model/item.h"

// The names under which instances are found.
namespace berth::control {

// Whom a name stands for: all instances of an item, or those for one subject.
struct Claimant {
  model::ItemId item;
  std::optional<model::SubjectId> subject;

  friend bool operator==(const Claimant&, const Claimant&) = default;
};

std::string to_string(const Claimant& claimant);

struct Name {
  std::string text;
  Claimant claimant;

  friend bool operator==(const Name&, const Name&) = default;
};

// An id as one label of a DNS name: in lower case, with '-' for all that may not be in one, and not
// too long. Different ids can become the same label.
std::string dns_label(std::string_view id);

// "0.vehicle.web", "vehicle.web", "web", and the host names of the item; none twice.
std::vector<Name> names_of(const model::Item& item, const model::InstanceKey& key);

// Who has which name. A name has one claimant, who keeps it for as long as any instance uses it.
class NameClaims {
 public:
  // Whether the name was free, or the claimant's already.
  bool claim(const Name& name);
  void release(const Name& name);
  // nullptr: the name is free.
  const Claimant* find(const std::string& name) const;

 private:
  struct Claim {
    Claimant claimant;
    std::size_t users = 0;
  };

  std::map<std::string, Claim> claims_;
};

}  // namespace berth::control
