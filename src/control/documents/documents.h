#pragma once

#include <cstdint>
#include <map>
#include <utility>

#include "control/step.h"

namespace berth::control {

// The room of documents: how often each item was edited under one version, and what it said before.
class Documents {
 public:
  // Puts the item in the place of what was known. Whether it is another one.
  bool put(Step& step, const model::Item& item);

  // Grows with each edit; 0: it was not edited since the start.
  std::uint64_t edition_of(const model::ItemKey& key) const;
  // Documents before they were edited are known while there are rollouts: what waits for its turn
  // runs them. After a restart of the controller they are not.
  const model::Item* find_former(const model::ItemKey& key, std::uint64_t edition) const;

  void decide(const Step& step);

 private:
  std::map<model::ItemKey, std::uint64_t> editions_;
  std::map<std::pair<model::ItemKey, std::uint64_t>, model::Item> former_;
};

}  // namespace berth::control
