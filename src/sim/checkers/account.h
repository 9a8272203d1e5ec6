#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>

#include "control/tables.h"
#include "model/item.h"
#include "model/node.h"

namespace berth::sim {

class World;

// A second, plain book-keeping of who takes how much of what, written from the specification and
// not from the engine that it checks.
class Account {
 public:
  // What there is, is what the machines really have; settings are those that the controller has.
  Account(const World& world, const control::Durable& durable);

  // Notes that an instance of the item takes its share of the place.
  void take(const model::Place& place, const model::Item& item);

  // What is taken beyond what is there; nullopt = everything fits.
  std::optional<std::string> excess() const;
  std::optional<std::string> excess_on(const model::NodeId& node) const;

 private:
  struct Taken {
    Dmips cpu;
    Bytes ram;
    std::int64_t instances = 0;
  };
  struct Space {
    Bytes storage;
    Bytes state;
  };
  struct NodeTaken {
    const model::NodeInfo* info = nullptr;
    model::NodeSettings settings;
    Taken total;
    std::map<model::RuntimeId, Taken> runtimes;
    std::map<std::string, std::int64_t> shared;
    Space space;
  };

  std::optional<std::string> excess_of(const NodeTaken& taken) const;
  std::optional<std::string> excess_of_space(const model::Partitions& size,
                                             const Space& taken) const;

  std::map<model::NodeId, NodeTaken> nodes_;
  Space unit_wide_;
};

}  // namespace berth::sim
