#pragma once

#include <map>
#include <set>
#include <string>
#include <utility>

#include "model/manifest.h"
#include "placement/snapshot.h"

namespace berth::placement {

// A version that failed, and what runs instead.
struct FailedVersion {
  std::string failed;
  Versions instead;
};

// What has failed, and is not tried before somebody asks again.
struct KnownFailures {
  std::map<std::pair<model::ItemId, model::SubjectId>, FailedVersion> versions;
  std::map<model::InstanceKey, std::set<model::NodeId>> avoided;  // where they did not come up
};

// Who applies a deployment means: try again. So does who corrects the item of a version that
// failed.
void try_again(KnownFailures& failures, const model::Manifest& before,
               const model::Manifest& applied);

void respect(Snapshot& snapshot, const KnownFailures& failures);

}  // namespace berth::placement
