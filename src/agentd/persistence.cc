#include "agentd/persistence.h"

#include <string_view>
#include <utility>
#include <variant>

#include "codec/record.h"

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
};

template <class Record>
Result<Record> decode(const store::Entry& entry) {
  Result<Record> record = codec::decode_record<Record>(entry.value);
  if (!record) return Error{Code::Damaged, entry.key + ": " + record.error().message};
  return record;
}

Result<void> load_states(const store::Store& store, std::string_view table,
                         std::map<model::InstanceKey, model::SavedState>& states) {
  for (const store::Entry& entry : TRY(store.list(table))) {
    model::StateRecord record = TRY(decode<model::StateRecord>(entry));
    states.insert_or_assign(record.state.key, std::move(record.state));
  }
  return {};
}

}  // namespace

std::vector<store::Change> to_changes(const std::vector<agent::Write>& writes) {
  std::vector<store::Change> changes;
  changes.reserve(writes.size());
  for (const agent::Write& write : writes) changes.push_back(std::visit(ToChange{}, write));
  return changes;
}

Result<agent::Restored> load(const store::Store& store) {
  agent::Restored restored;
  for (const store::Entry& entry : TRY(store.list(kWanted))) {
    model::WantedRecord wanted = TRY(decode<model::WantedRecord>(entry));
    restored.wanted.insert_or_assign(wanted.spec.key, std::move(wanted));
  }
  TRY(load_states(store, kHanded, restored.handed));
  TRY(load_states(store, kLast, restored.last));
  if (const auto acted = TRY(store.get(kActed))) {
    restored.acted = TRY(decode<model::CommandNumber>({std::string(kActed), *acted}));
  }
  if (const auto receipt = TRY(store.get(kReceipt))) {
    restored.receipt = TRY(decode<model::Receipt>({std::string(kReceipt), *receipt}));
  }
  if (const auto network = TRY(store.get(kNetwork))) {
    restored.network = TRY(decode<model::NodeNetwork>({std::string(kNetwork), *network}));
  }
  for (const store::Entry& entry : TRY(store.list(kErasing))) {
    restored.erasing.insert(TRY(decode<model::InstanceKey>(entry)));
  }
  return restored;
}

}  // namespace berth::agentd
