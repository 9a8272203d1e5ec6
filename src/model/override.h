#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/time.h"
#include "model/ids.h"

// What operators change about instances without touching their items.
namespace berth::model {

struct EnvVariable {
  std::string name;
  std::string value;
  std::optional<Duration> expires;  // after so long; nullopt: never

  friend bool operator==(const EnvVariable&, const EnvVariable&) = default;
};

// Variables for all instances that fit; what is not given fits all.
struct EnvEntry {
  std::optional<ItemId> item;
  std::optional<SubjectId> subject;
  std::optional<std::uint32_t> index;
  std::vector<EnvVariable> variables;

  friend bool operator==(const EnvEntry&, const EnvEntry&) = default;
};

// A list of overrides. Later entries win; the lists of several documents are taken in the order of
// their names.
struct EnvOverride {
  std::string name;
  std::vector<EnvEntry> entries;
  // Of a stored one whose variables expire: the date, since 1970, that their times count from.
  std::optional<Duration> counted_from = {};

  friend bool operator==(const EnvOverride&, const EnvOverride&) = default;
};

// Whom instances run for: a user, a role, a unit. One that nobody has spoken of is present.
struct Subject {
  SubjectId id;
  bool present = true;  // false: its instances are inactive, and come back with it

  friend bool operator==(const Subject&, const Subject&) = default;
};

// What the lists, in the order of their names, make of the variables of one instance.
std::map<std::string, std::string> variables_for(const InstanceKey& key,
                                                 const std::vector<const EnvOverride*>& lists);

}  // namespace berth::model
