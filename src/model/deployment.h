#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "model/ids.h"

// What users ask to run. All deployments together are the desired state.
namespace berth::model {

struct RunRequest {
  ItemId item;
  std::string version;  // empty: the item's only version
  SubjectId subject{"default"};
  std::int64_t priority = 0;
  std::optional<std::uint32_t> instances = 1;  // nullopt: `all`, one on every runtime that matches
  std::vector<std::string> labels;
  std::vector<NodeId> nodes;  // empty: any node

  friend bool operator==(const RunRequest&, const RunRequest&) = default;
};

struct Deployment {
  std::string name;
  std::vector<RunRequest> run;

  friend bool operator==(const Deployment&, const Deployment&) = default;
};

}  // namespace berth::model
