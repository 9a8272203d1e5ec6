#pragma once

#include <cstddef>

#include "base/result.h"
#include "berth/v1/agent.pb.h"
#include "model/protocol.h"

// What controller and agents say, as messages of the wire. Reading checks everything that the model
// takes for granted (names, sizes, enumerations) and says what is wrong: nothing that comes from
// outside is believed.
namespace berth::codec {

// What one message may have. Longer texts for people are cut when they are written; names never are
// that long.
struct WireLimits {
  static constexpr int kInstancesMax = 100'000;              // of each list
  static constexpr std::size_t kDocumentBytesMax = 1 << 20;  // an item, a node
  static constexpr std::size_t kNetworkBytesMax = 2 << 20;   // what a node knows of networks
  static constexpr std::size_t kStateBytesMax = model::SavedState::kSizeMax.count();
  static constexpr std::size_t kTextBytesMax = 4096;  // a problem
  static constexpr std::size_t kPortsMax = 1000;      // of one session
};

v1::Command to_wire(const model::Command& command);
v1::Report to_wire(const model::Report& report);
v1::PoolCommand to_wire(const model::PoolCommand& command);
v1::InstanceKey to_wire(const model::InstanceKey& key);
v1::Usage to_wire(const model::Usage& usage);
v1::Traffic to_wire(const model::Traffic& traffic);
v1::PartitionUsage to_wire(const model::PartitionUsage& partition);
v1::Footprint to_wire(const model::Footprint& footprint);
v1::Problem to_wire(const model::Problem& problem);
v1::InstanceState to_wire(model::InstanceState state);
v1::Receipt to_wire(const model::Receipt& receipt);

// InvalidInput: "run[2].key.item: must not be empty".
Result<model::Command> from_wire(const v1::Command& command);
Result<model::Report> from_wire(const v1::Report& report);
Result<model::PoolCommand> from_wire(const v1::PoolCommand& command);
Result<model::InstanceKey> from_wire(const v1::InstanceKey& key);  // of a pool, too

}  // namespace berth::codec
