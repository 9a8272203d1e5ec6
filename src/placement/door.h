#pragma once

#include <map>
#include <set>
#include <vector>

#include "placement/ledger.h"
#include "placement/plan.h"
#include "placement/snapshot.h"

namespace berth::placement {

// Who may come in at a node while others are still leaving it. A plan is about the end of all
// moves; on the way there, what is about to leave still takes its room, and a start waits for it.
class Door {
 public:
  enum class Stay { Stays, Leaves };

  explicit Door(SnapshotNode node);

  // Is there now. Of an unknown item (nullptr) nobody knows what room it takes.
  void occupy(const model::InstanceKey& key, const model::Item* item,
              const model::RuntimeId& runtime, Stay stay);

  // Lets it in if there is room, or if nobody leaves who could make some. One that is there
  // already, in another version, goes from its old room to the new one.
  bool admit(const model::InstanceKey& key, const model::Item* item,
             const model::RuntimeId& runtime);

 private:
  std::optional<Slot> slot_of(const model::RuntimeId& runtime) const;
  Amounts asked(const model::Item& item) const;
  void take_room(const model::InstanceKey& key, const model::Item& item, Slot slot);

  const std::vector<SnapshotNode> nodes_;  // just the one
  Ledger ledger_;
  std::map<model::InstanceKey, Holding> holdings_;
  bool somebody_leaves_ = false;
};

// Those that move and must stop at their old place first, whatever their item says, because one
// that is scheduled before them comes there and waits for the room.
std::set<model::InstanceKey> crowded_out(const Snapshot& snapshot, const Plan& plan);

}  // namespace berth::placement
