#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "agent/events.h"
#include "model/protocol.h"
#include "model/records.h"

namespace berth::agent {

// What the agent has been told to run, and by which command. What replaces something else and has
// to be fetched first is its successor until it is there: a node that loses the link, or power, in
// the middle of an update goes on with what it has. Every change is also appended to the
// writes of the step, so that memory and disk cannot diverge.
class Wanted {
 public:
  explicit Wanted(Restored restored);

  const model::WantedRecord* find(const model::InstanceKey& key) const;
  const std::map<model::InstanceKey, model::WantedRecord>& records() const { return records_; }

  // The newest command carried out.
  const model::CommandNumber& acted() const { return acted_; }

  // The proof of it, to be shown to the controller; of an earlier one if that came without.
  const std::optional<model::Receipt>& receipt() const { return receipt_; }

  // All that was told last.
  model::ToldOrders told() const;

  // Whether this instance may have been running before the agent started.
  bool is_restored(const model::CommandNumber& generation) const { return generation <= restored_; }

  // The networks of the node as last told; nullopt: never.
  const std::optional<model::NodeNetwork>& network() const { return network_; }
  // Whether the network that the instance needs to run, if it needs one, is among them.
  bool knows_network_of(const model::InstanceSpec& spec) const;

  // In doubt, a run was found: it was told to run by that command, and is taken for wanted unless
  // something newer is known. No older command is news.
  void learn(const FoundRun& run, std::vector<Write>& writes);

  // How many instances would be wanted after the command.
  std::size_t size_after(const model::Command& command) const;

  // Takes over what the command says; gives the instances for which something changed. What cannot
  // be made durable replaces nothing: it is a successor until it can.
  enum class Replaces { AtOnce, WhenDurable };
  std::set<model::InstanceKey> carry_out(const model::Command& command, Replaces replaces,
                                         std::vector<Write>& writes);

  // False: it was not there.
  bool erase(const model::InstanceKey& key, std::vector<Write>& writes);

  // Begins a step, and forgets what the one before the last has replaced.
  void begin_step() { replaced_before_ = std::exchange(replaced_, {}); }
  // What the last step has replaced could not be made durable: it is there again, and what should
  // replace it is its successor.
  void put_back(std::vector<Write>& writes);

  // What was to come is to run now.
  void promote(const model::InstanceKey& key, std::vector<Write>& writes);

  // The restart policy of this wanted instance says that it is done.
  void finish(const model::InstanceKey& key, std::optional<std::int32_t> exit_code,
              std::vector<Write>& writes);

 private:
  enum class Waits { Always, IfItMust, No };  // for what it needs, while what it replaces runs on
  bool put(const model::InstanceSpec& spec, const model::CommandNumber& number, Waits waits,
           std::vector<Write>& writes);
  void put(const model::NodeNetwork& network, std::vector<Write>& writes);
  void replace(model::WantedRecord& record, const model::InstanceSpec& spec,
               const model::CommandNumber& number);
  std::set<model::InstanceKey> dropped_by(const model::Command& command) const;

  std::map<model::InstanceKey, model::WantedRecord> records_;
  std::optional<model::NodeNetwork> network_;
  model::CommandNumber acted_;
  std::optional<model::Receipt> receipt_;
  model::CommandNumber restored_;  // what acted_ was when the agent started
  std::map<model::InstanceKey, model::WantedRecord> replaced_;  // in this step
  std::map<model::InstanceKey, model::WantedRecord> replaced_before_;
};

// Whether it cannot be all that was written: what is written at once is not all there. Whoever has
// lost the rest may not have been able to write that down, for want of room.
bool contradicts_itself(const Restored& restored);

}  // namespace berth::agent
