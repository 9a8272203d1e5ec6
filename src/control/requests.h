#pragma once

#include <cstdint>
#include <map>

#include "control/tables.h"

namespace berth::control {

// What all deployments together ask for, found by the request.
class Requests {
 public:
  struct Asked {
    const model::Deployment* by = nullptr;
    const model::RunRequest* run = nullptr;
  };
  using Map = std::map<RequestKey, Asked>;

  // Points to the deployment, until that is removed.
  void add(const model::Deployment& deployment);
  void remove(const model::Deployment& deployment);

  // nullptr: nobody asks for it.
  const Asked* find(const RequestKey& key) const;
  const Map& all() const { return asked_; }
  // How many instances, without those that depend on the nodes there are.
  std::uint64_t instances() const { return instances_; }

 private:
  Map asked_;
  std::uint64_t instances_ = 0;
};

inline RequestKey key_of(const model::RunRequest& run) { return {run.item, run.subject}; }

// How many instances a deployment asks for, likewise.
std::uint64_t instances_of(const model::Deployment& deployment);

bool has_any_version(const Durable& durable, const model::ItemId& id);

// The item that a request means: the version that it names, else the only one.
const model::Item& item_of(const Durable& durable, const model::RunRequest& run);

}  // namespace berth::control
