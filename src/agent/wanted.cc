#include "agent/wanted.h"

#include <algorithm>
#include <utility>

#include "agent/fetched_image.h"
#include "base/check.h"

namespace berth::agent {
namespace {

// A command that names a key twice means the last.
std::map<model::InstanceKey, const model::InstanceSpec*> specs_of(const model::Command& command) {
  std::map<model::InstanceKey, const model::InstanceSpec*> specs;
  for (const model::InstanceSpec& spec : command.run) specs[spec.key] = &spec;
  return specs;
}

// What comes with a state goes on from what counts elsewhere: what is here does not count.
std::set<model::InstanceKey> handed_by(const model::Command& command) {
  std::set<model::InstanceKey> keys;
  for (const model::SavedState& state : command.states) {
    if (!state.content.empty()) keys.insert(state.key);
  }
  return keys;
}

model::WantedRecord a_record(const model::InstanceSpec& spec, const model::CommandNumber& number) {
  return {.spec = spec, .generation = number, .finished = false, .exit_code = {}, .successor = {}};
}

const model::InstanceSpec& last_told(const model::WantedRecord& record) {
  return record.successor ? record.successor->spec : record.spec;
}

// Whether what runs may go on until what replaces it can be started. Not with an address that is
// the instance's no longer: somebody else may get it.
bool may_go_on(const model::WantedRecord& record, const model::InstanceSpec& next) {
  if (next.prepare_only || record.spec.prepare_only) return false;  // nothing of it shall run
  const bool loses_address = record.spec.network && record.spec.network != next.network;
  return !record.finished && !loses_address;
}

// What is only prepared needs none yet.
bool knows_network(const std::optional<model::NodeNetwork>& known,
                   const model::InstanceSpec& spec) {
  if (!spec.network || spec.prepare_only) return true;
  return known && std::ranges::any_of(known->networks, [&](const auto& one) {
           return one.owner == spec.network->owner &&
                  model::contains(one.subnet, spec.network->address);
         });
}

}  // namespace

bool contradicts_itself(const Restored& restored) {
  return std::ranges::any_of(restored.wanted, [&](const auto& entry) {
    const model::WantedRecord& record = entry.second;
    return record.generation > restored.acted || !knows_network(restored.network, record.spec);
  });
}

Wanted::Wanted(Restored restored)
    : records_(std::move(restored.wanted)),
      network_(std::move(restored.network)),
      acted_(restored.acted),
      receipt_(std::move(restored.receipt)),
      restored_(restored.acted) {}

const model::WantedRecord* Wanted::find(const model::InstanceKey& key) const {
  const auto found = records_.find(key);
  return found == records_.end() ? nullptr : &found->second;
}

bool Wanted::knows_network_of(const model::InstanceSpec& spec) const {
  return knows_network(network_, spec);
}

model::ToldOrders Wanted::told() const {
  model::ToldOrders told{.run = {}, .network = network_};
  for (const auto& [key, record] : records_) {
    if (!last_told(record).prepare_only) told.run.push_back(last_told(record));
  }
  return told;
}

std::size_t Wanted::size_after(const model::Command& command) const {
  const auto specs = specs_of(command);
  std::size_t size = records_.size() - dropped_by(command).size();
  for (const auto& [key, spec] : specs) size += records_.contains(key) ? 0 : 1;
  return size;
}

std::set<model::InstanceKey> Wanted::dropped_by(const model::Command& command) const {
  const auto specs = specs_of(command);
  std::set<model::InstanceKey> dropped;
  if (command.base) {
    for (const model::InstanceKey& key : command.stop) {
      if (records_.contains(key) && !specs.contains(key)) dropped.insert(key);
    }
  } else {
    for (const auto& [key, record] : records_) {
      if (!specs.contains(key)) dropped.insert(dropped.end(), key);
    }
    for (const model::InstanceKey& key : command.keep) dropped.erase(key);
  }
  return dropped;
}

std::set<model::InstanceKey> Wanted::carry_out(const model::Command& command, Replaces replaces,
                                               std::vector<Write>& writes) {
  const Waits usual = replaces == Replaces::AtOnce ? Waits::IfItMust : Waits::Always;
  std::set<model::InstanceKey> changed = dropped_by(command);
  for (const model::InstanceKey& key : changed) erase(key, writes);
  const std::set<model::InstanceKey> with_states = handed_by(command);
  for (const auto& [key, spec] : specs_of(command)) {
    const Waits waits = with_states.contains(key) ? Waits::No : usual;
    if (put(*spec, command.number, waits, writes)) changed.insert(key);
  }
  if (command.network) put(*command.network, writes);
  acted_ = command.number;
  writes.push_back(WriteActed{acted_});
  if (command.receipt) {
    receipt_ = command.receipt;
    writes.push_back(WriteReceipt{*receipt_});
  }
  return changed;
}

bool Wanted::put(const model::InstanceSpec& spec, const model::CommandNumber& number, Waits waits,
                 std::vector<Write>& writes) {
  const auto [at, is_new] = records_.try_emplace(spec.key);
  model::WantedRecord& record = at->second;
  if (!is_new && last_told(record) == spec) return false;
  const bool must_wait =
      waits == Waits::Always || (waits == Waits::IfItMust && fetched_image_of(spec) != nullptr);
  if (is_new) {
    record = a_record(spec, number);
  } else if (model::runs_the_same(record.spec, spec)) {
    record.spec = spec;
    record.successor.reset();
  } else if (record.successor && model::runs_the_same(record.successor->spec, spec)) {
    record.successor->spec = spec;
  } else if (must_wait && may_go_on(record, spec)) {
    record.successor = {spec, number};
  } else {
    replace(record, spec, number);
  }
  if (record.successor) record.spec.paused = spec.paused;
  writes.push_back(WriteWanted{spec.key, record});
  return true;
}

void Wanted::promote(const model::InstanceKey& key, std::vector<Write>& writes) {
  model::WantedRecord& record = records_.at(key);
  CHECK(record.successor.has_value(), "there is nothing to come");
  const model::Successor successor = *std::move(record.successor);
  record.successor.reset();
  replace(record, successor.spec, successor.generation);
  writes.push_back(WriteWanted{key, record});
}

void Wanted::replace(model::WantedRecord& record, const model::InstanceSpec& spec,
                     const model::CommandNumber& number) {
  replaced_.try_emplace(spec.key, std::move(record));
  record = a_record(spec, number);
}

void Wanted::put_back(std::vector<Write>& writes) {
  for (auto& [key, before] : std::exchange(replaced_before_, {})) {
    const auto found = records_.find(key);
    if (found == records_.end() || !may_go_on(before, found->second.spec)) continue;
    model::Successor next{found->second.spec, found->second.generation};
    if (found->second.successor) next = *found->second.successor;
    found->second = before;
    found->second.successor = std::move(next);
    writes.push_back(WriteWanted{key, found->second});
  }
}

void Wanted::learn(const FoundRun& run, std::vector<Write>& writes) {
  const model::CommandNumber& number = run.run.generation;
  if (number > acted_) {
    acted_ = number;
    writes.push_back(WriteActed{acted_});
  }
  restored_ = std::max(restored_, number);
  if (!run.spec || number == model::CommandNumber{}) return;
  const auto [at, is_new] = records_.try_emplace(run.key);
  // What runs is no longer only to be prepared, whatever an older store says.
  const bool is_known = !is_new && at->second.generation >= number;
  if (is_known && !at->second.spec.prepare_only) return;
  at->second = a_record(*run.spec, number);
  writes.push_back(WriteWanted{run.key, at->second});
}

void Wanted::put(const model::NodeNetwork& network, std::vector<Write>& writes) {
  if (network_ == network) return;
  network_ = network;
  writes.push_back(WriteNetwork{network});
}

bool Wanted::erase(const model::InstanceKey& key, std::vector<Write>& writes) {
  if (records_.erase(key) == 0) return false;
  writes.push_back(WriteWanted{key, std::nullopt});
  return true;
}

void Wanted::finish(const model::InstanceKey& key, std::optional<std::int32_t> exit_code,
                    std::vector<Write>& writes) {
  const auto found = records_.find(key);
  CHECK(found != records_.end(), "only a wanted instance can finish");
  found->second.finished = true;
  found->second.exit_code = exit_code;
  writes.push_back(WriteWanted{key, found->second});
}

}  // namespace berth::agent
