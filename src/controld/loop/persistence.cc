#include "controld/loop/persistence.h"

#include <fmt/format.h>

#include <tuple>
#include <variant>

#include "codec/record.h"

namespace berth::controld {
namespace {

using control::Durable;

std::string encode(const control::Record& record) {
  return record.visit([](const auto& value) { return codec::encode_record(value); });
}

template <class Table>
Result<void> load_table(const store::Store& store, const Table& table, Durable& durable) {
  using Record = typename Table::Record;
  for (const store::Entry& entry : TRY(store.list(std::string(table.name) + "/"))) {
    Result<Record> record = codec::decode_record<Record>(entry.value);
    if (!record) return Error{Code::Damaged, entry.key + ": " + record.error().message};
    table.put(durable, *std::move(record));
  }
  return {};
}

}  // namespace

std::vector<store::Change> to_changes(const std::vector<control::Write>& writes) {
  std::vector<store::Change> changes;
  changes.reserve(writes.size());
  for (const control::Write& write : writes) {
    store::Change& change = changes.emplace_back();
    change.key = fmt::format("{}/{}", control::to_string(write.table), write.key);
    if (write.record) change.value = encode(*write.record);
  }
  return changes;
}

Result<Durable> load(const store::Store& store) {
  Durable durable;
  Result<void> loaded;
  const auto load_next = [&](const auto& table) {
    loaded = load_table(store, table, durable);
    return loaded.has_value();
  };
  std::apply([&](const auto&... tables) { (load_next(tables) && ...); }, model::kTables);
  if (!loaded) return loaded.error();
  return durable;
}

Result<Durable> load_or_begin(store::Store& store, const Unit& unit) {
  Durable durable = TRY(load(store));
  const bool is_new = durable.counters.revision == 0 && durable.node_configs.empty();
  if (!is_new && !durable.counters.cluster.empty()) return durable;
  std::vector<control::Write> writes;
  if (is_new) {
    const model::NodeConfig shipped = model::shipped_config();
    durable.node_configs.emplace(shipped.name, shipped);
    writes.push_back(control::put_write(shipped));
    if (unit.is_known) durable.counters.hold = model::Hold{model::HoldReason::StoreLost, {}, {}};
  }
  durable.counters.cluster = unit.new_cluster;
  writes.push_back(control::put_write(durable.counters));
  TRY(store.commit(to_changes(writes)));
  return durable;
}

}  // namespace berth::controld
