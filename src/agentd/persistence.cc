#include "agentd/persistence.h"

#include <string_view>
#include <utility>
#include <variant>

#include "codec/record.h"
#include "codec/stored_record.h"

namespace berth::agentd {
namespace {

constexpr std::string_view kWanted = "wanted/";
constexpr std::string_view kHanded = "handed/";
constexpr std::string_view kLast = "last/";
constexpr std::string_view kActed = "acted";
constexpr std::string_view kReceipt = "receipt";
constexpr std::string_view kErasing = "erasing/";
constexpr std::string_view kNetwork = "network";

store::Change to_change(std::string_view table, const model::InstanceKey& key,
                        const std::optional<model::SavedState>& state) {
  store::Change change{std::string(table) + model::to_string(key), std::nullopt};
  if (state) change.value = codec::encode_record(model::StateRecord{*state, {}});
  return change;
}

struct ToChange {
  store::Change operator()(const agent::WriteWanted& write) const {
    store::Change change{std::string(kWanted) + model::to_string(write.key), std::nullopt};
    if (write.record) change.value = codec::encode_record(*write.record);
    return change;
  }
  store::Change operator()(const agent::WriteActed& write) const {
    return {std::string(kActed), codec::encode_record(write.acted)};
  }
  store::Change operator()(const agent::WriteReceipt& write) const {
    return {std::string(kReceipt), codec::encode_record(write.receipt)};
  }
  store::Change operator()(const agent::WriteNetwork& write) const {
    return {std::string(kNetwork), codec::encode_record(write.network)};
  }
  store::Change operator()(const agent::WriteHanded& write) const {
    return to_change(kHanded, write.key, write.state);
  }
  store::Change operator()(const agent::WriteLast& write) const {
    return to_change(kLast, write.key, write.state);
  }
  store::Change operator()(const agent::WriteErasing& write) const {
    store::Change change{std::string(kErasing) + model::to_string(write.key), std::nullopt};
    if (write.pending) change.value = codec::encode_record(write.key);
    return change;
  }
  store::Change operator()(const agent::WriteDoubt& write) const {
    store::Change change{std::string(codec::kDoubtKey), std::nullopt};
    if (write.in_doubt) change.value = "";
    return change;
  }
};

// Reads records one by one, and goes on behind those that are damaged.
class Loading {
 public:
  Loading(const store::Store& store, Loaded& into) : store_(store), into_(into) {}

  template <class Record, class Take>
  Result<void> all(std::string_view table, const Take& take) {
    for (const store::Entry& entry : TRY(store_.list(table))) read<Record>(entry, take);
    return {};
  }

  template <class Record, class Take>
  Result<void> one(std::string_view key, const Take& take) {
    if (const auto value = TRY(store_.get(key))) read<Record>({std::string(key), *value}, take);
    return {};
  }

  Result<void> states(std::string_view table,
                      std::map<model::InstanceKey, model::SavedState>& states) {
    return all<model::StateRecord>(table, [&](model::StateRecord record) {
      states.insert_or_assign(record.state.key, std::move(record.state));
    });
  }

 private:
  template <class Record, class Take>
  void read(const store::Entry& entry, const Take& take) {
    Result<Record> record = codec::decode_record<Record>(entry.value);
    if (record) return take(*std::move(record));
    into_.damaged.push_back({entry.key, record.error().message});
  }

  const store::Store& store_;
  Loaded& into_;
};

}  // namespace

std::vector<store::Change> to_changes(const std::vector<agent::Write>& writes) {
  std::vector<store::Change> changes;
  changes.reserve(writes.size());
  for (const agent::Write& write : writes) changes.push_back(std::visit(ToChange{}, write));
  return changes;
}

Result<Loaded> load(const store::Store& store) {
  Loaded loaded;
  agent::Restored& restored = loaded.restored;
  Loading loading(store, loaded);
  TRY(loading.all<model::WantedRecord>(kWanted, [&](model::WantedRecord wanted) {
    restored.wanted.insert_or_assign(wanted.spec.key, std::move(wanted));
  }));
  TRY(loading.states(kHanded, restored.handed));
  TRY(loading.states(kLast, restored.last));
  TRY(loading.one<model::CommandNumber>(
      kActed, [&](const model::CommandNumber& acted) { restored.acted = acted; }));
  TRY(loading.one<model::Receipt>(
      kReceipt, [&](model::Receipt receipt) { restored.receipt = std::move(receipt); }));
  TRY(loading.one<model::NodeNetwork>(
      kNetwork, [&](model::NodeNetwork network) { restored.network = std::move(network); }));
  TRY(loading.all<model::InstanceKey>(
      kErasing, [&](const model::InstanceKey& key) { restored.erasing.insert(key); }));
  loaded.doubt_is_written = TRY(store.get(codec::kDoubtKey)).has_value();
  restored.in_doubt = loaded.doubt_is_written || !loaded.damaged.empty();
  return loaded;
}

std::vector<store::Change> mended(const Loaded& loaded) {
  std::vector<store::Change> changes;
  if (loaded.restored.in_doubt && !loaded.doubt_is_written) {
    changes = to_changes({agent::WriteDoubt{true}});
  }
  for (const store::Entry& entry : loaded.damaged) changes.push_back({entry.key, std::nullopt});
  return changes;
}

}  // namespace berth::agentd
