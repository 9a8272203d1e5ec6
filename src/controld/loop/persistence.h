#pragma once

#include <vector>

#include "base/result.h"
#include "control/tables.h"
#include "store/store.h"

// The controller's records as the store keeps them: key = table name, '/', the write's key; value =
// the encoded record. What a record is keyed by in memory is read from the record itself.
namespace berth::controld {

std::vector<store::Change> to_changes(const std::vector<control::Write>& writes);

// Everything that was committed. A record that cannot be read is an error that names its key:
// running on with a part of what was promised would be worse.
Result<control::Durable> load(const store::Store& store);

// Whose store it is.
struct Unit {
  std::string new_cluster;  // the name of the store, if it has none yet
  bool is_known = false;    // there was a control plane before
};

// The same, but at the very first start with what is shipped, which is durable then. A store that
// knows nothing of a unit that is known has been lost: the control plane is held.
Result<control::Durable> load_or_begin(store::Store& store, const Unit& unit);

}  // namespace berth::controld
