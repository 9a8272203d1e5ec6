#include "codec/stored_record.h"

#include <array>
#include <tuple>

#include "codec/record.h"
#include "model/tables.h"

namespace berth::codec {
namespace {

template <class Record>
Result<void> can_be_read(std::string_view value) {
  TRY(decode_record<Record>(value));
  return {};
}

// What is in a store under a key, and how it is read.
struct Stored {
  StoreOwner owner = StoreOwner::ControlPlane;
  Result<void> (*read)(std::string_view value) = nullptr;
};

struct AgentRecord {
  std::string_view key;  // all of it, or up to the slash
  Result<void> (*read)(std::string_view value);
};

// As the translator of agentd has them; its test compares.
constexpr std::array kAgentRecords{
    AgentRecord{"wanted/", can_be_read<model::WantedRecord>},
    AgentRecord{"handed/", can_be_read<model::StateRecord>},
    AgentRecord{"last/", can_be_read<model::StateRecord>},
    AgentRecord{"erasing/", can_be_read<model::InstanceKey>},
    AgentRecord{"acted", can_be_read<model::CommandNumber>},
    AgentRecord{"network", can_be_read<model::NodeNetwork>},
    AgentRecord{"receipt", can_be_read<model::Receipt>},
};

bool is_in(std::string_view table, std::string_view key) {
  return key.starts_with(table) && key.substr(table.size()).starts_with('/');
}

std::optional<Stored> stored_under(std::string_view key) {
  std::optional<Stored> found;
  const auto look_at = [&]<class Table>(const Table& table) {
    if (!is_in(table.name, key)) return;
    found = Stored{StoreOwner::ControlPlane, can_be_read<typename Table::Record>};
  };
  std::apply([&](const auto&... tables) { (look_at(tables), ...); }, model::kTables);
  for (const AgentRecord& record : kAgentRecords) {
    const bool is_it = record.key.ends_with('/') ? key.starts_with(record.key) : key == record.key;
    if (is_it) found = Stored{StoreOwner::Agent, record.read};
  }
  return found;
}

}  // namespace

std::optional<StoreOwner> owner_of_stored(std::string_view key) {
  const auto stored = stored_under(key);
  return stored ? std::optional(stored->owner) : std::nullopt;
}

std::optional<std::string> flaw_of_stored(std::string_view key, std::string_view value) {
  const auto stored = stored_under(key);
  if (!stored) return std::nullopt;
  const auto read = stored->read(value);
  return read ? std::nullopt : std::optional(read.error().message);
}

std::optional<std::uint64_t> revision_in(std::string_view key, std::string_view value) {
  if (!is_in(model::kTableOf<model::CounterRecord>.name, key)) return std::nullopt;
  const auto counters = decode_record<model::CounterRecord>(value);
  return counters ? std::optional(counters->revision) : std::nullopt;
}

}  // namespace berth::codec
