#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "model/manifest.h"
#include "placement/snapshot.h"

namespace berth::cli {

// More would not fit into the memory of many a machine.
constexpr std::uint32_t kNodeCopiesMax = 1'000'000;

// Which cluster to take instead of the one that the documents describe.
struct NodeCopies {
  std::optional<std::uint32_t> nodes;  // so many in all; nullopt: the nodes as they are
  std::vector<std::string> like;       // copies of these in turn; none: of all
};

// The cluster of the documents, with copies instead of its nodes if that is asked for. They are
// called "n1-00001" and so on, and nothing runs on them. Who is named twice is copied twice as
// often. Node configs of a node, and run requests that name it, mean all of its copies: the
// documents are changed for that. Points into them.
Result<placement::Snapshot> snapshot_with_copies(const NodeCopies& copies,
                                                 model::Manifest& documents);

}  // namespace berth::cli
