#include "codec/stored_record.h"

#include <algorithm>
#include <array>

#include "codec/record.h"
#include "model/manifest.h"
#include "model/override.h"

namespace berth::codec {
namespace {

template <class Record>
Result<void> can_be_read(std::string_view value) {
  TRY(decode_record<Record>(value));
  return {};
}

struct Table {
  StoreOwner owner;
  std::string_view key;  // all of it, or up to the slash
  Result<void> (*read)(std::string_view value);
};

constexpr std::string_view kCounters = "counters/";
constexpr StoreOwner kControlPlane = StoreOwner::ControlPlane;
constexpr StoreOwner kAgent = StoreOwner::Agent;

// As the translators of controld and agentd have them; their tests compare.
constexpr std::array kTables{
    Table{kControlPlane, "items/", can_be_read<model::Item>},
    Table{kControlPlane, "deployments/", can_be_read<model::Deployment>},
    Table{kControlPlane, "node_configs/", can_be_read<model::NodeConfig>},
    Table{kControlPlane, "nodes/", can_be_read<model::NodeRecord>},
    Table{kControlPlane, "instances/", can_be_read<model::InstanceRecord>},
    Table{kControlPlane, "states/", can_be_read<model::StateRecord>},
    Table{kControlPlane, "groups/", can_be_read<model::GroupRecord>},
    Table{kControlPlane, "freed_uids/", can_be_read<model::FreedIdRecord>},
    Table{kControlPlane, "networks/", can_be_read<model::NetworkRecord>},
    Table{kControlPlane, "node_addresses/", can_be_read<model::NodeAddressRecord>},
    Table{kControlPlane, "freed_addresses/", can_be_read<model::FreedAddressRecord>},
    Table{kControlPlane, kCounters, can_be_read<model::CounterRecord>},
    Table{kControlPlane, "rollouts/", can_be_read<model::RolloutRecord>},
    Table{kControlPlane, "env_overrides/", can_be_read<model::EnvOverride>},
    Table{kControlPlane, "subjects/", can_be_read<model::Subject>},
    Table{kControlPlane, "decisions/", can_be_read<model::DecisionRecord>},
    Table{kAgent, "wanted/", can_be_read<model::WantedRecord>},
    Table{kAgent, "handed/", can_be_read<model::StateRecord>},
    Table{kAgent, "last/", can_be_read<model::StateRecord>},
    Table{kAgent, "erasing/", can_be_read<model::InstanceKey>},
    Table{kAgent, "acted", can_be_read<model::CommandNumber>},
    Table{kAgent, "network", can_be_read<model::NodeNetwork>},
    Table{kAgent, "receipt", can_be_read<model::Receipt>},
};

const Table* table_of(std::string_view key) {
  const auto found = std::ranges::find_if(kTables, [key](const Table& table) {
    return table.key.ends_with('/') ? key.starts_with(table.key) : key == table.key;
  });
  return found == kTables.end() ? nullptr : &*found;
}

}  // namespace

std::optional<StoreOwner> owner_of_stored(std::string_view key) {
  const Table* table = table_of(key);
  return table == nullptr ? std::nullopt : std::optional(table->owner);
}

std::optional<std::string> flaw_of_stored(std::string_view key, std::string_view value) {
  const Table* table = table_of(key);
  if (table == nullptr) return std::nullopt;
  const auto read = table->read(value);
  return read ? std::nullopt : std::optional(read.error().message);
}

std::optional<std::uint64_t> revision_in(std::string_view key, std::string_view value) {
  if (!key.starts_with(kCounters)) return std::nullopt;
  const auto counters = decode_record<model::CounterRecord>(value);
  return counters ? std::optional(counters->revision) : std::nullopt;
}

}  // namespace berth::codec
